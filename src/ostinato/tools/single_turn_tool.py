"""SingleTurnTool: an agent of mode `single_turn` as a tool of the agent above it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from .. import types
from ..events.event import Event
from ..sessions._resume import waits_for_answer
from ..sessions.event_log import EventLog
from .agent_tool import AgentTool, text_of
from .called_agent import run_called
from .model_mistake import ModelMistake, reasons, wrong_arguments
from .waiting import WAITING

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

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Run the agent to its end, or to where it waits for the user.

        Returns:
          The answer; or `WAITING`; or a dict with `error`, as `AgentTool` gives it.

        Raises:
          AgentConfigError: nobody takes the agent's events.
        """
        told = self._message(args)
        if isinstance(told, ModelMistake):
            return told
        inner = await run_called(self.agent, told, tool_context)
        said = last_said(inner.log, inner.isolation_scope or "")
        if not is_answer(said) and waits_for_answer(inner.log, inner.invocation_id, inner.branch):
            return WAITING
        if said is not None and said.content is None:
            return {
                "error": f"Agent `{self.name}` failed: {said.error_code}"
                + (f": {said.error_message}" if said.error_message else "")
            }
        return self._result(text_of(said))

    def _message(self, args: dict[str, Any]) -> types.Content | ModelMistake:
        if self._input_schema is None:
            return super()._message(args)
        try:
            given = self._input_schema.model_validate(args)
        except ValidationError as error:
            return wrong_arguments(self.name, reasons(error))
        text = json.dumps(given.model_dump(mode="json"), ensure_ascii=False)
        return types.Content(role="user", parts=[types.Part(text=text)])


def last_said(log: EventLog, scope: str) -> Event | None:
    """Return the newest event of a scope that says something or tells an error; None without."""
    for record in reversed(log.records):
        if record.scope == scope and record.author != "user":
            event = record.event()
            if event.content is not None or event.error_code:
                return event
        if any(call == scope for call, _ in record.calls):
            break
    return None


def is_answer(event: Event | None) -> bool:
    """Tell whether an event is an agent's word to the user, and neither calls nor their answers."""
    return event is not None and not (event.get_function_calls() or event.get_function_responses())
