"""A TCP proxy on loopback that can be cut: what lies behind it goes away and comes back."""

from __future__ import annotations

import asyncio
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from typing import Any


class Proxy:
    """Passes connections on to one server, from a thread of its own; safe from any thread.

    Args:
      host, port: the server.

    Attributes:
      port: the port of the loopback interface that it listens on; the same for its whole life.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self.port = 0
        self._server: asyncio.Server | None = None
        self._transports: set[asyncio.WriteTransport] = set()
        self._silences: set[asyncio.Event] = set()
        self._mutes: set[asyncio.Event] = set()
        self._delay = 0.0
        self._answers_left: int | None = None
        self._at_last = self._cut
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._call(self._listen)

    def _call(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(work(), self._loop).result()

    @property
    def has_connections(self) -> bool:
        """Whether any connection is open."""
        return bool(self._transports)

    def cut(self) -> None:
        """Drop every connection and refuse new ones."""
        self._call(self._cut)

    def drop(self) -> None:
        """Drop every connection once; new ones are taken."""
        self._call(self._drop)

    def reset(self) -> None:
        """Refuse new connections and reset the open ones, as a host that has restarted does."""
        self._call(self._reset)

    def silence(self) -> None:
        """Pass nothing on for the connections that are open, and close none; serve new ones."""
        self._call(self._silence)

    def mute(self) -> None:
        """Pass on what the clients of open connections send, and none of the answers."""
        self._call(self._mute)

    def cut_after(self, answers: int) -> None:
        """Pass on so many more answers, then drop every connection and refuse new ones."""
        self._answers_left, self._at_last = answers, self._cut

    def silence_after(self, answers: int) -> None:
        """Pass on so many more answers, then no more for the connections that are open."""
        self._answers_left, self._at_last = answers, self._silence

    def delay(self, seconds: float) -> None:
        """Pass everything on so much later, until this is called again."""
        self._delay = seconds

    def restore(self) -> None:
        """Take connections again."""
        self._answers_left = None
        self._call(self._listen)

    def close(self) -> None:
        """End the proxy and its thread."""
        self._call(self._cut)
        self._call(self._settle)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        await self._drop()

    async def _drop(self) -> None:
        for transport in list(self._transports):
            transport.abort()

    async def _reset(self) -> None:
        for transport in self._transports:
            at_once = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, at_once)
        await self._cut()

    async def _silence(self) -> None:
        for silence in self._silences:
            silence.set()

    async def _mute(self) -> None:
        for mute in self._mutes:
            mute.set()

    async def _settle(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transports, silence, mute = {writer.transport}, asyncio.Event(), asyncio.Event()
        self._silences.add(silence)
        self._mutes.add(mute)
        self._transports |= transports
        try:
            there, back = await asyncio.open_connection(*self._target)
            if self._server is None:  # it was cut meanwhile
                back.transport.abort()
                return
            transports.add(back.transport)
            self._transports |= transports
            await asyncio.gather(
                self._pump(reader, back, silence),
                self._pump(there, writer, silence, mute, counts=True),
            )
        except OSError:
            return
        finally:
            for transport in transports:
                transport.abort()
            self._transports -= transports
            self._silences.discard(silence)
            self._mutes.discard(mute)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *stops: asyncio.Event,
        counts: bool = False,
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(2**16):
                if self._delay:
                    await asyncio.sleep(self._delay)
                if any(stop.is_set() for stop in stops):
                    continue
                if counts and self._answers_left is not None:
                    if self._answers_left == 0:
                        self._answers_left = None
                        await self._at_last()
                        continue
                    self._answers_left -= 1
                writer.write(data)
                await writer.drain()
        if not any(stop.is_set() for stop in stops):
            writer.transport.abort()
