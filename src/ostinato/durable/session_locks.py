"""One invocation at a time per session: a lock within this process.

The runner holds it for the length of an invocation. It works across event loops and threads,
because `Runner.run` drives each call in a loop of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from .running import SessionKey, is_inside

# Turns of the event loop within which it begins to close a generator that nobody holds any more.
_TURNS_TO_CLOSE = 5


class _Hold:
    """One holder of a session, and those who wait for it."""

    __slots__ = ("closing", "holders", "task", "waiters")

    def __init__(self, task: asyncio.Task[object] | None) -> None:
        self.task = task
        self.holders = 1
        self.closing = False
        # A list: an empty deque weighs 760 bytes, and most sessions have nobody waiting.
        self.waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []


class SessionLocks:
    """Locks by session, first come first served.

    A run that is started within another run of the same session, by a tool or by the one who
    iterates it,
    does not wait: it would wait for itself.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._holds: dict[SessionKey, _Hold] = {}

    @asynccontextmanager
    async def held(self, key: SessionKey) -> AsyncGenerator[None]:
        """Hold a session for the length of the block; see `acquire`."""
        if not await self.acquire(key):
            yield
            return
        try:
            yield
        finally:
            self.release(key)

    def closing(self, key: SessionKey) -> None:
        """Note that the holder is about to end, so that nobody is taken to run within it."""
        with self._mutex:
            hold = self._holds.get(key)
            if hold is not None:
                hold.closing = True

    async def acquire(
        self, key: SessionKey, queued: Callable[[], Awaitable[None]] | None = None
    ) -> bool:
        """Take a session; wait for whoever holds it now.

        Args:
          key: the session.
          queued: called once where the session is taken, with a place in the queue; what it raises
            gives that place up.

        Returns:
          Whether it was taken, and is to be released; False within a run that holds it already.
        """
        task = asyncio.current_task()
        for turn in range(_TURNS_TO_CLOSE + 1):
            with self._mutex:
                hold = self._holds.get(key)
                if hold is None:
                    self._holds[key] = _Hold(task)
                    return True
                ours = not hold.closing and task is not None and hold.task is task
                if is_inside(key) or (ours and turn == _TURNS_TO_CLOSE):
                    return False
            if not ours:
                break
            # This task may have left its loop over the other run; the event loop closes it then.
            await asyncio.sleep(0)
        return await self._wait(key, task, queued)

    async def _wait(
        self,
        key: SessionKey,
        task: asyncio.Task[object] | None,
        queued: Callable[[], Awaitable[None]] | None,
    ) -> bool:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        with self._mutex:
            hold = self._holds.get(key)
            if hold is None:
                self._holds[key] = _Hold(task)
                return True
            hold.waiters.append((loop, waiter))
        try:
            if queued is not None:
                await queued()
            await waiter
        except (asyncio.CancelledError, Exception):  # boundary: whoever takes no turn gives it up
            self._give_up(key, waiter)
            raise
        hold.task, hold.closing = task, False
        return True

    def _give_up(self, key: SessionKey, waiter: asyncio.Future[None]) -> None:
        """Stop waiting; hand the session on where it was given just now."""
        with self._mutex:
            hold = self._holds.get(key)
            if hold is not None:
                for item in hold.waiters:
                    if item[1] is waiter:
                        hold.waiters.remove(item)
                        return
        self.release(key)

    def share(self, key: SessionKey) -> None:
        """Hold a session together with its holder, until both have released it."""
        with self._mutex:
            self._holds[key].holders += 1

    def release(self, key: SessionKey) -> None:
        """Give the session to the next one who waits, once nobody holds it any more."""
        with self._mutex:
            hold = self._holds[key]
            hold.task = None
            hold.holders -= 1
            if hold.holders:
                return
            hold.holders = 1
            while hold.waiters:
                loop, waiter = hold.waiters.pop(0)
                try:
                    loop.call_soon_threadsafe(_wake, waiter)
                except RuntimeError:
                    continue  # that loop was closed while its task waited
                return
            del self._holds[key]


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


# All runners of a process share it, so that two runners on one store see each other.
SESSION_LOCKS = SessionLocks()
