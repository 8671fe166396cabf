"""JSON with one value replaced by another that does not belong there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import cycle
from typing import Any

_JUNK: tuple[Any, ...] = (
    *(None, True, 0, -1, 2**63, 1e308, "", "x", "null", "\u0000", "☀" * 50),
    *([], [None], [[]], ["x"], [1, {}], {}, {"": ""}, {"a": [1]}, {"type": 5}, {"text": []}),
)


def mutations(value: Any, *, times: int = 3) -> Iterator[Any]:
    """Yield copies of a value, each with one place of it replaced, every place several times."""
    junk = cycle(_JUNK)
    for place in _places(value):
        for _ in range(times):
            changed = copy.deepcopy(value)
            holder = changed
            for step in place[:-1]:
                holder = holder[step]
            holder[place[-1]] = copy.deepcopy(next(junk))
            yield changed


def _places(value: Any) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    for step, inner in items:
        yield (step,)
        for place in _places(inner):
            yield (step, *place)
