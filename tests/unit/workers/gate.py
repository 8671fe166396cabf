"""Gate: where the agents of worker processes report what they do, and wait until they are let."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

DEADLINE = 180.0  # ends what hangs; no time is measured


@dataclass
class Arrival:
    """One report.

    Attributes:
      kind: `model` before a model answers, `pay` when the tool takes effect.
      text: the user's message, or what is paid.
      pid: the process.
    """

    kind: str
    text: str
    pid: int

    def __post_init__(self) -> None:
        self.let = asyncio.Event()


class Gate:
    """A server on this machine; lets everything pass but what `holds` says."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.holds: Callable[[Arrival], bool] = lambda arrival: False
        self._news = asyncio.Condition()
        self.port = 0

    async def __aenter__(self) -> Gate:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for arrival in self.arrivals:
            arrival.let.set()
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            arrival = Arrival(**json.loads(await reader.readline()))
            if not self.holds(arrival):
                arrival.let.set()
            async with self._news:
                self.arrivals.append(arrival)
                self._news.notify_all()
            await arrival.let.wait()
            writer.write(b"go\n")
            await writer.drain()
        except (ConnectionError, ValueError):
            return  # its process was killed
        finally:
            writer.close()

    async def wait(
        self, text: str, *, kind: str = "model", times: int = 1, pids: Iterable[int] = ()
    ) -> Arrival:
        """Wait for the so-manieth report of a text, by one of these processes where named."""
        wanted = set(pids)

        def found() -> list[Arrival]:
            return [
                one
                for one in self.arrivals
                if (one.kind, one.text) == (kind, text) and (not wanted or one.pid in wanted)
            ]

        async with asyncio.timeout(DEADLINE), self._news:
            await self._news.wait_for(lambda: len(found()) >= times)
        return found()[times - 1]

    def count(self, kind: str, text: str) -> int:
        """Return how often a text was reported."""
        return sum((one.kind, one.text) == (kind, text) for one in self.arrivals)
