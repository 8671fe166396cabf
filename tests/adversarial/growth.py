"""How the cost of a function grows with its input, in CPU time of this process.

Four times the input costs a linear function four times as much, a quadratic one sixteen times. The
margin lies far from both, the least of three runs counts, and what is over at once is not measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SIZES = (4_096, 16_384, 65_536)
_SHORT = 0.02  # seconds of CPU; what takes less is not worth a comparison
_AT_ONCE = 0.002  # seconds of CPU for 16 kB, below which 64 kB cannot show more than noise
_MOST = 8.0  # times the cost for four times the input


def is_linear(work: Callable[[str], object], make: Callable[[int], str]) -> bool:
    """Return whether a function's cost grows no faster than its input.

    Args:
      work: takes a text; what it raises counts as an answer.
      make: makes the text of about a number of characters.
    """
    before = 0.0
    for size in SIZES:
        if size == SIZES[-1] and before < _AT_ONCE:
            break
        text = make(size)
        cost = _cost(work, text)
        if cost > _SHORT and before and cost / max(before, _SHORT / _MOST) > _MOST:
            # Another process may have been in the way of one measurement: measure both again.
            again = min(_cost(work, make(size // 4)) for _ in range(3))
            if _cost(work, text) / max(again, _SHORT / _MOST) > _MOST:
                return False
        before = cost
    return True


def _cost(work: Callable[[str], object], text: str) -> float:
    found: list[float] = []
    for _ in range(3):
        start = time.process_time()
        try:
            work(text)
        except Exception:
            pass
        found.append(time.process_time() - start)
        if found[-1] < _SHORT or found[-1] > 1:
            break
    return min(found)
