"""State deltas of concurrent writers: which of them wrote a key last."""

from __future__ import annotations

import threading
from collections.abc import Container, Mapping, Sequence
from typing import Any


class WriteOrder:
    """Numbers the state writes of parallel calls, or of a whole invocation with parallel branches,
    in the order in which they happen.

    Attributes:
      newest: number of the last write of each key.
      committed: number of the last committed write of each key.
      written: keys that were written in this process.
    """

    __slots__ = ("_count", "_lock", "committed", "newest", "written")

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()  # tools write from worker threads
        self.newest: dict[str, int] = {}
        self.committed: dict[str, int] = {}
        self.written: set[str] = set()

    def advance(self, key: str) -> int:
        """Return the number of a write of `key` that happens now."""
        with self._lock:
            self._count += 1
            self.newest[key] = self._count
            self.written.add(key)
            return self._count

    def restore(self, numbers: Mapping[str, int], *, is_committed: bool = False) -> None:
        """Take over the numbers of writes that an earlier process made.

        A key that was written in this process was written later, whatever its number.
        """
        for key, number in numbers.items():
            self._count = max(self._count, number)
            if is_committed:
                self.committed[key] = max(self.committed.get(key, 0), number)
            if key not in self.written:
                self.newest[key] = max(self.newest.get(key, 0), number)


class OrderedDelta(dict[str, Any]):
    """A state delta that knows when each of its keys was written.

    Args:
      order: numbers the writes; shared by the deltas of all concurrent writers.
      values: what was written before this delta was made.
      numbers: the numbers of those writes; without them, they count as written now.

    Attributes:
      order: see Args.
      numbers: number of the last write of each key.
    """

    __slots__ = ("numbers", "order")

    def __init__(
        self,
        order: WriteOrder,
        values: Mapping[str, Any] | None = None,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        self.order = order
        self.numbers: dict[str, int] = {}
        if numbers is None:
            self.update(values or {})
        else:
            for key, value in (values or {}).items():
                super().__setitem__(key, value)
            self.numbers.update(numbers)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.numbers[key] = self.order.advance(key)

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
        return self.order.newest.get(key, 0) > self.numbers.get(key, 0)

    def without(self, keys: Container[str]) -> OrderedDelta:
        """Return a copy that lacks some keys, with the same numbers."""
        kept = {key: value for key, value in self.items() if key not in keys}
        return OrderedDelta(self.order, kept, {key: self.numbers.get(key, 0) for key in kept})

    def join(self, order: WriteOrder) -> OrderedDelta:
        """Return a copy in another order, which took over these numbers by `restore`.

        A key that was written in this process since counts as written before all others.
        """
        numbers = {k: 0 if k in order.written else n for k, n in self.numbers.items()}
        return OrderedDelta(order, self, numbers)

    def drop_outdated(self) -> None:
        """Remove the keys of which a later write is already committed."""
        committed = self.order.committed
        for key in [key for key in self if committed.get(key, 0) > self.numbers.get(key, 0)]:
            del self[key]

    def note_commit(self) -> None:
        """Record that the writes are committed, so that no earlier one follows."""
        for key in self:
            self.order.committed[key] = self.numbers.get(key, 0)


def merge_deltas(deltas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the deltas of concurrent writers: of each key, the value written last counts.

    A delta without numbers counts as written before the others.
    """
    merged: dict[str, Any] = {}
    newest: dict[str, int] = {}
    order: WriteOrder | None = None
    for delta in deltas:
        numbers: Mapping[str, int] = {}
        if isinstance(delta, OrderedDelta):
            numbers, order = delta.numbers, delta.order
        for key, value in delta.items():
            number = numbers.get(key, 0)
            if number >= newest.get(key, 0):
                merged[key], newest[key] = value, number
    return merged if order is None else OrderedDelta(order, merged, newest)
