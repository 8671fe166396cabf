"""Lanes that are stopped: nobody waits for anybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from ostinato.events import Event
from ostinato.workflow.lanes import Lanes


async def one() -> AsyncGenerator[Event, None]:
    yield Event(author="one")


@pytest.mark.parametrize("how", ["aclose", "stop"])
async def test_a_lane_that_speaks_while_it_is_stopped_is_closed(how: str) -> None:
    closed = False

    async def stubborn() -> AsyncGenerator[Event, None]:
        nonlocal closed
        try:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                yield Event(author="last words")
        finally:
            closed = True

    lanes = Lanes[str]()
    lanes.start_lane("stubborn", stubborn())
    lanes.start_lane("one", one())
    step = await lanes.next_step()
    assert step.key == "one"
    await (lanes.aclose() if how == "aclose" else lanes.stop_lane("stubborn"))
    assert closed
    await lanes.aclose()
    assert not len(lanes)
