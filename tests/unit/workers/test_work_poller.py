"""How long what a dead owner left open may wait for an engine that looks for it."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest

from ostinato.errors import StoreError
from ostinato.workers import work_poller as poller

_FROM_THE_END_OF_A_LEASE = 2.0  # seconds, as docs/scale-out.md says


class Backlog:
    """One that is empty, and notes when it was asked."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.asked: list[float] = []

    async def find_abandoned(self, without: Any) -> list[Any]:
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
    monkeypatch.setattr(poller, "time", clock)
    monkeypatch.setattr(poller.random, "uniform", lambda least, most: most)
    eye = poller.WorkPoller(backlog)
    monkeypatch.setattr(eye, "wait_for_wake", clock.wait)
    while clock.now < 1060.0:
        assert await eye.look(1, ()) == []
        await eye.rest()
    between = [later - sooner for sooner, later in pairwise(backlog.asked)]
    assert len(between) > 20 and max(between) <= _FROM_THE_END_OF_A_LEASE


async def test_a_store_that_is_away_for_long_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    backlog: Any = Backlog(clock)
    monkeypatch.setattr(poller, "time", clock)
    eye = poller.WorkPoller(backlog)
    monkeypatch.setattr(eye, "wait_for_wake", clock.wait)
    await eye.look(1, ())

    async def fail(*_: Any) -> list[Any]:
        raise StoreError("The store is away.")

    with caplog.at_level(logging.INFO, "ostinato.store"):
        with monkeypatch.context() as patch:
            patch.setattr(backlog, "find_abandoned", fail)
            patch.setattr(backlog, "take", fail)
            looks = 0
            while clock.now < 1060.0:
                assert await eye.look(1, ()) == []
                await eye.rest()
                looks += 1
        await eye.look(1, ())
    assert 20 < looks < 200
    away, back = [each.getMessage() for each in caplog.records]
    assert away.startswith("The store is away.")
    assert back.startswith("The store answers again")
