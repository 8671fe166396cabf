"""What an event leaves in memory: blocks of the allocator and objects that the collector has to
walk. Counted, not weighed, so that no allocator's slack is in it."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.perf.kit import Bench, QuickModel, kept

pytestmark = pytest.mark.long

MAX_BLOCKS = 18
MAX_OBJECTS = 8
SLACK = 1  # the collector lets go of some containers when it sees fit
EVENTS = 4
TURNS = 50


async def growth(bench: Bench, sessions: list[str]) -> tuple[float, float]:
    """Blocks and objects that stay for each event of a turn on each of the sessions."""
    blocks, objects = kept()
    for number, session in enumerate(sessions):
        await bench.turn(session, number)
    after = kept()
    events = EVENTS * len(sessions)
    return (after[0] - blocks) / events, (after[1] - objects) / events


async def usual_growth(bench: Bench, sessions: list[str]) -> tuple[float, float]:
    """The medians of three times: what threads of earlier tests let go falls into one of them."""
    blocks, objects = zip(*[await growth(bench, sessions) for _ in range(3)], strict=True)
    return median(blocks), median(objects)


@pytest.mark.service
async def test_an_event_leaves_the_same_few_objects(service: Any) -> None:
    bench = Bench(service, QuickModel(model="quick"))
    await bench.open("long")
    await bench.turns("long", range(20))
    first = await usual_growth(bench, ["long"] * TURNS)
    await bench.turns("long", range(50))
    second = await usual_growth(bench, ["long"] * TURNS)
    blocks, objects = zip(first, second, strict=True)
    assert max(blocks) <= MAX_BLOCKS, f"memory blocks per event: {blocks}"
    assert max(objects) <= MAX_OBJECTS, f"objects per event: {objects}"
    assert max(objects) - min(objects) <= SLACK, f"objects per event are not flat: {objects}"


@pytest.mark.service
async def test_many_sessions_cost_no_more_than_one() -> None:
    bench = Bench(InMemorySessionService(), QuickModel(model="quick"))
    names = [f"session-{number}" for number in range(TURNS)]
    await bench.open("warm", *names)
    await bench.turns("warm", range(20))
    blocks, objects = await growth(bench, names)
    assert blocks <= MAX_BLOCKS and objects <= MAX_OBJECTS, f"{blocks} blocks, {objects} objects"


async def test_a_bounded_cache_is_bounded(tmp_path: Path) -> None:
    """Sessions that leave the cache leave nothing behind."""
    service = SqliteSessionService(
        str(tmp_path / "sessions.db"), synchronous="NORMAL", cache_bytes=30_000
    )
    bench = Bench(service, QuickModel(model="quick"))
    names = [f"session-{number}" for number in range(60)]
    await bench.open(*names)
    for _ in range(2):
        for name in names:
            await bench.turn(name)
    before = kept()
    for _ in range(2):
        for name in names:
            await bench.turn(name)
    after = kept()
    await service.close()
    events = EVENTS * 2 * len(names)
    grown = [(after[i] - before[i]) / events for i in (0, 1)]
    assert max(grown) < 0.5, f"each event left {grown[0]:.2f} blocks, {grown[1]:.2f} objects"


async def test_a_session_that_was_read_weighs_what_it_weighed(tmp_path: Path) -> None:
    """Else a bounded cache holds more and more memory as sessions leave it and come back."""
    path, names = str(tmp_path / "sessions.db"), ["a", "b", "c", "d"]
    weights: list[float] = []
    for turns in (TURNS, 1):
        service = SqliteSessionService(path, synchronous="NORMAL")
        bench = Bench(service, QuickModel(model="quick"))
        if not weights:
            await bench.open("warm", *names)
        await bench.turns("warm", range(20))
        before = kept()[0]
        for name in names:
            await bench.turns(name, range(turns))
        events = EVENTS * (TURNS if not weights else TURNS + 1) * len(names)
        weights.append((kept()[0] - before) / events)
        await service.close()
    talked, read = weights
    assert read < 1.1 * talked, f"memory blocks per event: {talked:.1f} talked, {read:.1f} read"
