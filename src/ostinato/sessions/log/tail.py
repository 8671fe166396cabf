"""The tail of a compacted log: which records a run still needs beside the summaries in force. Pure
functions; a store calls them when a compaction is appended and keeps the result.

What a run reads from such a partial log (the contents of every view, open calls, the start of the
turn) equals what it reads from the complete one. `find_tail` is careful: where it cannot be sure,
it leaves the tail where it is, or asks for the complete log.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...events.event_actions import EventCompaction
from .event_log import COMPACTION, EventLog, EventRecord, in_force, visible_indexes

_UNSEEN = frozenset(("adk_request_confirmation", "adk_request_credential"))
"""Requests of the runtime, which no model sees."""


class Tail(NamedTuple):
    """What is needed of a log.

    Attributes:
      start: index of the first record that is needed, with all behind it.
      summaries: indexes of the compactions before it that are needed too.
    """

    start: int
    summaries: list[int]


def find_tail(
    records: Sequence[EventRecord], first: int = 0, new: int = 0, before: float = float("-inf")
) -> Tail | None:
    """Return what a run needs of a log, or None if it needs the complete log.

    Args:
      records: the log so far: the summaries of the tail before, and everything behind them.
      first: index of the first record of that tail; 0 for a complete log.
      new: index of the first record that was not in the log at the last look.
      before: timestamp of the newest record that the tail has left out.
    """
    return _Search(records, first, before).find_tail_start(new if first else 0)


def answers_left_out_call(new: Sequence[EventRecord], tail: Sequence[EventRecord]) -> bool:
    """Return whether the user answers a call that a tail may have left out.

    Only users do, with one more result of a long-running call: a tail keeps each call that may
    still get its first answer.

    Args:
      new: records that were appended.
      tail: the records of the tail, with the new ones.
    """
    places: dict[str | None, list[EventRecord]] = {}
    for record in tail:
        for call, _ in record.calls:
            places.setdefault(call, []).append(record)
    return any(
        not any(_is_wherever(asking, record) for asking in places.get(call, ()))
        for record in new
        if record.author == "user"
        for call, name in record.responses
        if name not in _UNSEEN
    )


def has_user_answer(records: Sequence[EventRecord]) -> bool:
    """Return whether the user answers a call that models see."""
    return any(
        name not in _UNSEEN
        for record in records
        if record.author == "user"
        for _, name in record.responses
    )


def _is_wherever(asking: EventRecord, answering: EventRecord) -> bool:
    """Return whether every view that shows an answer shows this call."""
    return asking.scope == answering.scope and asking.branch in (None, "", answering.branch)


class _Search:
    """One look at a log; `end` is where the tail may start at the latest, and only falls."""

    def __init__(self, records: Sequence[EventRecord], first: int, before: float) -> None:
        self._records = records
        self._log = EventLog(records)
        self._first = first
        self._visible = set(visible_indexes(self._log))
        self._compactions: dict[int, EventCompaction] = {}
        for index in sorted(self._visible):
            if records[index].kinds & COMPACTION:
                found = records[index].event().actions.compaction
                if found is not None:
                    self._compactions[index] = found
        self._kept = in_force(list(self._compactions.values()))
        self._kept_ids = {id(one) for one in self._kept}
        self._starts = [one.start_timestamp for one in self._kept]
        self._before = before

    def find_tail_start(self, new: int) -> Tail | None:
        if not self._all_cover_records(new):
            return None
        stay = Tail(self._first, list(range(self._first)))
        if not self._compactions or not self._is_in_order():
            return stay
        start = self._settle_start(self._latest_start())
        return stay if start <= self._first else Tail(start, self._needed_summaries(start))

    def _is_covered(self, index: int) -> bool:
        time = self._records[index].timestamp
        at = bisect_right(self._starts, time) - 1
        return at >= 0 and time <= self._kept[at].end_timestamp

    def _all_cover_records(self, new: int) -> bool:
        """Return whether each new summary covers a record.

        One that covers none has its place at the very start of a log.
        """
        times = sorted(
            record.timestamp
            for index, record in enumerate(self._records)
            if index in self._visible and not record.kinds & COMPACTION
        )
        for index, one in self._compactions.items():
            if index < new or id(one) not in self._kept_ids:
                continue
            at = bisect_left(times, one.start_timestamp)
            if at < len(times) and times[at] <= one.end_timestamp:
                continue
            if not any(
                i < new and _is_within(other, one) for i, other in self._compactions.items()
            ):
                return False
        return True

    def _is_in_order(self) -> bool:
        """Return whether timestamps rise with the index, which the order of summaries relies on."""
        times = [self._before, *(r.timestamp for r in self._records[self._first :])]
        return all(a <= b for a, b in pairwise(times))

    def _latest_start(self) -> int:
        """Index of the first record that is seen, is of the newest turn, or waits for an answer."""
        newest = self._compactions[max(self._compactions)]
        count = len(self._records)
        starts = [self._newest_turn()]
        for index in range(self._first, count):
            record = self._records[index]
            if record.kinds & COMPACTION or index not in self._visible:
                continue
            if not self._is_covered(index) or record.timestamp > newest.end_timestamp:
                starts.append(index)
                break
        for index in range(count - 1, self._first - 1, -1):
            if not self._records[index].kinds & COMPACTION:
                starts.append(index)
                break
        starts += self._waiting_indexes()
        starts += self._late_answered_indexes()
        return min(starts)

    def _late_answered_indexes(self) -> list[int]:
        """Indexes of the covered calls that an answer behind the summaries needs.

        Of calls with the same id, each that may be the newest in a view of the answer counts.
        """
        found: list[int] = []
        wanted: dict[str | None, list[EventRecord]] = {}
        for index in range(len(self._records) - 1, self._first - 1, -1):
            record = self._records[index]
            if index not in self._visible or not (record.calls or record.responses):
                continue
            for call, _ in record.calls:
                asking = [one for one in wanted.get(call, ()) if one.scope == record.scope]
                if asking:
                    found.append(index)
                    wanted[call] = [o for o in wanted[call] if not _is_wherever(record, o)]
            if not self._is_covered(index):
                for call, _ in record.responses:
                    wanted.setdefault(call, []).append(record)
        return found

    def _newest_turn(self) -> int:
        """Index of the newest message of the user that every agent sees; the first where none."""
        for index in range(len(self._records) - 1, self._first - 1, -1):
            record = self._records[index]
            if record.author == "user" and not (record.calls or record.responses or record.branch):
                content: dict[str, Any] = json.loads(record.data).get("content") or {}
                parts: list[dict[str, Any]] = content.get("parts") or []
                said = any(part.get("text") and not part.get("thought") for part in parts)
                if said and content.get("role"):
                    return index
        return self._first

    def _waiting_indexes(self) -> list[int]:
        """Indexes of the calls without an answer, or whose long-running tool may still give one.

        As for `open_calls`, only what stands in the call's own invocation answers it: models may
        use the id of a call again in a later one. A task is answered in any.
        """
        found: list[int] = []
        answered: set[tuple[str, str | None]] = set()
        given: set[str | None] = set()
        for index in range(len(self._records) - 1, self._first - 1, -1):
            record = self._records[index]
            own = record.invocation_id
            answered.update((own, call) for call, _ in record.responses)
            if record.author == "user":
                given.update(call for call, _ in record.responses)
            if any(
                ((own, call) not in answered and not self._log.is_over(call))
                or (call in record.long_running and call not in given)
                for call, _ in record.calls
            ):
                found.append(index)
            elif record.scope and self._log.tasks.get(record.scope) is record:
                found.append(index)
        return found

    def _settle_start(self, start: int) -> int:
        """Return the next start at or before this one that cuts neither invocation nor rewind."""
        while start > self._first:
            lower = min(
                start,
                *(
                    self._log.start_of(record.invocation_id) or 0
                    for record in self._records[start:]
                    if not record.kinds & COMPACTION
                ),
            )
            while lower > self._first and not {lower - 1, lower} & self._visible:
                lower -= 1
            if (
                lower == start
                and not self._needed_summaries(start)
                and not self._is_left_out(start)
            ):
                lower -= 1  # a summary of what is gone needs a place before what is seen
            if lower == start:
                return start
            start = lower
        return start

    def _is_left_out(self, index: int) -> bool:
        return index in self._visible and (
            bool(self._records[index].kinds & COMPACTION) or self._is_covered(index)
        )

    def _needed_summaries(self, start: int) -> list[int]:
        newest = max(self._compactions)
        return [
            index
            for index, one in self._compactions.items()
            if index < start and (index == newest or id(one) in self._kept_ids)
        ]


def _is_within(one: EventCompaction, other: EventCompaction) -> bool:
    return other.start_timestamp <= one.start_timestamp and one.end_timestamp <= other.end_timestamp
