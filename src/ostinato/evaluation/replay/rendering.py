"""The request that each agent of a tree would send to its model, as JSON."""

from __future__ import annotations

import re
from typing import Any, cast

from ... import types
from ..._aclosing import Aclosing
from ...agents.base_agent import BaseAgent
from ...agents.llm_agent import LlmAgent
from ...apps.app import App
from ...context.context import Context
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...models.request_text import instruction_text
from ...plugins.base_plugin import BasePlugin
from ...runners import Runner
from ...sessions.in_memory_session_service import InMemorySessionService
from ..session_tests.recorded_answers import ask_own_callbacks
from .lane import list_agents

_MESSAGE = "Hello."
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?::[A-Za-z_][A-Za-z0-9_]*)?)\??\}")


class _RequestCapture(BasePlugin):
    """Keeps the first request of each agent, and answers in place of the model."""

    def __init__(self) -> None:
        super().__init__(name="ostinato_rendering")
        self.requests: dict[str, LlmRequest] = {}

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse:
        name = callback_context.agent_name
        await ask_own_callbacks(callback_context, llm_request)  # for their edits
        self.requests.setdefault(name, llm_request)
        return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="done")]))


async def render_agents(agent: Any) -> dict[str, dict[str, Any]]:
    """Return what each agent with a model would be given, by its name; no model is asked.

    Keys of the state that instructions name stand for themselves.

    Args:
      agent: the root agent, or an App with its plugins.

    Returns:
      `model`, `instructions`, `tools`, `schemas` and `settings` of each agent; or `error`, if its
      request cannot be made.
    """
    root: BaseAgent = agent.root_agent if isinstance(agent, App) else agent
    given: list[BasePlugin] = list(agent.plugins) if isinstance(agent, App) else []
    rendered: dict[str, dict[str, Any]] = {}
    for one in list_agents(root):
        if not isinstance(one, LlmAgent) or one.name in rendered:
            continue
        agent_of_model = cast("LlmAgent[Any]", one)
        capture = _RequestCapture()
        try:
            await _run_once(agent_of_model, [*given, capture])
        except Exception as error:  # boundary: the agent's code may raise anything
            rendered[one.name] = {"error": f"{type(error).__name__}: {error}"}
            continue
        request = capture.requests.get(one.name)
        rendered[one.name] = (
            {"error": "a callback or a plugin answered before the model"}
            if request is None
            else _describe(agent_of_model, request)
        )
    return rendered


async def _run_once(agent: LlmAgent, plugins: list[BasePlugin]) -> None:
    service = InMemorySessionService()
    runner = Runner(app_name="rendering", agent=agent, plugins=plugins, session_service=service)
    texts = [
        text for text in (agent.instruction, agent.global_instruction) if isinstance(text, str)
    ]
    names = {name for text in texts for name in _PLACEHOLDER.findall(text)}
    session = await service.create_session(
        app_name="rendering", user_id="user", state={name: f"{{{name}}}" for name in sorted(names)}
    )
    stream = runner.run_async(
        user_id="user",
        session_id=session.id,
        new_message=types.Content(role="user", parts=[types.Part(text=_MESSAGE)]),
    )
    async with Aclosing(stream) as events:
        async for _ in events:
            pass


def _describe(agent: LlmAgent, request: LlmRequest) -> dict[str, Any]:
    config = request.config
    dumped: dict[str, Any] = config.model_dump(mode="json", exclude_none=True, fallback=str)
    for name in ("system_instruction", "tools", "response_schema", "response_json_schema"):
        dumped.pop(name, None)
    tools = [_dump(tool) for tool in cast(list[Any], config.tools or [])]
    schemas = {
        "input": _schema_of(agent.input_schema),
        "output": _schema_of(agent.output_schema),
        "response": _dump(config.response_schema or config.response_json_schema),
    }
    return {
        "model": request.model or "",
        "instructions": instruction_text(config),
        "tools": _split_tools(tools),
        "schemas": {name: schema for name, schema in schemas.items() if schema is not None},
        "settings": dumped,
    }


def _split_tools(tools: list[Any]) -> list[Any]:
    """Return each function declaration, and each other tool of the request."""
    found: list[Any] = []
    for tool in tools:
        fields = cast(dict[str, Any], tool) if isinstance(tool, dict) else {}
        found += fields.get("function_declarations") or [tool]
    return found


def _schema_of(schema: Any) -> Any:
    make = getattr(schema, "model_json_schema", None)
    return make() if callable(make) else None if schema is None else _dump(schema)


def _dump(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", exclude_none=True)
    if value is None or isinstance(value, (dict, list, str)):
        return cast(Any, value)
    return getattr(value, "__name__", str(value))
