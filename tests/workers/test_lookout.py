"""How long what a dead owner left open may wait for an engine that looks for it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ostinato.workers import lookout

_FROM_THE_END_OF_A_LEASE = 2.0  # seconds, as docs/scale-out.md says


class Backlog:
    """One that is empty, and notes when it was asked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.asked: list[float] = []

    async def left_open(self, without: Any) -> list[Any]:
        self.asked.append(self._clock.now)
        return []

    async def take(self, room: int) -> list[Any]:
        return []


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds


async def test_an_idle_engine_finds_what_is_left_within_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    backlog: Any = Backlog(clock)
    monkeypatch.setattr(lookout, "time", clock)
    monkeypatch.setattr(lookout.random, "uniform", lambda least, most: most)
    eye = lookout.Lookout(backlog)
    monkeypatch.setattr(eye, "stirred", clock.wait)
    while clock.now < 1060.0:
        assert await eye.look(1, ()) == []
        await eye.rest()
    between = [later - sooner for sooner, later in pairwise(backlog.asked)]
    assert len(between) > 20 and max(between) <= _FROM_THE_END_OF_A_LEASE
