"""Connections that hold something open: half a head, a body that never ends, too many at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from ostinato.server.settings import ServerSettings
from tests.unit.server.conftest import Served, listening

pytestmark = pytest.mark.long  # each waits for about a second

HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
WHOLE = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
async def bounded(settings: ServerSettings) -> AsyncIterator[Served]:
    """A real server with short bounds."""
    bounds = {"header_timeout": 0.2, "keep_alive": 1.0, "request_timeout": 0.2}
    async with listening(replace(settings, max_connections=3, **bounds)) as one:
        yield one


async def told(served: Served, *pieces: bytes) -> bytes:
    """Return all that the server sends to a client that sends these and then nothing."""
    port = served.client.base_url.port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await reader.read()
    finally:
        writer.close()


def error_of(answer: bytes) -> tuple[bytes, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b" ")[1], json.loads(body)["error"]["type"]


async def test_a_head_that_does_not_end_is_not_waited_for(bounded: Served) -> None:
    for pieces in ((), (HALF,), (b"G",)):
        assert error_of(await told(bounded, *pieces)) == (b"408", "RequestTimeout")


async def test_the_next_head_on_a_connection_is_not_waited_for_either(bounded: Served) -> None:
    first, _, second = (await told(bounded, WHOLE, HALF)).partition(b'{"status":"ok"}')
    assert first.startswith(b"HTTP/1.1 200")
    assert not second or error_of(second) == (b"408", "RequestTimeout")


async def test_an_idle_connection_is_closed(bounded: Served) -> None:
    assert (await told(bounded, WHOLE)).endswith(b'{"status":"ok"}')


async def test_a_body_that_does_not_end_is_not_waited_for(bounded: Served) -> None:
    head = b"POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    answer = await told(bounded, head + b"Content-Length: 100\r\n\r\n{")
    assert error_of(answer) == (b"408", "RequestTimeout")


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""], ids=["whole", "open"])
async def test_a_head_is_bounded(bounded: Served, end: bytes) -> None:
    answer = await told(bounded, HALF + b"a" * 70_000 + end)
    assert error_of(answer) == (b"431", "HeadTooLarge")


async def test_a_body_has_one_length(bounded: Served) -> None:
    head = b"POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    both = b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    answer = await told(bounded, head + both)
    assert error_of(answer) == (b"400", "InvalidHttp")
    assert b"connection: close" in answer.lower()


async def test_what_is_no_http_is_told_in_json(bounded: Served) -> None:
    assert error_of(await told(bounded, b"\x00\x01\r\n\r\n")) == (b"400", "InvalidHttp")


async def test_one_connection_too_many_is_refused(settings: ServerSettings) -> None:
    async with listening(replace(settings, max_connections=2)) as served:
        port = served.client.base_url.port
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        try:
            assert error_of(await told(served)) == (b"503", "TooManyConnections")
        finally:
            for _, writer in held:
                writer.close()
                await writer.wait_closed()
        found = 0
        for _ in range(100):  # the server hears of it in its own time
            found = (await served.client.get("/health")).status_code
            if found == 200:
                break
        assert found == 200
