"""SingleTurnTool: an agent of mode `single_turn` as a tool of the agent above it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from .. import types
from ..events.event import Event
from ..sessions.log.event_log import EventLog
from ..sessions.log.resume import agent_waits_for_answer
from .agent_tool import AgentTool, text_of
from .called_agent import WAITING, run_called_agent
from .model_mistake import ModelMistake, read_reasons, wrong_arguments

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext


class SingleTurnTool(AgentTool):
    """Runs an agent once, in the same session and a scope of its own (Spec 4 §1, FEATURES row 71).

    The agent is told the argument `request`, or all arguments as JSON where it has an
    `input_schema`. Its last text is the result, or the value of that text where it has an
    `output_schema`. What it does is committed as it happens, so that a crash loses nothing of it.

    Args:
      agent: the agent.
    """

    keeps_result = True
    sends_events = True

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the agent to its end, or to where it waits for the user.

        Returns:
          The answer; or `WAITING`; or a dict with `error`, as `AgentTool` gives it.

        Raises:
          AgentConfigError: no runner takes the agent's events.
        """
        told = self._build_message(args)
        if isinstance(told, ModelMistake):
            return told
        inner = await run_called_agent(self.agent, told, tool_context)
        log, scope = inner.log, inner.isolation_scope
        said = find_last_answer(log, scope or "")
        waits = agent_waits_for_answer(log, inner.invocation_id, inner.branch, scope)
        if waits and not is_answer(said):
            return WAITING
        if said is not None and said.content is None:
            return {
                "error": f"Agent `{self.name}` failed: {said.error_code}"
                + (f": {said.error_message}" if said.error_message else "")
            }
        return self._parse_result(text_of(said))

    def _build_message(self, args: dict[str, Any]) -> types.Content | ModelMistake:
        if self._input_schema is None:
            return super()._build_message(args)
        try:
            given = self._input_schema.model_validate(args)
        except ValidationError as error:
            return wrong_arguments(self.name, read_reasons(error))
        text = json.dumps(given.model_dump(mode="json"), ensure_ascii=False)
        return types.Content(role="user", parts=[types.Part(text=text)])


def find_last_answer(log: EventLog, scope: str) -> Event | None:
    """Return the newest event of a scope with content or an error, or None."""
    for record in reversed(log.records):
        if record.scope == scope and record.author != "user":
            event = record.event()
            if event.content is not None or event.error_code:
                return event
        if any(call == scope for call, _ in record.calls):
            break
    return None


def is_answer(event: Event | None) -> bool:
    """Return whether an event has neither function calls nor responses."""
    return event is not None and not (event.get_function_calls() or event.get_function_responses())
