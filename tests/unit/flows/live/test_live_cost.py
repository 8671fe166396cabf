"""What a streamed piece costs: the same for the first and the thousandth, and few calls."""

from __future__ import annotations

import sys
from typing import Any

from ostinato.agents import LiveRequestQueue, LlmAgent
from tests.unit.flows.kit import Store, Talk
from tests.unit.flows.live.kit import DONE, HEARD, LiveModel, converse, said, text


async def calls_of(pieces: int, memory: Store) -> int:
    """Count the Python calls of a turn with that many pieces."""
    counted = 0

    def count(frame: Any, kind: str, value: Any) -> None:
        nonlocal counted
        counted += kind == "call"

    model = LiveModel([HEARD, *[text("x", True) for _ in range(pieces)], DONE])
    talk, queue = Talk(LlmAgent(name="root", model=model), memory), LiveRequestQueue()
    queue.send_content(said("Hi"))
    sys.setprofile(count)
    try:
        await converse(talk, queue)
    finally:
        sys.setprofile(None)
    return counted


async def test_a_streamed_piece_stays_light(memory: Store) -> None:
    await calls_of(1, memory)  # what is made once is made
    few, many = await calls_of(100, memory), await calls_of(600, memory)
    assert (many - few) / 500 < 100
