"""Time as the models room waits by it: one place, so that a test can put its own time there."""

from __future__ import annotations

import asyncio
import random
import time


def now() -> float:
    """Return seconds on a clock that is never set back."""
    return time.monotonic()


async def sleep(seconds: float) -> None:
    """Wait."""
    await asyncio.sleep(seconds)


def share() -> float:
    """Return a random number from 0 to 1, the jitter of a delay."""
    return random.random()
