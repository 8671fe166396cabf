"""What a piece of a provider's stream costs on its way to the caller, counted in function calls."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import httpx2
import pytest

from ostinato.sessions import InMemorySessionService
from tests.perf.kit import Bench, allowed, calls, is_flat
from tests.wire.turns import Turn

pytestmark = pytest.mark.long

# About 4 % above what is measured.
MAX_CHUNK = {"chat": 118, "responses": 109, "anthropic": 113, "gemini": 110}


class Script:
    """An API that streams a text in pieces, within the process."""

    def __init__(self, wire: str) -> None:
        self._script = import_module(f"tests.wire.{wire}.script")
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._respond))
        self.llm: Any = self._script.llm("http://localhost", http_client=client)
        self.body = b""

    def write(self, pieces: int) -> None:
        """Set the answer to a text of this many pieces."""
        (answer,) = self._script.answers([Turn("word word ")], stream=True)
        events = answer.pieces
        place = next(at for at, event in enumerate(events) if b'"word "' in event)
        self.body = b"".join([*events[:place], *[events[place]] * (pieces - 2), *events[place:]])

    def _respond(self, _: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=self.body)


@pytest.mark.parametrize("wire", MAX_CHUNK)
async def test_a_piece_of_a_stream_costs_the_same_anywhere(wire: str) -> None:
    script = Script(wire)
    bench = Bench(InMemorySessionService(), script.llm)
    await bench.open("session")
    totals: dict[int, int] = {}
    for pieces in (50, 150, 450):
        script.write(pieces)
        assert await bench.turn("session", stream=True) == pieces + 1
        totals[pieces] = await calls(lambda: bench.turn("session", stream=True), 2)
    each = [(totals[150] - totals[50]) / 100, (totals[450] - totals[150]) / 300]
    assert max(each) <= allowed(MAX_CHUNK[wire]), f"function calls per piece: {each}"
    assert is_flat(each), f"not flat: {each}"
    await script.llm.http_client.aclose()
