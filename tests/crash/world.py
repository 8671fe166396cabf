"""What a crashing program leaves outside of it: files that outlive its process, and the fail points
at which it dies.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any


class Record:
    """A file of JSON lines; a line is there once `add` returns, whatever becomes of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, item: Any) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, (json.dumps(item) + "\n").encode())
        os.close(file)

    def items(self) -> list[Any]:
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text().splitlines()]


class FailPoints:
    """Counts the places where a process may die, and ends it at one of them.

    Args:
      at: number of the place, from 1; None for none.
      how: the signal that the process sends to itself there.
      died: where the name of that place is noted.

    Attributes:
      between: held while the process ends there, so that no thread of it is in the middle of what
        this guards; nothing, unless set.
      within: places where whoever passes holds that already; the process then ends at the next one.
    """

    def __init__(self, at: int | None, how: signal.Signals, died: Record) -> None:
        self.names: list[str] = []
        self.between: AbstractContextManager[Any] = nullcontext()
        self.within: tuple[str, ...] = ()
        self._at = at
        self._how = how
        self._died = died
        self._mutex = threading.Lock()
        self._waiting: list[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = []

    def __call__(self, name: str) -> None:
        with self._mutex:
            self.names.append(name)
            at = self._at
            here = at is not None and len(self.names) >= at and name not in self.within
            if here:
                self._at = None
            waiting = list(self._waiting)
        if here:
            self._died.add({"at": at, "name": name, "pid": os.getpid()})
            with self.between:
                os.kill(os.getpid(), self._how)
        for wanted, loop, passed in waiting:
            if wanted == name:
                loop.call_soon_threadsafe(passed.set)

    async def passed(self, name: str) -> None:
        """Wait until a thread has passed a place from now on."""
        waiting = name, asyncio.get_running_loop(), asyncio.Event()
        self._waiting.append(waiting)
        await waiting[2].wait()
        self._waiting.remove(waiting)


class World:
    """The files of one trial, and the fail points of one process in it.

    Attributes:
      url: the database with its talk; empty where that is a file.
      effects: what tools did, in an outside store.
      acknowledged: ids of events that the store had confirmed.
      handed: ids of events that the runner had handed on.
      faults: what was seen to be wrong within a process.
      died: where processes died.
    """

    def __init__(
        self, folder: Path, at: int | None = None, how: signal.Signals = signal.SIGKILL
    ) -> None:
        self.folder = folder
        url = folder / "url"
        self.url = url.read_text() if url.exists() else ""
        self.effects = Record(folder / "effects")
        self.acknowledged = Record(folder / "acknowledged")
        self.handed = Record(folder / "handed")
        self.faults = Record(folder / "faults")
        self.died = Record(folder / "died")
        self.point = FailPoints(at, how, self.died)

    @property
    def database(self) -> Path:
        return self.folder / "sessions.db"

    def pay(self, what: str, key: str | None) -> None:
        """Do something to the world; done once for each key, each time without one."""
        self.point(f"before effect {what}")
        self.effects.add({"what": what, "key": key, "pid": os.getpid()})
        self.point(f"after effect {what}")
