"""How many examples a property is tried with."""

from __future__ import annotations

import os

from tests.support.no_skips import VARIABLE


def tries(count: int) -> int:
    """Return `count` in `make check`, and a tenth of it in `make test`."""
    return count if os.environ.get(VARIABLE) == "1" else -(-count // 10)
