"""Runs named by an idempotency key: which are under way here, and what a repeated one yields."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

from ..events.event import Event
from ..sessions.event_log import TASK_ANSWER, EventRecord
from ..sessions.session import Session, log_of

_KEYS = uuid.UUID("8d0f2d2c-5b0c-4a5e-9a51-2f0e6f3f7a11")


async def stored_events(
    session: Session, invocation_id: str, *, newest: bool = False
) -> AsyncGenerator[Event, None]:
    """Yield the stored events of an invocation, oldest first, without the user's.

    Args:
      session: the session.
      invocation_id: the invocation.
      newest: only those that came after the user's newest message.
    """
    records: list[EventRecord] = []
    for record in log_of(session).invocation(invocation_id):
        if record.author != "user" or record.kinds & TASK_ANSWER:
            records.append(record)
        elif newest:
            break
    for record in reversed(records):
        yield record.event()


def keyed_invocation_id(place: tuple[str, str, str], idempotency_key: str) -> str:
    """Return the invocation id that a request's key stands for, always the same in one session."""
    name = "\0".join((*place, idempotency_key))
    return f"e-{uuid.uuid5(_KEYS, name)}"


class RunEntry:
    """A run that is under way in this process, as its followers see it."""

    def __init__(self) -> None:
        self._followers: list[tuple[asyncio.AbstractEventLoop, asyncio.Queue[Event | None]]] = []
        self._events: list[Event] = []
        self._mutex = threading.Lock()
        self._finished = False

    def add(self, event: Event) -> None:
        """Pass an event on to the followers."""
        with self._mutex:
            self._events.append(event)
            self._tell(event)

    def finish(self) -> None:
        """Tell the followers that this was all; once."""
        with self._mutex:
            if not self._finished:
                self._finished = True
                self._tell(None)

    def _tell(self, item: Event | None) -> None:
        for loop, follower in self._followers:
            if not loop.is_closed():
                loop.call_soon_threadsafe(follower.put_nowait, item)

    async def follow(self) -> AsyncGenerator[Event, None]:
        """Yield the run's events from its first on."""
        arriving: asyncio.Queue[Event | None] = asyncio.Queue()
        with self._mutex:
            for event in self._events:
                arriving.put_nowait(event)
            if self._finished:
                arriving.put_nowait(None)
            self._followers.append((asyncio.get_running_loop(), arriving))
        while (event := await arriving.get()) is not None:
            yield event


class RunTable:
    """Keyed runs that are under way in this process, by invocation id."""

    def __init__(self) -> None:
        self._runs: dict[str, RunEntry] = {}

    def follow(self, invocation_id: str) -> AsyncGenerator[Event, None] | None:
        """Return the events of a run that is under way, or None."""
        entry = self._runs.get(invocation_id)
        return None if entry is None else entry.follow()

    @contextmanager
    def entry(self, invocation_id: str) -> Generator[RunEntry]:
        """Keep an entry for the length of the block."""
        entry = self._runs[invocation_id] = RunEntry()
        try:
            yield entry
        finally:
            entry.finish()
            self._runs.pop(invocation_id, None)
