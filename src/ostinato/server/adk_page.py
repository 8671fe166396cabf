"""Routes that google-adk's own web page needs besides the API, over the span store and the agents.

The page is not part of Ostinato; `--ui-dir` names its folder.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from .. import types
from .._aclosing import Aclosing
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import as_agent
from ..events.event import Event
from ..sessions.store.durable_store import Place
from ..telemetry.model_call import as_message
from ..telemetry.recorder import SpanRecord
from .apps import AgentInfo, describe_agent
from .endpoint import Call, Endpoint
from .place import iterate_sessions, list_page, load_outline, load_records
from .problems import Problem
from .settings import ServerSettings
from .spans import need_span_store, public_attributes, public_error

_DETAILS = "gen_ai.client.inference.operation.details"  # the log entry that holds a request
_EVENT = "gcp.vertex.agent.event_id"
_INVOCATION = "gcp.vertex.agent.invocation_id"
_ASKED = frozenset(("adk_request_credential", "adk_request_confirmation"))
_GENERATE = "generate_content"
_PARTS = {"reasoning": "text"}
_SESSIONS = 1000  # last changed sessions in which an event is searched
_BITS = 53  # of an integer in JavaScript


def make_routes(settings: ServerSettings, prefix: str) -> list[BaseRoute]:
    """Return the routes of the page in `settings.ui`; an empty list without one."""
    if settings.ui is None:
        return []

    async def runtime_config(request: Request) -> Response:
        return JSONResponse({"backendUrl": prefix})

    async def to_page(request: Request) -> Response:
        return RedirectResponse(f"{prefix}/dev-ui/")

    return [
        *(one.make_route(prefix) for one in _ENDPOINTS),
        Route(f"{prefix}/dev-ui/assets/config/runtime-config.json", runtime_config),
        Route(f"{prefix}/dev-ui", to_page),
        Route(f"{prefix}/", to_page),
        Mount(f"{prefix}/dev-ui", StaticFiles(directory=settings.ui, html=True)),
    ]


class _Anything(BaseModel):
    model_config = {"extra": "allow"}


async def get_telemetry(call: Call) -> Any:
    """Report telemetry as disabled."""
    return {"telemetry": False}


async def get_session_traces(call: Call) -> Response:
    """Return a session's spans in google-adk's format, with the model requests."""
    place = await _find_session(call, call.path["session"])
    store = call.host.services.spans
    _, records = await load_records(call.host.services.sessions, place)
    events = [record.event() for record in records]
    if store is None:
        return JSONResponse([])
    spans = await store.of_session(*place)
    ids = _events_of(spans, events)
    found: list[dict[str, Any]] = []
    for one in spans:
        whole = await store.span(one.id) if one.operation == "chat" else one
        found.append(_span_json(whole or one, ids.get(one.id)))
    return JSONResponse(found)


async def _find_session(call: Call, session: str) -> Place:
    """Return a session by its id alone, since the page does not name the user."""
    app, service = call.path["app"], call.host.services.sessions
    async with Aclosing(iterate_sessions(service, app)) as sessions:
        async for one, _ in sessions:
            if one.id == session:
                return Place(app, one.user_id, session)
    raise Problem(404, "NotFoundError", "Session not found")


def _events_of(spans: list[SpanRecord], events: list[Event]) -> dict[str, str]:
    """Return the id of the event that each span produced, by the span's id."""
    found: dict[str, str] = {}
    agents = {one.id: one.attributes.get("gen_ai.agent.name") for one in spans}
    tools = {one.attributes.get("gen_ai.tool.call.id"): one.id for one in spans}
    for event in events:
        responses = event.get_function_responses()
        chats = [
            one
            for one in spans
            if one.operation == "chat"
            and one.id not in found
            and one.invocation_id == event.invocation_id
        ]
        if event.error_code and event.content is None:
            failed = [one for one in chats if one.error is not None]
            if failed:  # the last failed call ended the run
                found[max(failed, key=lambda one: one.start).id] = event.id
        elif responses:
            found.update({tools[one.id]: event.id for one in responses if one.id in tools})
        elif _is_model_message(event):
            mine = [one for one in chats if agents.get(one.parent_id or "") == event.author]
            if mine:  # events and spans are in the same order
                found[min(mine, key=lambda one: one.start).id] = event.id
    return found


