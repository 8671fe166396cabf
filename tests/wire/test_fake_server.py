"""The server of the wire tests itself: what it sends is what the script says."""

from __future__ import annotations

import httpx2
import pytest

from tests.wire.fake_server import Answer, FakeServer, sse


async def test_it_answers_in_order_and_keeps_what_came() -> None:
    async with FakeServer([Answer({"a": 1}), Answer("no", status=429)]) as server:
        async with httpx2.AsyncClient(base_url=server.url) as client:
            first = await client.post("/x?y=1", json={"q": 1})
            second = await client.post("/x")
    assert (first.json(), second.status_code, second.text) == ({"a": 1}, 429, "no")
    assert server.requests[0].path == "/x?y=1"
    assert server.requests[0].json == {"q": 1}
    assert server.connections == 1


@pytest.mark.parametrize("cut", [0, 1, 7, 11])
async def test_it_cuts_a_stream_after_so_many_bytes(cut: int) -> None:
    pieces = sse([{"n": 1}, {"n": 2}])
    got = b""
    async with FakeServer([Answer(pieces, cut_after=cut)]) as server:
        async with httpx2.AsyncClient(base_url=server.url) as client:
            with pytest.raises(httpx2.RemoteProtocolError):
                async with client.stream("POST", "/") as response:
                    async for chunk in response.aiter_bytes():
                        got += chunk
    assert got == b"".join(pieces)[:cut]


async def test_it_may_never_answer() -> None:
    async with FakeServer([Answer(silent=True, late=True)]) as server:
        async with httpx2.AsyncClient(base_url=server.url, timeout=30) as client:
            with pytest.raises(httpx2.ReadTimeout):
                await client.get("/")


async def test_a_request_beyond_the_script_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="GET /more"):
        async with FakeServer() as server:
            async with httpx2.AsyncClient(base_url=server.url) as client:
                assert (await client.get("/more")).status_code == 599
