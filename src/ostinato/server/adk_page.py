"""google-adk's own page at this server: what it asks for besides the API, made from the span store
and the agents. Nothing of it is ours; `--ui-dir` names the folder. The app mounts its routes.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from .. import types
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..events.event import Event
from ..sessions._durable_store import Place
from ..telemetry.messages import as_message
from ..telemetry.recorder import SpanRecord
from .apps import AgentInfo, info_of
from .endpoint import Call, Endpoint
from .place import numbered, outline
from .problems import Problem
from .settings import ServerSettings

_DETAILS = "gen_ai.client.inference.operation.details"  # where the page looks for a request
_EVENT = "gcp.vertex.agent.event_id"
_INVOCATION = "gcp.vertex.agent.invocation_id"
_ASKED = frozenset(("adk_request_credential", "adk_request_confirmation"))
_GENERATE = "generate_content"
_PARTS = {"reasoning": "text"}
_DIGITS = 53  # bits that JavaScript keeps of a number


def routes(settings: ServerSettings, prefix: str) -> list[BaseRoute]:
    """Return the routes of the page that the settings name; none where they name none."""
    if settings.ui is None:
        return []

    async def config(request: Request) -> Response:
        return JSONResponse({"backendUrl": prefix})

    async def to_page(request: Request) -> Response:
        return RedirectResponse(f"{prefix}/dev-ui/")

    return [
        *(one.route(prefix) for one in _ENDPOINTS),
        Route(f"{prefix}/dev-ui/assets/config/runtime-config.json", config),
        Route(f"{prefix}/dev-ui", to_page),
        Route(f"{prefix}/", to_page),
        Mount(f"{prefix}/dev-ui", StaticFiles(directory=settings.ui, html=True)),
    ]


class _Anything(BaseModel):
    model_config = {"extra": "allow"}


async def no_telemetry(call: Call) -> Any:
    """Tell that nobody collects usage data here, whatever was chosen."""
    return {"telemetry": False}


async def traces(call: Call) -> Response:
    """Return a session's spans as google-adk's server has them, the requests within."""
    place = await _place(call, call.path["session"])
    store = call.host.services.spans
    _, records = await numbered(call.host.services.sessions, place)
    events = [record.event() for record in records]
    spans = await store.of_session(*place)
    ids = _events_of(spans, events)
    found: list[dict[str, Any]] = []
    for one in spans:
        whole = await store.span(one.id) if one.operation == "chat" else one
        found.append(_shown(whole or one, ids.get(one.id)))
    return JSONResponse(found)


async def _place(call: Call, session: str) -> Place:
    """Return a session of any user, as the page names none."""
    app, service = call.path["app"], call.host.services.sessions
    for one in (await service.list_sessions(app_name=app)).sessions:
        if one.id == session:
            return Place(app, one.user_id, session)
    raise Problem(404, "NotFoundError", "Session not found")


def _events_of(spans: list[SpanRecord], events: list[Event]) -> dict[str, str]:
    """Return the event that came of a span, by the span's id."""
    found: dict[str, str] = {}
    agents = {one.id: one.attributes.get("gen_ai.agent.name") for one in spans}
    tools = {one.attributes.get("gen_ai.tool.call.id"): one.id for one in spans}
    for event in events:
        responses = event.get_function_responses()
        if responses:
            found.update({tools[one.id]: event.id for one in responses if one.id in tools})
        elif _is_said(event):
            mine = [
                one
                for one in spans
                if one.operation == "chat"
                and one.id not in found
                and one.invocation_id == event.invocation_id
                and agents.get(one.parent_id or "") == event.author
            ]
            if mine:  # both are in the order they came about
                found[min(mine, key=lambda one: one.start).id] = event.id
    return found


def _is_said(event: Event) -> bool:
    """Tell whether a model said it; what asks for a person's leave is the framework's."""
    names = {call.name for call in event.get_function_calls()}
    return event.content is not None and event.content.role == "model" and not names & _ASKED


def _shown(span: SpanRecord, event: str | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        **span.attributes,
        "gen_ai.conversation.id": span.place[2],
        _INVOCATION: span.invocation_id,
    }
    if event is not None:
        attributes[_EVENT] = event
    name = span.name
    if span.operation == "chat":  # the page knows the other of the two words that there are
        attributes["gen_ai.operation.name"] = _GENERATE
        name = name.replace("chat", _GENERATE, 1)
    return {
        "name": name,
        "start_time": int(span.start * 1e9),
        "end_time": int((span.end or span.start) * 1e9),
        "trace_id": _number(span.trace_id),
        "span_id": _number(span.id),
        "parent_span_id": None if span.parent_id is None else _number(span.parent_id),
        "attributes": attributes,
        "logs": [_details(span, attributes)] if span.contents else [],
    }


def _number(digits: str) -> int:
    return int(digits, 16) & ((1 << _DIGITS) - 1)


