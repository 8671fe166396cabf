"""The price of a hook that may edit the request: its contents are copied for it, so that the
history stays as it is. Nobody else pays, and the price is a few memory blocks per content."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from tests.perf.kit import Bench, QuickModel, ReadingModel, expected_requests, kept
from tests.support.optionals import parts_of

CONTENTS = 4  # that a turn adds
MAX_COPY = 16
MAX_REQUEST = 600


class Nosy:
    """A before-model callback that writes into what it is handed."""

    def __init__(self) -> None:
        self.edits = 0

    async def __call__(self, callback_context: Any, llm_request: LlmRequest) -> None:
        if self.edits:
            assert parts_of(llm_request.contents[0])[0].text != "edited"
            parts_of(llm_request.contents[0])[0].text = "edited"
            self.edits -= 1


class WeighingModel(QuickModel):
    """Counts the memory blocks that are alive while it is called."""

    most: int = 0

    def look(self, contents: list[types.Content]) -> None:
        self.most = max(self.most, sys.getallocatedblocks())


async def blocks_of_a_turn(service: Any, history: list[int], **more: Any) -> list[int]:
    """The blocks that the model's calls of a turn find beside those from before the turn."""
    model = WeighingModel(model="weighing")
    bench = Bench(service, model, **more)
    session, turns, found = f"long-{len(more)}", 0, []
    await bench.open(session)
    for length in history:
        await bench.turns(session, range(turns, length))
        before, model.most = kept()[0], 0
        await bench.turn(session, length)
        found.append(model.most - before)
        turns = length + 1
    return found


@pytest.mark.service
async def test_only_a_hook_that_may_edit_pays_for_a_copy(service: Any) -> None:
    plain = await blocks_of_a_turn(service, [20, 120])
    hooked = await blocks_of_a_turn(service, [20, 120], before_model_callback=Nosy())
    each = (hooked[1] - hooked[0]) / ((120 - 20) * CONTENTS)
    assert max(plain) <= MAX_REQUEST, f"memory blocks of a turn: {plain}"
    assert 1 < each <= MAX_COPY, f"memory blocks to copy a content: {each:.1f}"


async def test_what_a_hook_edits_is_gone_with_the_request(service: Any) -> None:
    hook = Nosy()
    model = ReadingModel(model="reading", seen=[])
    bench = Bench(service, model, before_model_callback=hook)
    await bench.open("long")
    await bench.turns("long", range(4))
    hook.edits = 1
    await bench.turns("long", range(4, 6))
    expected = expected_requests(6)
    edited = model.seen[8]
    assert edited[0] == expected[8][0] and edited[1] != expected[8][1]
    assert [*model.seen[:8], *model.seen[9:]] == [*expected[:8], *expected[9:]]