def _is_model_message(event: Event) -> bool:
    """Return whether the event is a model's answer, not a request of the framework."""
    names = {call.name for call in event.get_function_calls()}
    return event.content is not None and event.content.role == "model" and not names & _ASKED


def _span_json(span: SpanRecord, event: str | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        **public_attributes(span),
        "gen_ai.conversation.id": span.place[2],
        _INVOCATION: span.invocation_id,
    }
    if event is not None:
        attributes[_EVENT] = event
    name = span.name
    if span.operation == "chat":  # the page knows the operation by its other name
        attributes["gen_ai.operation.name"] = _GENERATE
        name = name.replace("chat", _GENERATE, 1)
    return {
        "name": name,
        "start_time": int(span.start * 1e9),
        "end_time": int((span.end or span.start) * 1e9),
        "trace_id": _to_number(span.trace_id),
        "span_id": _to_number(span.id),
        "parent_span_id": None if span.parent_id is None else _to_number(span.parent_id),
        "attributes": attributes,
        "logs": [_request_details(span, attributes)] if span.contents else [],
    }


def _to_number(digits: str) -> int:
    return int(digits, 16) & ((1 << _BITS) - 1)


def _request_details(span: SpanRecord, attributes: dict[str, Any]) -> dict[str, Any]:
    texts = span.texts
    # A failed call has no answer, but the page expects one.
    answer = _read_message(texts["response"]) if "response" in texts else _missing_answer(span)
    tools = [
        {"type": "function", **one}
        for tool in _parse_json(texts.get("tools"), [])
        for one in tool.get("functionDeclarations", ())
    ]
    return {
        "event_name": _DETAILS,
        "body": None,
        "attributes": {
            **attributes,
            "gen_ai.tool.definitions": tools,
            "gen_ai.input.messages": [_read_message(text) for text in span.contents],
            "gen_ai.system_instructions": [
                {"type": "text", "content": _parse_json(texts.get("system"), "")}
            ],
            "gen_ai.output.messages": [{"finish_reason": "", **answer}],
            "user.id": span.place[1],
        },
    }


def _read_message(text: str) -> dict[str, Any]:
    message: dict[str, Any]
    try:
        message = as_message(types.Content.model_validate_json(text))
    except ValidationError:  # the recorder cut the text
        message = {"role": "user", "parts": [{"type": "text", "content": text}]}
    # The page knows no role for results, and no thoughts.
    role = "user" if message["role"] == "tool" else message["role"]
    parts = [{**part, "type": _PARTS.get(part["type"], part["type"])} for part in message["parts"]]
    return {"role": role, "parts": parts}


def _missing_answer(span: SpanRecord) -> dict[str, Any]:
    """Return a message in place of the answer of a failed call."""
    text = public_error(span) or "The call has no answer yet."
    parts = [{"type": "text", "content": text}]
    return {"role": "assistant", "parts": parts, "finish_reason": "error"}


def _parse_json(text: str | None, default: Any) -> Any:
    """Return the value of a JSON text, or the default if the text is missing or cut."""
    try:
        return default if text is None else json.loads(text)
    except ValueError:
        return default


async def get_event_trace(call: Call) -> Any:
    """Return the attributes of the span that produced an event.

    The path names the event alone, as in google-adk, so the app's sessions are searched, last
    changed first.
    """
    app, event, host = call.path["app"], call.path["event"], call.host
    store = need_span_store(call)
    page = await list_page(host.services.sessions, app, None, _SESSIONS, None)
    for one in page.sessions[:_SESSIONS]:
        place = Place(app, one.user_id, one.id)
        _, records = await load_records(host.services.sessions, place)
        if not any(record.id == event for record in records):
            continue
        spans = await store.of_session(*place)
        ids = _events_of(spans, [record.event() for record in records])
        for span in spans:
            if ids.get(span.id) == event:
                whole = await store.span(span.id) or span
                shown = _span_json(whole, event)
                return {
                    **shown["attributes"],
                    "trace_id": shown["trace_id"],
                    "span_id": shown["span_id"],
                }
    raise Problem(404, "NotFoundError", "Trace not found")


