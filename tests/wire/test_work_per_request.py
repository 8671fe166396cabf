"""What a request costs in a long session, counted in calls of functions: the SDK does not walk
through the history, and what was converted once is not converted again.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from types import FrameType
from typing import Any

import pytest

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from tests.wire.asking import said
from tests.wire.fake_server import FakeServer
from tests.wire.turns import Turn

_COUNTED = ("/openai/", "/ostinato/models/", "/pydantic/")


class Calls:
    """Counts the calls of functions of the SDK and of the models."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def __enter__(self) -> Calls:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and any(part in path for part in _COUNTED):
            self.names[f"{path.rpartition('/')[2]}:{frame.f_code.co_name}"] += 1

    @property
    def total(self) -> int:
        return self.names.total()


async def _requests(wire: str, size: int) -> tuple[int, int, int]:
    """Return the calls of a first request, of a second with two contents more, and of a third."""
    script = import_module(f"tests.wire.{wire}.script")
    contents = [said(f"text {n}", "model" if n % 2 else "user") for n in range(size + 1)]
    counts: list[int] = []
    async with FakeServer(script.answers([Turn("Yes.")] * 4, stream=False)) as server:
        llm = script.llm(server.url)
        await _ask(llm, [said("Hello")])  # the first one opens the client
        for _ in range(3):
            with Calls() as calls:
                await _ask(llm, contents)
            counts.append(calls.total)
            contents += [said("more", "model"), said("and more")]
        await llm.aclose()
    return counts[0], counts[1], counts[2]


async def _ask(llm: Any, contents: list[types.Content]) -> None:
    wanted = LlmRequest(contents=[*contents])
    assert [one async for one in llm.generate_content_async(wanted)]


@pytest.mark.parametrize("wire", ["anthropic", "bedrock", "chat", "gemini", "responses"])
async def test_a_turn_costs_what_is_new(wire: str) -> None:
    """The second request calls nothing for an old content: what it became is known, and written."""
    few, many = await _requests(wire, 10), await _requests(wire, 1000)
    added = many[1] - few[1]
    assert added <= 60, (few, many)
    assert many[2] - many[1] <= 60, (few, many)
    assert few[1] <= 2500, (few, many)
