"""The events of a session that no rewind hides."""

from __future__ import annotations

from collections.abc import Iterable

from .event import Event


def visible_events(events: Iterable[Event]) -> list[Event]:
    """Return the events that no rewind hides, oldest first; as for `visible_indexes` of a log.

    Args:
      events: events of a session up to its newest, without gaps.
    """
    every = list(events)
    starts: dict[str, int] = {}
    for index, event in enumerate(every):
        starts.setdefault(event.invocation_id, index)
    found: list[Event] = []
    index = len(every) - 1
    while index >= 0:
        target = every[index].actions.rewind_before_invocation_id
        if target:
            first = starts.get(target, 0)
            index = first if first <= index else 0
        else:
            found.append(every[index])
        index -= 1
    return found[::-1]