async def build_graph(call: Call) -> Any:
    """Return the tree of agents with their instructions and tools."""
    app = await call.host.agents.get_app(call.path["app"])
    return {"name": app.name, "root_agent": await _describe_agent(as_agent(app.runner.agent))}


async def _describe_agent(agent: BaseAgent) -> dict[str, Any]:
    info = await describe_agent(agent)
    return {
        "name": agent.name,
        "description": agent.description,
        "instruction": info.instruction,
        "tools": [{"name": name, "type": "tool"} for name in _tool_names(info)],
        "sub_agents": [await _describe_agent(one) for one in agent.sub_agents],
        **({"model": agent.canonical_model.model} if isinstance(agent, LlmAgent) else {}),
    }


def _tool_names(info: AgentInfo) -> list[str]:
    return [one["name"] for tool in info.tools for one in tool.get("functionDeclarations", ())]


async def get_graph_image(call: Call) -> Any:
    """Return the tree of agents as a Graphviz document, which the page draws."""
    return {"": {"dotSrc": await _render_graph(call, frozenset())}}


async def get_event_graph(call: Call) -> Any:
    """Return the tree of agents with the agents and tools of an event highlighted."""
    place = call.read_place()
    if await load_outline(call.host.services.sessions, place) is None:
        raise Problem(404, "NotFoundError", "Session not found")
    _, records = await load_records(call.host.services.sessions, place)
    for record in records:
        event = record.event()
        if event.id == call.path["event"]:
            calls = [*event.get_function_calls(), *event.get_function_responses()]
            lit = {event.author, *(one.name or "" for one in calls)}
            return {"dotSrc": await _render_graph(call, frozenset(lit))}
    raise Problem(404, "NotFoundError", "Event not found")


async def _render_graph(call: Call, lit: frozenset[str]) -> str:
    app = await call.host.agents.get_app(call.path["app"])
    lines: list[str] = []

    async def add_agent(agent: BaseAgent) -> None:
        lines.append(_dot_node(agent.name, "ellipse", lit))
        for name in _tool_names(await describe_agent(agent)):
            lines.append(_dot_node(name, "box", lit))
            lines.append(f"{json.dumps(agent.name)} -> {json.dumps(name)} [arrowhead=none]")
        for one in agent.sub_agents:
            await add_agent(one)
            lines.append(f"{json.dumps(agent.name)} -> {json.dumps(one.name)}")

    await add_agent(as_agent(app.runner.agent))
    head = 'graph [bgcolor="transparent" rankdir=LR]\nedge [color="#94A3B8"]\n'
    return "strict digraph {\n" + head + "\n".join(lines) + "\n}\n"


def _dot_node(name: str, shape: str, lit: frozenset[str]) -> str:
    colour = "#0F5223" if name in lit else "#475569"
    style = f'shape={shape} style="filled,rounded" fillcolor="{colour}" fontcolor="#F8FAFC"'
    return f"{json.dumps(name)} [{style}]"


async def get_agent_file(call: Call) -> Response:
    """Return an empty document: there is no agent file that the page could edit."""
    return PlainTextResponse("")


async def list_nothing(call: Call) -> Any:
    """Return an empty list: without `ostinato web`, evaluation runs on the command line."""
    return []


_DEV = "/dev/apps/{app}"
_EVENTS = _DEV + "/users/{user}/sessions/{session}/events/{event}"

_ENDPOINTS = (
    Endpoint("GET", "/config/telemetry", "Usage data", get_telemetry),
    Endpoint("POST", "/config/telemetry", "Usage data", get_telemetry, body=_Anything),
    Endpoint(
        "GET", _DEV + "/debug/trace/session/{session}", "A session's spans", get_session_traces
    ),
    Endpoint("GET", _DEV + "/debug/trace/{event}", "The span of an event", get_event_trace),
    Endpoint("GET", _DEV + "/build_graph", "The agents", build_graph),
    Endpoint("GET", _DEV + "/build_graph_image", "The agents, drawn", get_graph_image),
    Endpoint("GET", _EVENTS + "/graph", "The agents of an event, drawn", get_event_graph),
    Endpoint("GET", _DEV + "/builder", "An agent's file", get_agent_file, query=_Anything),
    Endpoint("GET", _DEV + "/eval_sets", "Sets of cases", list_nothing),
    Endpoint("GET", _DEV + "/eval_results", "Results", list_nothing),
)
