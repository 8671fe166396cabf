"""Time that passes without anybody waiting for it: timers end, and never before the test has come
to where they are to end, however busy the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_TURN = 0.1  # seconds


async def time_passes(until: Callable[[], bool]) -> None:
    """Put the running event loop's clock forward by a tenth of a second in each of its turns."""
    loop = asyncio.get_running_loop()
    clock, ahead = loop.time, 0.0
    loop.time = lambda: clock() + ahead  # type: ignore[method-assign]
    while not until():
        ahead += _TURN
        await asyncio.sleep(0)
