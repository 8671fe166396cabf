"""State deltas of concurrent writers: which of them wrote a key last."""

from __future__ import annotations

import math
import threading
from collections.abc import Container, Mapping, Sequence
from typing import Any

from ... import _clock
from ...events.event import Event


class WriteOrder:
    """Times the state writes of parallel calls, or of a whole invocation with parallel branches.

    The times are seconds since 1970 and rise strictly, so that they also give the order.

    Attributes:
      newest: time of the last write of each key.
      committed: time of the last committed write of each key.
      written: keys that were written in this process.
    """

    __slots__ = ("_last", "_lock", "committed", "newest", "written")

    def __init__(self) -> None:
        self._last = 0.0
        self._lock = threading.Lock()  # tools write from worker threads
        self.newest: dict[str, float] = {}
        self.committed: dict[str, float] = {}
        self.written: set[str] = set()

    def advance(self, key: str) -> float:
        """Return the time of a write of `key` that happens now."""
        with self._lock:
            # The clock of an earlier process may have been ahead.
            self._last = max(math.nextafter(self._last, math.inf), _clock.now())
            self.newest[key] = self._last
            self.written.add(key)
            return self._last

    def restore(self, times: Mapping[str, float], *, is_committed: bool = False) -> None:
        """Take over the times of writes that an earlier process made.

        A key that was written in this process was written later, whatever its time.
        """
        for key, time in times.items():
            self._last = max(self._last, time)
            if is_committed:
                self.committed[key] = max(self.committed.get(key, 0.0), time)
            if key not in self.written:
                self.newest[key] = max(self.newest.get(key, 0.0), time)


class OrderedDelta(dict[str, Any]):
    """A state delta that knows when each of its keys was written.

    Args:
      order: times the writes; shared by the deltas of all concurrent writers.
      values: what was written before this delta was made.
      times: the times of those writes; without them, they count as written now.

    Attributes:
      order: see Args.
      times: time of the last write of each key.
    """

    __slots__ = ("order", "times")

    def __init__(
        self,
        order: WriteOrder,
        values: Mapping[str, Any] | None = None,
        times: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__()
        self.order = order
        self.times: dict[str, float] = {}
        if times is None:
            self.update(values or {})
        else:
            for key, value in (values or {}).items():
                super().__setitem__(key, value)
            self.times.update(times)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.times[key] = self.order.advance(key)

    def __ior__(self, other: Any) -> OrderedDelta:  # type: ignore[override]
        self.update(other)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # a copy is a plain delta: the calls that it was for are over

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`; set it to `default` first if it is absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **values: Any) -> None:
        """Write every key of a mapping, of pairs, or of the keyword arguments."""
        for key, value in dict(*others, **values).items():
            self[key] = value

    def is_superseded(self, key: str) -> bool:
        """Return whether another writer wrote `key` later than this delta did."""
        return self.order.newest.get(key, 0.0) > self.times.get(key, 0.0)

    def without(self, keys: Container[str]) -> OrderedDelta:
        """Return a copy that lacks some keys, with the same times."""
        kept = {key: value for key, value in self.items() if key not in keys}
        return OrderedDelta(self.order, kept, {key: self.times.get(key, 0.0) for key in kept})

    def join(self, order: WriteOrder) -> OrderedDelta:
        """Return a copy in another order, which took over these times by `restore`.

        A key that was written in this process since counts as written before all others.
        """
        times = {k: 0.0 if k in order.written else n for k, n in self.times.items()}
        return OrderedDelta(order, self, times)

    def drop_outdated(self, earlier: Mapping[str, float]) -> None:
        """Remove the keys of which a later write is committed, or is in an earlier event.

        Args:
          earlier: time of the last write of each key in earlier events of the same commit.
        """
        committed = self.order.committed
        for key in [*self]:
            written = self.times.get(key, 0.0)
            if max(committed.get(key, 0.0), earlier.get(key, 0.0)) > written:
                del self[key]

    def note_commit(self) -> None:
        """Record that the writes are committed, so that no earlier one follows."""
        for key in self:
            self.order.committed[key] = self.times.get(key, 0.0)


def order_writes(events: Sequence[Event], order: WriteOrder | None) -> list[OrderedDelta]:
    """Let each key have the value written last, although its event may not be the last.

    Args:
      events: what is committed together; their deltas are changed.
      order: the order of a run with parallel branches, in which writes without a time happen now.
        Without it, only the writes of parallel calls have times.

    Returns:
      The deltas; once they are committed, `note_commit` tells their order.
    """
    found: list[OrderedDelta] = []
    latest: dict[str, float] = {}
    joined = order or (WriteOrder() if len(events) > 1 else None)
    for event in events:
        delta = event.actions.state_delta
        if isinstance(delta, OrderedDelta):
            if joined is not None and delta.order is not joined:
                joined.restore(delta.times)
                delta = event.actions.state_delta = delta.join(joined)
        elif delta and order is not None:
            delta = event.actions.state_delta = OrderedDelta(order, delta)
        else:
            continue
        delta.drop_outdated(latest)
        latest.update({key: delta.times.get(key, 0.0) for key in delta})
        found.append(delta)
    return found


def merge_deltas(deltas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the deltas of concurrent writers: of each key, the value written last counts.

    A delta without times counts as written before the others.
    """
    merged: dict[str, Any] = {}
    newest: dict[str, float] = {}
    order: WriteOrder | None = None
    for delta in deltas:
        times: Mapping[str, float] = {}
        if isinstance(delta, OrderedDelta):
            times, order = delta.times, delta.order
        for key, value in delta.items():
            time = times.get(key, 0.0)
            if time >= newest.get(key, 0.0):
                merged[key], newest[key] = value, time
    return merged if order is None else OrderedDelta(order, merged, newest)
