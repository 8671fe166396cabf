"""Run: the handle of an invocation in the background; and the runs that others may follow."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from .._aclosing import Aclosing
from ..events.event import Event
from ..sessions.session import Session, log_of


@dataclass(slots=True)
class Usage:
    """Sums over an invocation.

    Attributes:
      llm_calls: complete responses of models.
      tool_calls: responses of tools.
      input_tokens, output_tokens, total_tokens: as the models reported them.
    """

    llm_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    def count(self, event: Event) -> None:
        """Add an event."""
        if event.partial:
            return
        self.tool_calls += len(event.get_function_responses()) if event.author != "user" else 0
        content = event.content
        if content is not None and content.role == "model":
            self.llm_calls += 1
        usage = event.usage_metadata
        if usage is not None:
            self.input_tokens += usage.prompt_token_count or 0
            self.output_tokens += usage.candidates_token_count or 0
            self.total_tokens += usage.total_token_count or 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of an invocation.

    Attributes:
      events: all events that were yielded, partial ones left out.
      text: text of the last final response; empty where there is none.
      usage: sums over the invocation.
    """

    events: list[Event]
    text: str
    usage: Usage


class Run:
    """An invocation that runs in the background (FEATURES E.3).

    Iterate it for its events, from the first on and as often as needed, or await `result()`.
    """

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self._events: list[Event] = []
        self._news = asyncio.Condition()
        self._done = False
        self._source = events
        self.usage = Usage()
        self._task = asyncio.create_task(self._drive(), name="ostinato-run")

    async def _drive(self) -> None:
        try:
            async with Aclosing(self._source) as events:
                async for event in events:
                    self._events.append(event)
                    self.usage.count(event)
                    async with self._news:
                        self._news.notify_all()
        finally:
            self._done = True
            async with self._news:
                self._news.notify_all()

    async def __aiter__(self) -> AsyncIterator[Event]:
        seen = 0
        while True:
            while seen < len(self._events):
                yield self._events[seen]
                seen += 1
            if self._done:
                break
            async with self._news:
                await self._news.wait_for(lambda seen=seen: seen < len(self._events) or self._done)
        await asyncio.shield(self._task)

    async def result(self) -> RunResult:
        """Wait for the end of the run.

        Raises:
          Exception: what ended the run.
        """
        await asyncio.shield(self._task)
        complete = [e for e in self._events if not e.partial]
        return RunResult(complete, _last_text(complete), self.usage)


def _last_text(events: list[Event]) -> str:
    for event in reversed(events):
        if event.is_final_response() and event.content is not None and event.content.parts:
            text = "".join(p.text for p in event.content.parts if p.text and not p.thought)
            if text:
                return text
    return ""


async def stored_events(session: Session, invocation_id: str) -> AsyncGenerator[Event, None]:
    """Yield the stored events of an invocation, oldest first, without the user's."""
    for record in reversed(list(log_of(session).invocation(invocation_id))):
        if record.author != "user":
            yield record.event()


def keyed_invocation_id(place: tuple[str, str, str], idempotency_key: str) -> str:
    """Return the invocation id that a request's key stands for, always the same in one session."""
    digest = hashlib.sha256("\0".join((*place, idempotency_key)).encode()).hexdigest()
    return f"e-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


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
