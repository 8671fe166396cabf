"""RunTable: runs with an idempotency key in this process, and their followers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import IdempotencyKeyReusedError, RunCancelledError
from ..events.event import Event
from ..sessions.log.event_log import TASK_ANSWER, EventRecord
from ..sessions.session import Session, log_of
from ..sessions.store.keyed_requests import RequestDigests, check_repeated


class KeyHasEnded(Exception):
    """The run of a request's idempotency key has ended; its events are in the session."""

    def __init__(self, session: Session) -> None:
        super().__init__("The run of this key has ended.")
        self.session = session


async def stored_events(
    session: Session, invocation_id: str, *, newest: bool = False
) -> AsyncGenerator[Event, None]:
    """Yield the stored events of an invocation, oldest first, without the user's.

    Args:
      session: the session.
      invocation_id: the invocation.
      newest: only those after the user's newest message.

    Raises:
      RunCancelledError: it was cancelled, and has an idempotency key.
    """
    records: list[EventRecord] = []
    for record in log_of(session).invocation(invocation_id):
        if record.author != "user" or record.kinds & TASK_ANSWER:
            records.append(record)
        elif newest:
            break
    for record in reversed(records):
        event = record.event()
        if record is records[0] and event.error_code == RunCancelledError.__name__:
            raise RunCancelledError(event.error_message or "")
        yield event


class _Follower(NamedTuple):
    """A request that follows the run of an earlier request with the same key."""

    request: object
    loop: asyncio.AbstractEventLoop
    arriving: asyncio.Queue[Event | Exception | None]


class RunEntry:
    """A running invocation of this process and its followers.

    Args:
      digests: what tells its request from another one under its key.
    """

    def __init__(self, digests: RequestDigests | None = None) -> None:
        self._digests = digests
        self._followers: list[_Follower] = []
        self._events: list[Event] = []
        self._mutex = threading.Lock()
        self._finished = False
        self._error: Exception | None = None

    def is_same(self, digests: RequestDigests | None) -> bool:
        """Return whether a request under its key is the same."""
        if self._digests is None:
            return True
        try:
            check_repeated(self._digests, digests)
        except IdempotencyKeyReusedError:
            return False
        return True

    def add(self, event: Event) -> None:
        """Pass an event on to the followers."""
        with self._mutex:
            self._events.append(event)
            self._send_to_followers(event)

    def finish(self, error: BaseException | None = None) -> None:
        """End the followers' streams, once.

        Args:
          error: what ended the run; the followers raise it unless its event is already recorded.
        """
        with self._mutex:
            if self._finished:
                return
            self._finished = True
            if error is not None and not (self._events and self._events[-1].error_code):
                self._error = (
                    error
                    if isinstance(error, Exception)
                    else RunCancelledError("The first request under this key was cancelled.")
                )
            self._send_to_followers(self._error)

    def _send_to_followers(self, item: Event | Exception | None) -> None:
        for follower in self._followers:
            if not follower.loop.is_closed():
                follower.loop.call_soon_threadsafe(follower.arriving.put_nowait, item)

    def leave(self, request: object, reason: Exception) -> bool:
        """Detach a follower with a reason; the run continues.

        Returns:
          Whether the request followed this run.
        """
        with self._mutex:
            for follower in self._followers:
                if follower.request is request:
                    follower.loop.call_soon_threadsafe(follower.arriving.put_nowait, reason)
                    return True
        return False

    @property
    def is_followed(self) -> bool:
        """Whether other requests wait for the run's events."""
        with self._mutex:
            return any(not one.loop.is_closed() for one in self._followers)

    async def follow(self, request: object) -> AsyncGenerator[Event, None]:
        """Yield the run's events from its first on, to a request."""
        arriving: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        follower = _Follower(request, asyncio.get_running_loop(), arriving)
        with self._mutex:
            for event in self._events:
                arriving.put_nowait(event)
            if self._finished:
                arriving.put_nowait(self._error)
            self._followers.append(follower)
        try:
            while (event := await arriving.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            with self._mutex:
                self._followers.remove(follower)


class RunTable:
    """Keyed runs of this process by invocation id."""

    def __init__(self) -> None:
        self._runs: dict[str, RunEntry] = {}

    def find(self, invocation_id: str) -> RunEntry | None:
        """Return a running invocation, or None."""
        return self._runs.get(invocation_id)

    @contextmanager
    def entry(
        self, invocation_id: str, digests: RequestDigests | None = None
    ) -> Generator[RunEntry]:
        """Keep an entry for the length of the block, unless another request has one."""
        entry = RunEntry(digests)
        kept = self._runs.setdefault(invocation_id, entry)
        try:
            yield entry
        except BaseException as error:  # boundary: the followers get the error, too
            entry.finish(error)
            raise
        finally:
            entry.finish()
            if kept is entry:
                self._runs.pop(invocation_id, None)
