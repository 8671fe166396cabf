"""State deltas of concurrent tool calls: which of them wrote a key last."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any


class WriteOrder:
    """Numbers the state writes of parallel calls in the order in which they happen.

    Attributes:
      newest: number of the last write of each key.
    """

    __slots__ = ("_count", "_lock", "newest")

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()  # tools write from worker threads
        self.newest: dict[str, int] = {}

    def advance(self, key: str) -> int:
        """Return the number of a write of `key` that happens now."""
        with self._lock:
            self._count += 1
            self.newest[key] = self._count
            return self._count

    def restore(self, numbers: Mapping[str, int]) -> None:
        """Take over the numbers of writes that an earlier process made."""
        for key, number in numbers.items():
            self._count = max(self._count, number)
            self.newest[key] = max(self.newest.get(key, 0), number)


class OrderedDelta(dict[str, Any]):
    """A state delta that knows when each of its keys was written.

    Args:
      order: numbers the writes; shared by the deltas of all parallel calls.
      values: what was written before this delta was made.
      numbers: the numbers of those writes; without them, they count as written now.

    Attributes:
      numbers: number of the last write of each key.
    """

    __slots__ = ("_order", "numbers")

    def __init__(
        self,
        order: WriteOrder,
        values: Mapping[str, Any] | None = None,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__()
        self._order = order
        self.numbers: dict[str, int] = {}
        if numbers is None:
            self.update(values or {})
        else:
            for key, value in (values or {}).items():
                super().__setitem__(key, value)
            self.numbers.update(numbers)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.numbers[key] = self._order.advance(key)

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
        """Return whether a parallel call wrote `key` later than this delta did."""
        return self._order.newest.get(key, 0) > self.numbers.get(key, 0)


def merge_deltas(deltas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the deltas of parallel calls: of each key, the value written last counts.

    A delta without numbers counts as written before the others.
    """
    merged: dict[str, Any] = {}
    newest: dict[str, int] = {}
    for delta in deltas:
        numbers = delta.numbers if isinstance(delta, OrderedDelta) else {}
        for key, value in delta.items():
            number = numbers.get(key, 0)
            if number >= newest.get(key, 0):
                merged[key], newest[key] = value, number
    return merged
