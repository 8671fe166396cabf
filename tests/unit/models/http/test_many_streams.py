"""Streams side by side over one client, and what becomes of their connections."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from ostinato._aclosing import Aclosing
from ostinato.models.http.messages import HttpRequest, Timeouts
from ostinato.models.http.transport import HttpTransport

STREAMS = 1_000
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_SOON_S = 1.0
_LONGEST_S = 300


class HeldStreams:
    """A server whose streams send one event and go on once they are let go.

    Attributes:
      all_begun: is set once as many have begun as are wanted.
      left: is set once a client has left its stream.
    """

    def __init__(self, wanted: int = 1) -> None:
        self.all_begun = asyncio.Event()
        self._missing = wanted
        self.left = asyncio.Event()
        self.let_go = asyncio.Event()
        self.connections = 0

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[str, None]:
        """Serve, and give the address."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2 * STREAMS)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        finally:
            server.close()
            await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                assert b"content-length: 1" in head.lower()
                await reader.readexactly(1)
                writer.write(_HEAD + b"9\r\ndata: 1\n\n\r\n")
                self._missing -= 1
                if self._missing == 0:
                    self.all_begun.set()
                gone = asyncio.ensure_future(reader.read(1))
                going = asyncio.ensure_future(self.let_go.wait())
                await asyncio.wait((gone, going), return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    break
                gone.cancel()
                await asyncio.gather(gone, return_exceptions=True)
                writer.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        except asyncio.IncompleteReadError:
            pass  # the client has closed its connection
        finally:
            self.left.set()
            writer.close()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Allow two sockets for each stream."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 3 * STREAMS
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, wanted), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _read(transport: HttpTransport, url: str) -> list[str]:
    request = HttpRequest("POST", url, body=b"x", timeouts=Timeouts(connect=_LONGEST_S))
    async with transport.stream(request) as stream, Aclosing(stream.events()) as events:
        return [event.data async for event in events]


@pytest.mark.long
async def test_a_thousand_streams_at_once(many_files: None) -> None:
    streams, transport = HeldStreams(STREAMS), HttpTransport()
    async with streams.serve() as url, asyncio.timeout(_LONGEST_S):
        tasks = [asyncio.create_task(_read(transport, url)) for _ in range(STREAMS)]
        await streams.all_begun.wait()
        streams.let_go.set()
        assert await asyncio.gather(*tasks) == [["1", "2"]] * STREAMS
        assert streams.connections == STREAMS
        await transport.aclose()


async def test_a_cancelled_stream_closes_its_connection_within_a_second() -> None:
    streams, transport = HeldStreams(), HttpTransport()
    async with streams.serve() as url:
        task = asyncio.create_task(_read(transport, url))
        await streams.all_begun.wait()
        assert not streams.left.is_set()
        task.cancel()
        async with asyncio.timeout(_SOON_S):
            await streams.left.wait()
        with pytest.raises(asyncio.CancelledError):
            await task
        await transport.aclose()


async def test_a_connection_that_the_server_closed_is_replaced() -> None:
    """The server takes one request per connection, and says so nowhere."""
    asked: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        await reader.readexactly(1)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        await reader.readuntil(b"\r\n\r\n") if len(asked) == 1 else None
        writer.close()  # without an answer to the second request

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    transport = HttpTransport()
    async with server:
        for _ in range(2):
            answer = await transport.send(HttpRequest("POST", url, body=b"x"))
            assert answer.json() == {}
        await transport.aclose()
    assert len(asked) == 2
