"""The content of a fork: events, the state they produce, answers to open calls. Pure functions.

The session services use it; each copies the events in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ... import types
from ...errors import NotFoundError
from ...events.event import Event
from ...events.pending import IMPORTED
from ...events.request_input import REQUEST_INPUT
from ..state import SCOPED_PREFIXES
from .call_requests import unfinished_decisions
from .event_log import STATE_DELTA, EventLog, EventRecord, visible_records

_UNANSWERED = "The session was forked before this call was answered; its outcome is unknown here."
_DECIDED = "not run: answered in the session that this is a copy of"
_ELSEWHERE = (
    "not run: the session was forked, and this request waits in the session it was made in."
)


def kept_records(
    records: Sequence[EventRecord], at_event: str | None, session_id: str
) -> Sequence[EventRecord]:
    """Return the records up to and including an event, or all of them for None.

    Raises:
      NotFoundError: there is no such event.
    """
    if at_event is None:
        return records
    for index, record in enumerate(records):
        if record.id == at_event:
            return records[: index + 1]
    raise NotFoundError(
        f"Event {at_event!r} is not in session {session_id!r}; give the id of one of its events."
    )


def fold_state(
    initial: dict[str, Any], records: Sequence[EventRecord], *, shared: bool = False
) -> dict[str, Any]:
    """Return the session's own state after records; None for a removed key.

    Args:
      initial: the state at creation.
      records: all records up to some point; what a rewind among them hides does not count.
      shared: include what the records wrote to the state of the user and the app.
    """
    state = dict(initial)
    for record in visible_records(EventLog(records)):
        if record.kinds & STATE_DELTA:
            delta: dict[str, Any] = json.loads(record.data)["actions"]["stateDelta"]
            state.update(
                (k, v) for k, v in delta.items() if shared or not k.startswith(SCOPED_PREFIXES)
            )
    return state


def answer_open_calls(
    records: Sequence[EventRecord], *, close_requests: bool = False
) -> list[Event]:
    """Return events that answer the calls which have no response.

    Calls of long-running tools stay open, their answer comes from outside. Requests that a user
    has answered and that have no result are closed: their answer counts in the other session.

    Args:
      records: what the fork takes over.
      close_requests: close these too, but for questions.
    """
    answered: set[str | None] = set()
    answered_by_user: set[str | None] = set()
    found: list[Event] = []
    for record in reversed(visible_records(EventLog(records))):
        calls = [call for call, _ in record.responses]
        answered.update(calls)
        if record.author == "user":
            answered_by_user.update(calls)
        left = [(call, name) for call, name in record.calls if call not in record.long_running]
        unanswered = [(call, name) for call, name in left if call not in answered]
        if unanswered:
            found.append(_build_answer(record, unanswered, _UNANSWERED))
        requests = [
            (call, name)
            for call, name in record.calls
            if call in record.long_running
            and call not in answered_by_user
            and name != REQUEST_INPUT
        ]
        if requests and close_requests and record.author != "user":
            event = _build_answer(record, requests, _ELSEWHERE)
            event.custom_metadata = {IMPORTED: True}  # no answer to them runs anything here
            found.append(event)
    found.reverse()
    return found + _close_decided(records)


def _close_decided(records: Sequence[EventRecord]) -> list[Event]:
    """Return events that close what users have answered and what has not come to its result."""
    found: list[Event] = []
    for call in unfinished_decisions(EventLog(records)):
        event = _build_answer(call.record, [(call.call_id, call.name)], _DECIDED)
        event.custom_metadata = {IMPORTED: True}  # nothing resumes what was answered
        found.append(event)
    return found


def closed_calls(events: Sequence[Event]) -> set[str | None]:
    """Return the calls that events answer."""
    return {one.id for event in events for one in event.get_function_responses()}


def _build_answer(record: EventRecord, calls: Sequence[tuple[str | None, str]], text: str) -> Event:
    parts = [
        types.Part(
            function_response=types.FunctionResponse(id=call, name=name, response={"error": text})
        )
        for call, name in calls
    ]
    return Event(
        invocation_id=record.invocation_id,
        author=record.author,
        branch=record.branch,
        isolation_scope=record.scope,
        content=types.Content(role="user", parts=parts),
    )
