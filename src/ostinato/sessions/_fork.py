"""What a fork of a session takes over: events, the state they make, answers to open calls. Pure.

The session services use it; each copies the events in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .. import types
from ..errors import NotFoundError
from ..events.event import Event
from .event_log import STATE_DELTA, EventLog, EventRecord, visible_records
from .state import SCOPED_PREFIXES

_UNANSWERED = "The session was forked before this call was answered; its outcome is unknown here."


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


def folded(initial: dict[str, Any], records: Sequence[EventRecord]) -> dict[str, Any]:
    """Return the session's own state after records; None for a removed key.

    Args:
      initial: the state at creation.
      records: all records up to some point; what a rewind among them hides does not count.
    """
    state = dict(initial)
    for record in visible_records(EventLog(records)):
        if record.kinds & STATE_DELTA:
            delta: dict[str, Any] = json.loads(record.data)["actions"]["stateDelta"]
            state.update((k, v) for k, v in delta.items() if not k.startswith(SCOPED_PREFIXES))
    return state


def answers(records: Sequence[EventRecord]) -> list[Event]:
    """Return an event for each record with calls that have no response: it gives them one.

    Calls of long-running tools stay open, their answer comes from outside.
    """
    answered: set[str | None] = set()
    found: list[Event] = []
    for record in reversed(visible_records(EventLog(records))):
        answered.update(call for call, _ in record.responses)
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call, name=name, response={"error": _UNANSWERED}
                )
            )
            for call, name in record.calls
            if call not in answered and call not in record.long_running
        ]
        if parts:
            found.append(
                Event(
                    invocation_id=record.invocation_id,
                    author=record.author,
                    branch=record.branch,
                    isolation_scope=record.scope,
                    content=types.Content(role="user", parts=parts),
                )
            )
    found.reverse()
    return found
