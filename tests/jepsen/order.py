"""Whether operations on a log fit into one order that agrees with real time.

A log is a list to which unique entries are appended, and which is read. Its final content gives
each append a place, and each read the place behind the entries that it returned; so the order is
known, and only its agreement with real time is in question. Each operation takes effect at one
moment between its call and its return. Such moments exist if and only if no operation returned
before one was called that comes earlier in the order: taking each operation's moment as the
latest call among itself and those before it satisfies every bound that can be satisfied. One scan
decides it, where a search over orders (Wing and Gong, Lowe) takes exponential time in the worst
case; `test_order.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple


class Point(NamedTuple):
    """An operation with a place in the order.

    Attributes:
      place: where; those of one place may take effect in any order.
      invoked, returned: the interval in which it takes effect.
      name: how to name it.
    """

    place: int
    invoked: float
    returned: float
    name: str


def place_of_entry(index: int) -> int:
    """Return the place of the append of an entry."""
    return 2 * index + 1


def place_of_read(length: int) -> int:
    """Return the place of a read that returned so many entries."""
    return 2 * length


def find_inversions(points: Iterable[Point]) -> Iterator[tuple[Point, Point]]:
    """Yield pairs that contradict real time: the first has to come before the second in the
    order, and was called only after the second had returned. None, if and only if all fit.
    """
    latest: Point | None = None
    for _, group in groupby(sorted(points), key=lambda point: point.place):
        same = list(group)
        if latest is not None:
            yield from ((latest, point) for point in same if point.returned < latest.invoked)
        newest = max(same, key=lambda point: point.invoked)
        if latest is None or newest.invoked > latest.invoked:
            latest = newest
