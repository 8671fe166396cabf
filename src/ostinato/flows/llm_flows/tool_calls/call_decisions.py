"""Decisions of a policy on calls, and the events that record them."""

from __future__ import annotations

from typing import Any

from .... import types
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....events.pending import is_runtime_hint
from ....sessions.log.call_requests import find_decided_question
from ....tools.base_tool import BaseTool
from ....tools.call_doubt import UNKNOWN, asks_person, is_rerun_rejected
from ....tools.function_tool import FunctionTool, make_rejection
from ....tools.model_mistake import ModelMistake
from ....tools.policy.notes import POLICY, read_question_note, record_decision


def note_decisions(ctx: InvocationContext, event: Event) -> None:
    """Move the decisions on the calls that an event answers into its custom metadata."""
    known = ctx.run_state.policy_decisions or {}
    ids = [answer.id or "" for answer in event.get_function_responses()]
    found = {call_id: known.pop(call_id) for call_id in ids if call_id in known}
    if found:
        event.custom_metadata = {**(event.custom_metadata or {}), POLICY: found}


def note_asked(response: Event, request: Event) -> None:
    """Put the decisions that led to a request for confirmation into its custom metadata."""
    found = (response.custom_metadata or {}).get(POLICY)
    if found:
        asked = {key: one for key, one in found.items() if one["verdict"] == "ask"}
        request.custom_metadata = {**(request.custom_metadata or {}), POLICY: asked}


def reject_call(
    ctx: InvocationContext,
    call: types.FunctionCall,
    tool: BaseTool,
    context: Context,
    in_doubt: str,
) -> dict[str, Any] | None:
    """Return the response to a call that a person rejected when the runtime asked; else None.

    The runtime asks for a policy, by `require_confirmation` and about a call in doubt. The
    rejection holds even if nothing asks any more: arguments, state or the program may have changed.
    A tool that asked in its body reads the answer itself.

    Args:
      ctx: the run.
      call: the call.
      tool: the tool as the agent has it now.
      context: the call's context, with the answer.
      in_doubt: what to say of a call that may have taken effect before a crash; else empty.
    """
    answer = context.tool_confirmation
    if answer is None or answer.confirmed:
        return None
    question = find_decided_question(ctx.log, call.id or "")
    asked = None if question is None else read_question_note(question.record, call.id or "")
    if asked is not None:
        record_decision(ctx, call.id, {**asked, "verdict": "deny", "by": "person"})
    elif question is None or not is_runtime_hint(question.hint, question.tool):
        if not isinstance(tool, FunctionTool) or tool.sees_answers:
            return None
    rejection = make_rejection(answer)
    note = UNKNOWN if is_rerun_rejected(context) else in_doubt
    return {**rejection, "error": f"{rejection['error']} {note}".strip()}


def has_ended_early(tool: BaseTool, context: Context, is_refused: bool, result: Any) -> bool:
    """Return whether a long-running call waits for no result, because its tool did not begin.

    Args:
      tool: the tool as the agent has it now.
      context: the call's context.
      is_refused: whether a policy or a person refused the call.
      result: what replaces or is the tool's result.
    """
    if not tool.is_long_running and context.tool_confirmation is None:
        return False
    if asks_person(context.actions):
        return False
    if tool.is_long_running:
        return is_refused or isinstance(result, ModelMistake)
    # The call may have been of a long-running tool that the agent no longer has.
    call_id = context.function_call_id or ""
    record = context.get_invocation_context().log.find_call(call_id)
    return record is not None and call_id in record.long_running
