"""Decisions of a policy on calls, and the events that record them."""

from __future__ import annotations

from ....context.invocation import InvocationContext
from ....events.event import Event

POLICY = "policy"
"""Key in the custom metadata of events: what the policy decided on calls, by call id."""


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
