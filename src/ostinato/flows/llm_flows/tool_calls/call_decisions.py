"""Decisions of a policy on calls, and the events that record them."""

from __future__ import annotations

from typing import Any

from .... import types
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....tools.function_tool import make_rejection
from ....tools.policy.notes import POLICY, find_answered_note, record_decision


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
    ctx: InvocationContext, call: types.FunctionCall, context: Context, in_doubt: str
) -> dict[str, Any] | None:
    """Return the response to a call that a person rejected when a policy asked; else None.

    The rejection holds even if no rule asks any more: the arguments or the state may have changed.

    Args:
      ctx: the run.
      call: the call.
      context: its context, with the answer.
      in_doubt: what to say of a call that may have taken effect before a crash; else empty.
    """
    answer = context.tool_confirmation
    if answer is None or answer.confirmed:
        return None
    asked = find_answered_note(ctx.log, call.id or "")
    if asked is None:
        return None
    record_decision(ctx, call.id, {**asked, "verdict": "deny", "by": "person"})
    rejection = make_rejection(answer)
    return {**rejection, "error": f"{rejection['error']} {in_doubt}".strip()}
