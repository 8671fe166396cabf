"""The nemesis: it kills and pauses clients, cuts networks and ends databases, by a seed."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Protocol

from tests.crash.world import Record
from tests.jepsen.network import Network
from tests.jepsen.servers import Server

CLIENT_FAULTS = ("kill", "kill", "pause")
SERVER_FAULTS = ("cut", "cut", "cut", "pause database", "crash database", "restart database")
FILE_FAULTS = ("lock file",)
_GAP = (0.2, 1.2)  # seconds between two faults


class Victim(Protocol):
    """A client's process that can be killed and started again.

    Attributes:
      number: which network place it has.
    """

    number: int

    def send(self, how: signal.Signals) -> None:
        """Send a signal."""
        ...

    async def restart(self) -> None:
        """Wait for its end and start it again under another name."""
        ...


class Nemesis:
    """Injects faults, at most one into clients and one into the store at a time.

    Args:
      seed: which faults.
      victims: the clients.
      network: between clients and server.
      server: the database; None for a file.
      file: the file of SQLite.
      notes: where each fault is noted, with its times of the monotonic clock.

    Attributes:
      faults: how many of each kind were injected.
    """

    def __init__(
        self,
        seed: int,
        victims: Sequence[Victim],
        network: Network,
        server: Server | None,
        file: Path,
        notes: Record,
    ) -> None:
        self._victims, self._network = victims, network
        self._server, self._file, self._notes = server, file, notes
        self._seed = seed
        self.faults: Counter[str] = Counter()

    async def run(self, until: float) -> None:
        """Inject faults until a time of the monotonic clock, and undo the last ones."""
        await asyncio.gather(
            self._repeat(until, CLIENT_FAULTS, random.Random(f"{self._seed} clients")),
            self._repeat(
                until,
                SERVER_FAULTS if self._server is not None else FILE_FAULTS,
                random.Random(f"{self._seed} store"),
            ),
        )

    async def _repeat(self, until: float, faults: Sequence[str], chance: random.Random) -> None:
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(*_GAP))
            fault = chance.choice(faults)
            seconds = chance.choice((chance.uniform(0.1, 1.0), chance.uniform(1.0, 4.0)))
            if (begun := time.monotonic()) + seconds < until:
                victim = chance.choice(self._victims)
                name = f"cut {chance.choice(self._network.ways)}" if fault == "cut" else fault
                await self._inject(name, victim, seconds)
                times = begun, time.monotonic()
                self._notes.add({"fault": name, "client": victim.number, "times": times})

    async def _inject(self, fault: str, victim: Victim, seconds: float) -> None:
        """Inject a fault; those of the database do not concern the victim."""
        self.faults[fault] += 1
        if fault.startswith("cut "):
            async with self._cut(victim.number, fault.removeprefix("cut ")):
                await asyncio.sleep(seconds)
        elif fault == "kill":
            victim.send(signal.SIGKILL)
            await victim.restart()
        elif fault == "pause":
            victim.send(signal.SIGSTOP)
            try:
                await asyncio.sleep(seconds)
            finally:
                victim.send(signal.SIGCONT)
        elif fault == "lock file":
            await asyncio.to_thread(_lock_file, self._file, seconds)
        else:
            await self._hurt_database(fault, seconds)

    @asynccontextmanager
    async def _cut(self, number: int, way: str) -> AsyncIterator[None]:
        self._network.cut(number, way)
        try:
            yield
        finally:
            self._network.heal(number)

    async def _hurt_database(self, fault: str, seconds: float) -> None:
        server = self._server
        assert server is not None
        if fault == "pause database":
            server.pause()
            try:
                await asyncio.sleep(seconds)
            finally:
                server.resume()
            return
        end = server.stop_cleanly if fault == "restart database" else server.kill
        await asyncio.to_thread(end)
        await asyncio.sleep(seconds / 2)
        server.start()  # by the main thread: the server ends with the one that started it


def _lock_file(path: Path, seconds: float) -> None:
    """Hold the file's write lock, as a program does that is paused in the middle of a commit."""
    with closing(sqlite3.connect(path, timeout=10.0, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        file.execute("ROLLBACK")
