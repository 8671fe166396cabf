"""What a policy decided on calls: on its way to the events of their responses, and in the log."""

from __future__ import annotations

from typing import Any, cast

from ...context.invocation import InvocationContext
from ...events.pending import POLICY as POLICY
from ...sessions.log.call_requests import find_answered_request
from ...sessions.log.event_log import EventLog, EventRecord

ONCE = "once"
"""The grant that every approval is: for the single call."""
JUDGED = "judged"
"""Field of the note of a question: a hash of the arguments to which an approval is bound."""


def record_decision(ctx: InvocationContext, call_id: str | None, note: dict[str, Any]) -> None:
    """Record a decision, which goes into the event of the call's response."""
    if ctx.run_state.policy_decisions is None:
        ctx.run_state.policy_decisions = {}
    ctx.run_state.policy_decisions[call_id or ""] = note


def read_question_note(record: EventRecord, call_id: str) -> dict[str, Any] | None:
    """Return what the policy decided on a call about which it asks a person, or None.

    Args:
      record: the request for confirmation.
      call_id: the tool's call.
    """
    notes: Any = (record.event().custom_metadata or {}).get(POLICY)
    if not isinstance(notes, dict):
        return None
    note = cast("dict[str, Any]", notes).get(call_id)
    return cast("dict[str, Any]", note) if isinstance(note, dict) else None


def find_answered_note(log: EventLog, call_id: str) -> dict[str, Any] | None:
    """Return the note of the policy's question about a call that the user answered last, or None
    if a tool asked it."""
    record = find_answered_request(log, call_id)
    note = None if record is None else read_question_note(record, call_id)
    return note and {key: value for key, value in note.items() if key != JUDGED}
