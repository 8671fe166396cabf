"""State that others wrote during a run: of each key, the last write in time counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from ...events.event import Event
from ..log.event_log import STATE_DELTA, EventRecord
from ..log.ordered_delta import OrderedDelta
from ..session import Session, drop_overwritten, log_of, write_time


class OverwrittenError(Exception):
    """Others wrote keys of uncommitted events later than these did.

    Args:
      theirs: the stored values, by key, for each of the events.
    """

    def __init__(self, theirs: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("Others have written keys of these events since.")
        self.theirs = theirs

    def settle(self, session: Session, events: Sequence[Event]) -> None:
        """Take the keys out of the events, so that these can be appended."""
        for event, theirs in zip(events, self.theirs, strict=True):
            drop_overwritten(session, event, theirs)


def check_order(
    session: Session, events: Sequence[Event], newer: Iterable[EventRecord], own: Set[str]
) -> None:
    """Refuse events of a run that would overwrite later writes of others.

    Args:
      session: the session of the run.
      events: its events, which are not stored yet.
      newer: stored events that the session does not show.
      own: ids of those that came through the session.

    Raises:
      OverwrittenError: a key was written later by others.
    """
    written: dict[str, tuple[float, Any]] = {}
    for record in newer:
        if record.kinds & STATE_DELTA and record.id not in own:
            written.update(_read_writes(record))
    if not written:
        return
    theirs = [
        {
            key: written[key][1]
            for key in event.actions.state_delta
            if key in written and written[key][0] > write_time(session, event, key)
        }
        for event in events
    ]
    if any(theirs):
        raise OverwrittenError(theirs)


def drop_overtaken(session: Session, events: Sequence[Event]) -> None:
    """Take keys out of events of a resumed or parked run that others wrote after its process did.

    Args:
      session: the session; its log has what others wrote before the run was resumed.
      events: uncommitted events; those with results of the earlier process have its times.
    """
    for event in events:
        delta = event.actions.state_delta
        if isinstance(delta, OrderedDelta) and delta:
            theirs = find_later_writes(session, delta, event.invocation_id)
            drop_overwritten(session, event, theirs)


def find_later_writes(session: Session, delta: OrderedDelta, invocation_id: str) -> dict[str, Any]:
    """Return the values of a delta's keys that others wrote later, as far as the log has them."""
    since = min(delta.times.get(key, 0.0) for key in delta)
    found: dict[str, tuple[float, Any]] = {}
    for record in reversed(log_of(session).records):
        if record.timestamp < since:
            break
        if record.kinds & STATE_DELTA and record.invocation_id != invocation_id:
            found = {**_read_writes(record), **found}
    return {
        key: found[key][1]
        for key in delta
        if key in found and found[key][0] > delta.times.get(key, 0.0)
    }


def _read_writes(record: EventRecord) -> dict[str, tuple[float, Any]]:
    """Return the time and the value of each key that an event wrote."""
    delta: dict[str, Any] = json.loads(record.data)["actions"]["stateDelta"]
    return {key: (record.timestamp, value) for key, value in delta.items()}
