"""Session locks: one invocation at a time per session within this process.

They work across event loops and threads, because `Runner.run` has an event loop per call.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from .run_scope import SessionKey, is_inside

# Event loop iterations in which it starts to close an unreferenced generator; each generator
# around it takes three.
_TURNS_TO_CLOSE = 25
_LOOK_SECONDS = 1.0  # between checks of a waiting request for an orphaned holder

_numbers = itertools.count(1)


class _Hold:
    """The holder of a session lock, and its waiters.

    `number` identifies the holder; `loop` is the holder's, or that of the waiter that the lock was
    passed to and that has not run since.
    """

    __slots__ = ("closing", "holders", "loop", "number", "task", "waiters")

    def __init__(self, task: asyncio.Task[object] | None) -> None:
        self.task = task
        self.loop = None if task is None else task.get_loop()
        self.number = next(_numbers)
        self.holders = 1
        self.closing = False
        # A list: an empty deque takes 760 bytes, and most sessions have no waiter.
        self.waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    @property
    def is_orphaned(self) -> bool:
        """Whether the holder's event loop is closed, so that it never releases the lock."""
        return self.loop is not None and self.loop.is_closed()

    def is_held_by(self, task: asyncio.Task[object] | None) -> bool:
        """Return whether a task holds it and is not about to release it."""
        return not self.closing and task is not None and self.task is task


class SessionLocks:
    """Locks by session, first come, first served.

    A run that a tool, agent or callback starts within a run of the same session does not wait: that
    would be a deadlock.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._holds: dict[SessionKey, _Hold] = {}

    def is_held_by_current_task(self, key: SessionKey) -> bool:
        """Return whether the current task would deadlock by waiting for a session.

        It holds the session itself, as a caller that has read only some of a run's events.
        """
        with self._mutex:
            hold = self._holds.get(key)
            return hold is not None and hold.is_held_by(asyncio.current_task())

    @asynccontextmanager
    async def hold_session(self, key: SessionKey) -> AsyncGenerator[None]:
        """Hold a session for the length of the block; see `acquire`."""
        number = await self.acquire(key)
        if not number:
            yield
            return
        try:
            yield
        finally:
            self.release(key, number)

    def closing(self, key: SessionKey, number: int) -> None:
        """Mark a holder as about to release, so that no request counts as nested in it."""
        with self._mutex:
            hold = self._holds.get(key)
            if hold is not None and hold.number == number:
                hold.closing = True

    async def acquire(
        self, key: SessionKey, queued: Callable[[], Awaitable[None]] | None = None
    ) -> int:
        """Lock a session; wait for its holder, unless the holder's event loop is closed.

        Args:
          key: the session.
          queued: called once if the session is locked, after joining the queue; an error leaves the
            queue.

        Returns:
          The number to release it with; 0 within a run that already holds it.
        """
        task = asyncio.current_task()
        for turn in range(_TURNS_TO_CLOSE + 1):
            with self._mutex:
                hold = self._holds.get(key)
                if hold is not None and hold.is_orphaned:
                    self._pass_on(key, hold)
                    hold = self._holds.get(key)
                if hold is None:
                    hold = self._holds[key] = _Hold(task)
                    return hold.number
                if is_inside(key):
                    return 0
                ours = hold.is_held_by(task)
            if not ours or turn == _TURNS_TO_CLOSE:
                break
            # This task may have left its loop over the other run; the event loop closes that.
            await asyncio.sleep(0)
        return await self._wait_for_lock(key, task, queued)

    async def _wait_for_lock(
        self,
        key: SessionKey,
        task: asyncio.Task[object] | None,
        queued: Callable[[], Awaitable[None]] | None,
    ) -> int:
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        with self._mutex:
            hold = self._holds.get(key)
            if hold is None:
                hold = self._holds[key] = _Hold(task)
                return hold.number
            hold.waiters.append((loop, waiter))
        try:
            if queued is not None:
                await queued()
            while not waiter.done():
                await asyncio.wait((waiter,), timeout=_LOOK_SECONDS)
                self._drop_orphan(key)
        except (
            asyncio.CancelledError,
            Exception,
        ):  # boundary: a waiter that fails leaves the queue
            self._give_up(key, waiter)
            raise
        hold.task, hold.closing = task, False
        return hold.number

    def _drop_orphan(self, key: SessionKey) -> None:
        """Pass on a lock whose holder can never release it."""
        with self._mutex:
            hold = self._holds.get(key)
            if hold is not None and hold.is_orphaned:
                self._pass_on(key, hold)

    def _give_up(self, key: SessionKey, waiter: asyncio.Future[None]) -> None:
        """Leave the queue; pass the lock on if it was granted meanwhile."""
        with self._mutex:
            hold = self._holds.get(key)
            if hold is not None:
                for item in hold.waiters:
                    if item[1] is waiter:
                        hold.waiters.remove(item)
                        return
                self._pass_on(key, hold)

    def share(self, key: SessionKey) -> int:
        """Share a lock with its holder, until both have released it.

        Returns:
          The number to release it with.
        """
        with self._mutex:
            hold = self._holds[key]
            hold.holders += 1
            return hold.number

    def release(self, key: SessionKey, number: int) -> None:
        """Release a lock; pass it to the next waiter once all its holders have.

        Args:
          key: the session.
          number: the result of `acquire` or `share`; ignored if the lock was passed on since.
        """
        with self._mutex:
            hold = self._holds.get(key)
            if hold is None or hold.number != number:
                return
            hold.task = None
            hold.holders -= 1
            if not hold.holders:
                self._pass_on(key, hold)

    def abandon(self, key: SessionKey, number: int) -> None:
        """Pass on a lock whose holders cannot release it; thread-safe.

        Args:
          key: the session.
          number: the result of `acquire`; ignored if the lock was passed on since.
        """
        with self._mutex:
            hold = self._holds.get(key)
            if hold is not None and hold.number == number:
                self._pass_on(key, hold)

    def _pass_on(self, key: SessionKey, hold: _Hold) -> None:
        """Pass a lock to the next waiter, with or without a holder; call it with the mutex held."""
        hold.task, hold.holders, hold.number = None, 1, next(_numbers)
        while hold.waiters:
            loop, waiter = hold.waiters.pop(0)
            try:
                loop.call_soon_threadsafe(_wake_waiter, waiter)
            except RuntimeError:
                continue  # that loop was closed while its task waited
            hold.loop = loop
            return
        del self._holds[key]


def _wake_waiter(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


# All runners of a process share it, so that two runners on one store see each other.
SESSION_LOCKS = SessionLocks()
