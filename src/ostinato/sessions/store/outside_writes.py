"""State that others wrote during a run: of each key, the last write in time counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from ...events.event import Event
from ..log.event_log import STATE_DELTA, EventRecord
from ..session import Session, drop_overwritten, write_time


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
            delta: dict[str, Any] = json.loads(record.data)["actions"]["stateDelta"]
            written.update({key: (record.timestamp, value) for key, value in delta.items()})
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
