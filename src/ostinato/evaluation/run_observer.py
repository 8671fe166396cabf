"""RunObserver: a plugin that records what an evaluated turn does and uses, agents that run as
tools included."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, cast

from ..context.budget import Price
from ..context.context import Context
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..events.node_call import NodeCallRecord
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..models.request_text import instruction_text
from ..plugins.base_plugin import BasePlugin
from ..sessions.base_session_service import HIDDEN_PREFIX
from ..tools.agent_tool import AgentTool
from ..tools.base_tool import BaseTool
from .app_details import AgentDetails, AppDetails
from .eval_case import TracedCall
from .turn_usage import TurnUsage

current_turn: ContextVar[TurnRecord | None] = ContextVar("evaluated_turn", default=None)
"""The turn that the running task evaluates; tasks that it starts inherit it."""


class TurnRecord:
    """What one turn did and used.

    Attributes:
      calls: the calls of tools, in order.
      agents: what the agents were given, by name.
      usage: tokens, calls, cost.
      paths: by id of a hidden session, the path of the agent that runs in it.
      number: of the turn in its case, from 0.
      mocks: the responses that the tools give in this turn, or None.
    """

    def __init__(self, number: int, mocks: Any = None) -> None:
        self.number = number
        self.mocks = mocks
        self.calls: list[TracedCall] = []
        self.agents: dict[str, AgentDetails] = {}
        self.usage = TurnUsage(unpriced=[])
        self.paths: dict[str, str] = {}
        self._began = time.perf_counter()

    def end_turn(self) -> None:
        """Record the time that the turn took."""
        self.usage.seconds = time.perf_counter() - self._began

    def app_details(self) -> AppDetails:
        """Return what the agents were given."""
        return AppDetails(agent_details=self.agents)


class RunObserver(BasePlugin):
    """Records the turn in `current_turn`.

    Args:
      prices: the prices of models, by name.
      seed: the seed of requests that have none.

    Attributes:
      labels: further labels of requests.
    """

    def __init__(self, prices: Mapping[str, Price], seed: int | None = None) -> None:
        super().__init__(name="ostinato_evaluation")
        self._prices = prices
        self.seed = seed
        self.labels: dict[str, str] | None = None
        self._models: dict[tuple[str, str], str] = {}

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> None:
        """Record what the agent is given, and set the seed."""
        config = llm_request.config
        if self.seed is not None and config.seed is None:
            config.seed = self.seed
        if self.labels is not None:
            config.labels = {**self.labels, **(config.labels or {})}
        turn = current_turn.get()
        if turn is None:
            return
        name = callback_context.agent_name
        turn.usage.model_calls += 1
        self._models[callback_context.session.id, name] = llm_request.model or ""
        if name not in turn.agents:
            turn.agents[name] = AgentDetails(
                name=name,
                instructions=instruction_text(config),
                tool_declarations=[_to_json(tool) for tool in config.tools or ()],
            )

    async def after_model_callback(
        self, *, callback_context: Context, llm_response: LlmResponse
    ) -> None:
        """Count the tokens of a complete response."""
        turn, usage = current_turn.get(), llm_response.usage_metadata
        if turn is None or usage is None or llm_response.partial:
            return
        made = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        given = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
        total = turn.usage
        total.input_tokens += given
        total.output_tokens += made
        total.tokens += usage.total_token_count or given + made
        model = self._models.get((callback_context.session.id, callback_context.agent_name), "")
        price = self._prices.get(model)
        if price is None:
            total.cost = None
            total.unpriced = list(dict.fromkeys([*total.unpriced, model]))
        elif total.cost is not None:
            total.cost += price.of(usage)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> None:
        """Count the call, and note the path of an agent that it runs."""
        turn = current_turn.get()
        if turn is None:
            return
        turn.usage.tool_calls += 1
        if isinstance(tool, AgentTool):
            session = tool_context.session.id
            path = _join(turn.paths.get(session, ""), tool_context.agent_name)
            hidden = f"{HIDDEN_PREFIX}{session}:{tool_context.function_call_id}"
            turn.paths[hidden] = path

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> None:
        """Record the calls of an event with their paths."""
        turn = current_turn.get()
        if turn is None or event.partial:
            return
        session = invocation_context.session.id
        above, inner = turn.paths.get(session, ""), session.startswith(HIDDEN_PREFIX)
        node_call = NodeCallRecord.of(event)
        if node_call is not None:
            path = _join(above, node_call.place.rpartition("/")[0])
            args = node_call.args
            turn.calls.append(TracedCall(path=path, name=node_call.tool, args=args, inner=inner))
        path = _join(above, event.author)
        for call in event.get_function_calls():
            turn.calls.append(
                TracedCall(path=path, name=call.name or "", args=call.args or {}, inner=inner)
            )


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path and name else path or name


def _to_json(tool: Any) -> Any:
    dump = getattr(tool, "model_dump", None)
    if callable(dump):
        return dump(mode="json", exclude_none=True)
    if isinstance(tool, dict):
        return cast(Any, tool)
    return getattr(tool, "__name__", str(tool))
