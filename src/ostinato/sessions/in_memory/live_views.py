"""Dicts and lists that report each edit, so that a store can expose its content for editing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self, SupportsIndex


class LiveDict(dict[str, Any]):
    """A dict that hands each edit on.

    Args:
      values: what it holds at first.
      put: takes a key and a value that are set, and returns the value to hold.
      drop: takes a key that is removed.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        put: Callable[[str, Any], Any],
        drop: Callable[[str], None],
    ) -> None:
        super().__init__(values)
        self._put, self._drop = put, drop

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # a copy is a plain dict

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, self._put(key, value))

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._drop(key)

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def pop(self, key: str, *default: Any) -> Any:
        found = super().pop(key, *default)
        self._drop(key)
        return found

    def popitem(self) -> tuple[str, Any]:
        key, value = super().popitem()
        self._drop(key)
        return key, value

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict[str, Any](*args, **kwargs).items():
            self[key] = value


class LiveList(list[Any]):
    """A list that tells of each edit.

    Args:
      values: what it holds at first.
      changed: is called after each edit.
    """

    def __init__(self, values: Iterable[Any], changed: Callable[[], None]) -> None:
        super().__init__(values)
        self._changed = changed

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # a copy is a plain list

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        self._changed()

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        super().__delitem__(index)
        self._changed()

    def __iadd__(self, values: Iterable[Any]) -> Self:
        self.extend(values)
        return self

    def append(self, value: Any) -> None:
        super().append(value)
        self._changed()

    def extend(self, values: Iterable[Any]) -> None:
        super().extend(values)
        self._changed()

    def insert(self, index: SupportsIndex, value: Any) -> None:
        super().insert(index, value)
        self._changed()

    def pop(self, index: SupportsIndex = -1) -> Any:
        found = super().pop(index)
        self._changed()
        return found

    def remove(self, value: Any) -> None:
        super().remove(value)
        self._changed()

    def clear(self) -> None:
        super().clear()
        self._changed()

    def sort(self, **how: Any) -> None:
        super().sort(**how)
        self._changed()

    def reverse(self) -> None:
        super().reverse()
        self._changed()


def live_tree(
    values: Mapping[str, Any],
    depth: int,
    put: Callable[[tuple[str, ...], Any], Any],
    drop: Callable[[tuple[str, ...]], None],
    place: tuple[str, ...] = (),
) -> LiveDict:
    """Return nested dicts that hand each edit on, with the keys that lead to it.

    Args:
      values: nested dicts with what the innermost hold.
      depth: how many dicts lie in each other.
      put: takes the keys and the value of a new leaf, and returns the leaf to hold.
      drop: takes keys; all below them is removed.
      place: the keys that lead to this dict.
    """

    def put_here(key: str, value: Any) -> Any:
        path = (*place, key)
        if depth == 1:
            return put(path, value)
        drop(path)
        below = live_tree({}, depth - 1, put, drop, path)
        below.update(value)
        return below

    if depth > 1:
        values = {k: live_tree(v, depth - 1, put, drop, (*place, k)) for k, v in values.items()}
    return LiveDict(values, put_here, lambda key: drop((*place, key)))