def _details(span: SpanRecord, attributes: dict[str, Any]) -> dict[str, Any]:
    texts = span.texts
    said = [texts["response"]] if "response" in texts else []
    tools = [
        {"type": "function", **one}
        for tool in json.loads(texts.get("tools", "[]"))
        for one in tool.get("functionDeclarations", ())
    ]
    return {
        "event_name": _DETAILS,
        "body": None,
        "attributes": {
            **attributes,
            "gen_ai.tool.definitions": tools,
            "gen_ai.input.messages": [_message(text) for text in span.contents],
            "gen_ai.system_instructions": [
                {"type": "text", "content": json.loads(texts.get("system", '""'))}
            ],
            "gen_ai.output.messages": [{**_message(text), "finish_reason": ""} for text in said],
            "user.id": span.place[1],
        },
    }


def _message(text: str) -> dict[str, Any]:
    message = as_message(types.Content.model_validate_json(text))
    # It knows no role for results, and no thoughts.
    role = "user" if message["role"] == "tool" else message["role"]
    parts = [{**part, "type": _PARTS.get(part["type"], part["type"])} for part in message["parts"]]
    return {"role": role, "parts": parts}


async def build_graph(call: Call) -> Any:
    """Return the tree of agents with what each is made of."""
    app = await call.host.agents.get(call.path["app"])
    return {"name": app.name, "root_agent": await _node(app.runner.agent)}


async def _node(agent: BaseAgent) -> dict[str, Any]:
    info = await info_of(agent)
    return {
        "name": agent.name,
        "description": agent.description,
        "instruction": info.instruction,
        "tools": [{"name": name, "type": "tool"} for name in _tools(info)],
        "sub_agents": [await _node(one) for one in agent.sub_agents],
        **({"model": agent.canonical_model.model} if isinstance(agent, LlmAgent) else {}),
    }


def _tools(info: AgentInfo) -> list[str]:
    return [one["name"] for tool in info.tools for one in tool.get("functionDeclarations", ())]


async def graph_image(call: Call) -> Any:
    """Return the tree of agents in Graphviz's language, which the page draws."""
    return {"": {"dotSrc": await _dot(call, frozenset())}}


async def event_graph(call: Call) -> Any:
    """Return the tree of agents with those lit that an event is about."""
    place = call.place()
    if await outline(call.host.services.sessions, place) is None:
        raise Problem(404, "NotFoundError", "Session not found")
    _, records = await numbered(call.host.services.sessions, place)
    for record in records:
        event = record.event()
        if event.id == call.path["event"]:
            calls = [*event.get_function_calls(), *event.get_function_responses()]
            lit = {event.author, *(one.name or "" for one in calls)}
            return {"dotSrc": await _dot(call, frozenset(lit))}
    raise Problem(404, "NotFoundError", "Event not found")


async def _dot(call: Call, lit: frozenset[str]) -> str:
    app = await call.host.agents.get(call.path["app"])
    lines: list[str] = []

    async def add(agent: BaseAgent) -> None:
        lines.append(_dot_node(agent.name, "ellipse", lit))
        for name in _tools(await info_of(agent)):
            lines.append(_dot_node(name, "box", lit))
            lines.append(f"{json.dumps(agent.name)} -> {json.dumps(name)} [arrowhead=none]")
        for one in agent.sub_agents:
            await add(one)
            lines.append(f"{json.dumps(agent.name)} -> {json.dumps(one.name)}")

    await add(app.runner.agent)
    head = 'graph [bgcolor="transparent" rankdir=LR]\nedge [color="#94A3B8"]\n'
    return "strict digraph {\n" + head + "\n".join(lines) + "\n}\n"


def _dot_node(name: str, shape: str, lit: frozenset[str]) -> str:
    colour = "#0F5223" if name in lit else "#475569"
    style = f'shape={shape} style="filled,rounded" fillcolor="{colour}" fontcolor="#F8FAFC"'
    return f"{json.dumps(name)} [{style}]"


async def no_file(call: Call) -> Response:
    """Tell that an agent is made of no file that the page could edit."""
    return PlainTextResponse("")


async def none(call: Call) -> Any:
    """Tell that there are none; evaluation is done on the command line."""
    return []


_DEV = "/dev/apps/{app}"
_EVENTS = _DEV + "/users/{user}/sessions/{session}/events/{event}"

_ENDPOINTS = (
    Endpoint("GET", "/config/telemetry", "Usage data", no_telemetry),
    Endpoint("POST", "/config/telemetry", "Usage data", no_telemetry, body=_Anything),
    Endpoint("GET", _DEV + "/debug/trace/session/{session}", "A session's spans", traces),
    Endpoint("GET", _DEV + "/build_graph", "The agents", build_graph),
    Endpoint("GET", _DEV + "/build_graph_image", "The agents, drawn", graph_image),
    Endpoint("GET", _EVENTS + "/graph", "The agents of an event, drawn", event_graph),
    Endpoint("GET", _DEV + "/builder", "An agent's file", no_file, query=_Anything),
    Endpoint("GET", _DEV + "/eval_sets", "Sets of cases", none),
    Endpoint("GET", _DEV + "/eval_results", "Results", none),
)
