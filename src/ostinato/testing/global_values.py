"""Texts of what a process holds in globals, to see whether a tool has changed it.

Data of the user's own modules count; the insides of objects of other packages do not: a logger, a
client, a pool or a lock fills its caches without keeping state of the agent.
"""

from __future__ import annotations

import functools
import itertools
import sys
import sysconfig
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableSequence
from collections.abc import Set as AnySet
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

_DEEPEST = 12  # nested values
_MOST = 100_000  # values of one global
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), array, itertools.count)
_ROOTS = ("builtins", "abc", "typing", "enum")
_PACKAGES = tuple(
    f"{Path(path)}/" for path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
)


def describe_value(value: Any) -> str:
    """Return a text that changes when the data in a value change, or when it is another object."""
    seen: dict[int, Any] = {}

    def describe(held: Any, depth: int) -> str:
        if _is_plain(held):
            return repr(held)
        if isinstance(held, (type, FunctionType, ModuleType)):
            return f"<{held.__name__} {id(held)}>"
        if id(held) in seen or depth > _DEEPEST or len(seen) > _MOST:
            return f"<{type(held).__name__}>"
        seen[id(held)] = held  # kept, so that its id is not given again
        return _describe_inside(held, lambda part: describe(part, depth + 1))

    return describe(value, 0)


def is_first_use(before: str | None, now: str | None) -> bool:
    """Return whether a variable that was None holds an object of another package, by its texts.

    Such as a client that is made at its first use, which another process makes as well.
    """
    return before == "None" and now is not None and now.startswith("<")


@functools.cache
def is_foreign(kind: type) -> bool:
    """Return whether a class is of another package than the user's: installed, or Python's own."""
    name = getattr(kind, "__module__", None)
    if not isinstance(name, str):
        return True
    top = name.partition(".")[0]
    if top == "__main__":
        return False
    if top in sys.stdlib_module_names or top == "ostinato":
        return True
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file or file.startswith(_PACKAGES)


def _is_plain(value: object) -> bool:
    return isinstance(value, _PLAIN)


def _is_data(value: Any) -> bool:
    """Return whether a value is data: plain, a container, or equal to others by its content."""
    kind = cast("type[object]", type(value))
    if isinstance(value, (*_PLAIN, Mapping, AnySet, MutableSequence, tuple, deque)):
        return True
    is_ours = kind.__module__.partition(".")[0] == "ostinato"
    return kind.__hash__ is not object.__hash__ and not is_ours


def _describe_inside(value: Any, describe: Callable[[Any], str]) -> str:
    """Return the text of a value that is not plain, by the texts of its parts."""
    kind, words = cast("type[object]", type(value)), list[str]()
    name, is_own = kind.__name__, not is_foreign(kind)
    try:
        words += _describe_items(value, describe)
        if is_own:
            words += [f"{key}={describe(one)}" for key, one in _attributes_of(value)]
            if _has_own_repr(kind):
                words.append(repr(value))
        elif not words and _is_data(value):  # a date, a number, an enumeration
            return repr(value)
    except Exception:  # boundary: code of the user's, or a container that changes meanwhile
        return f"<{name} {id(value)}>"
    if not words and not is_own and not _is_data(value):
        return f"<{name} {id(value)}>"
    return f"{name}({', '.join(words)})"


def _describe_items(value: Any, describe: Callable[[Any], str]) -> list[str]:
    """Return the texts of what a container holds; of a set in an order of their own."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return [f"{describe(key)}: {describe(one)}" for key, one in [*pairs]]
    if isinstance(value, AnySet):
        return sorted(describe(one) for one in [*cast("AnySet[Any]", value)])
    if isinstance(value, (MutableSequence, tuple, deque)):
        return [describe(one) for one in [*cast("list[Any]", value)]]
    return []


def _attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object of the user's; of a foreign base, only the public ones."""
    kinds = [kind for kind in type(value).__mro__ if kind.__module__ not in _ROOTS]
    held: dict[str, Any] = {**getattr(value, "__dict__", {})}
    for kind in kinds:
        slots: Any = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            held.setdefault(name, getattr(value, name, None))
    hides = any(is_foreign(kind) for kind in kinds)
    for name, one in held.items():
        if name not in ("__dict__", "__weakref__") and not (hides and name.startswith("_")):
            yield name, one


def _has_own_repr(kind: type) -> bool:
    """Return whether the user has written how an object of a class is shown."""
    for one in kind.__mro__:
        if "__repr__" in one.__dict__:
            return not is_foreign(one) and "__dataclass_fields__" not in one.__dict__
    return False
