"""A turn costs the same at its start and after 200 turns: counted in function calls, which no
machine's speed touches, and with an untimed run that proves that the whole history is sent."""

from __future__ import annotations

from typing import Any

import opentelemetry.metrics
import opentelemetry.trace  # noqa: F401
import pytest

from ostinato.sessions import InMemorySessionService
from tests.perf.kit import (
    Bench,
    ChainingModel,
    QuickModel,
    ReadingModel,
    allowed,
    calls,
    expected_requests,
    is_flat,
)

pytestmark = pytest.mark.long

MEASURED_TURNS = 8
# By store; about 2 % above what is measured. With NORMAL the counted thread commits by itself, with
# FULL another one does, so that a step counts more calls with NORMAL. Each span asks OpenTelemetry
# for its provider if the process has imported it, which makes 47 calls more per turn; it is
# imported above, so that the count does not depend on the tests that this process ran before.
MAX_CALLS = {"memory": 1445, "NORMAL": 1830, "FULL": 1930}
MAX_STEP = {"memory": 660, "NORMAL": 785, "FULL": 757}


@pytest.fixture
def store(request: pytest.FixtureRequest, service: Any) -> str:
    """The name of the store that `service` is."""
    return request.node.callspec.params["service"]


async def test_a_turn_costs_the_same_at_any_length(service: Any, store: str) -> None:
    bench = Bench(service, QuickModel(model="quick"))
    fresh = [f"fresh-{number}" for number in range(MEASURED_TURNS)]
    await bench.open("warm", "long", *fresh)
    await bench.turns("warm", range(5))
    unused = iter(fresh)
    counts = {0: await calls(lambda: bench.turn(next(unused)), MEASURED_TURNS)}
    turns = 0
    for history in (50, 200):
        await bench.turns("long", range(turns, history))
        counts[history] = await calls(lambda: bench.turn("long"), MEASURED_TURNS)
        turns = history + MEASURED_TURNS
    shown = ", ".join(f"{n} turns: {c:.0f}" for n, c in counts.items())
    assert max(counts.values()) <= allowed(MAX_CALLS[store]), f"function calls per turn: {shown}"
    assert is_flat([*counts.values()]), f"not flat: {shown}"


async def test_the_whole_history_is_sent(service: Any) -> None:
    model = ReadingModel(model="reading", seen=[])
    bench = Bench(service, model)
    await bench.open("long")
    await bench.turns("long", range(200))
    assert model.seen == expected_requests(200)


async def test_a_step_costs_the_same_in_a_long_invocation(service: Any, store: str) -> None:
    bench = Bench(service, QuickModel(model="quick"))
    await bench.open("warm", *map(str, range(9)))
    await bench.turns("warm", range(3))
    totals = {}
    for steps, sessions in ((10, "012"), (60, "345"), (110, "678")):
        bench.runner.agent.model.steps = steps
        unused = iter(sessions)
        totals[steps] = await calls(lambda: bench.turn(next(unused)), 3, of_loop=False)  # noqa: B023
    early, late = ((totals[b] - totals[b - 50]) / 50 for b in (60, 110))
    assert max(early, late) <= allowed(MAX_STEP[store]), (
        f"function calls per step: {early:.0f}, {late:.0f}"
    )
    assert is_flat([early, late]), f"not flat: {early:.0f}, then {late:.0f}"


@pytest.mark.parametrize("kept", [True, False])
async def test_a_chained_turn_costs_the_same_at_any_length(kept: bool) -> None:
    model = ChainingModel(model="chaining", kept=kept)
    bench = Bench(InMemorySessionService(), model)
    await bench.open("long")
    counts: list[int] = []
    turns = 0
    for history in (10, 200):
        await bench.turns("long", range(turns, history))
        counts.append(await calls(lambda: bench.turn("long"), MEASURED_TURNS))
        turns = history + MEASURED_TURNS
    assert model.chained == kept
    assert is_flat([*counts]), f"function calls per turn: {counts}"
