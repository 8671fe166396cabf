"""Time that passes only when somebody waits, for tests of waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from ostinato.models import _waiting, circuit_breaker, rate_limit


class Time:
    """Stands for the clock of the models room.

    Attributes:
      now: seconds.
      waits: what was waited for, in order.
      on_wait: called at each wait, before it ends.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []
        self.on_wait: Callable[[], object] = lambda: None

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        until = self.now + seconds
        self.on_wait()
        await asyncio.sleep(0)
        self.now = max(self.now, until)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Own time, without jitter by chance, and nothing known of any model."""
    time = Time()
    monkeypatch.setattr(_waiting, "now", lambda: time.now)
    monkeypatch.setattr(_waiting, "sleep", time.sleep)
    monkeypatch.setattr(_waiting, "share", lambda: 0.5)
    monkeypatch.setattr(rate_limit, "_windows", {})
    monkeypatch.setattr(circuit_breaker, "_circuits", {})
    return time
