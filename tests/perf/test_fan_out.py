"""What is more of the same costs the same each: one more chunk of a stream, one more tool call of a
response. Counted in function calls, without those of the turn around it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.perf.kit import Bench, QuickModel, allowed, calls, is_flat

pytestmark = pytest.mark.long

MAX_CHUNK = 74
MAX_TOOL_CALL = 330


async def test_a_chunk_costs_the_same_anywhere(service: Any) -> None:
    model = QuickModel(model="quick")
    bench = Bench(service, model)
    await bench.open("short", "long")
    await bench.turns("long", range(50))
    each = []
    for session in ("short", "long"):
        totals = {}
        for chunks in (50, 150, 450):
            model.chunks = chunks
            assert await bench.turn(session, stream=True) == chunks + 1
            totals[chunks] = await calls(lambda: bench.turn(session, stream=True), 2)  # noqa: B023
        each += [(totals[150] - totals[50]) / 100, (totals[450] - totals[150]) / 300]
    shown = ", ".join(f"{count:.1f}" for count in each)
    assert max(each) <= allowed(MAX_CHUNK), f"function calls per chunk: {shown}"
    assert is_flat(each), f"not flat: {shown}"


async def test_a_tool_call_costs_the_same_among_many(service: Any) -> None:
    model = QuickModel(model="quick", tool="add_soon")
    bench = Bench(service, model)
    await bench.open("session")
    totals = {}
    for fan in (8, 24, 64):
        model.fan = fan
        await bench.turn("session")
        totals[fan] = await calls(lambda: bench.turn("session"), 3)
    each = [(totals[24] - totals[8]) / 16, (totals[64] - totals[24]) / 40]
    shown = ", ".join(f"{count:.1f}" for count in each)
    assert max(each) <= allowed(MAX_TOOL_CALL), f"function calls per tool call: {shown}"
    assert is_flat(each), f"not flat: {shown}"
