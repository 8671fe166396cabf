"""Worker threads for tools that are plain functions, so that they do not block the event loop.

`concurrent.futures` does not fit: it joins its threads when the process ends, and never replaces
a thread that hangs.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from ..._log import get_logger

POOL_SIZE = 40
GRACE_SECONDS = 1.0
PATIENCE_SECONDS = 30.0

logger = get_logger(__name__)

State = Literal["queued", "running", "ended", "abandoned"]


class CallTimeout(TimeoutError):
    """A call was given up because its time was over; not a TimeoutError of the call's own."""


class _Job:
    """One call, made by the event loop and run by a worker; `settle` brings it back to the loop."""

    __slots__ = (
        "alarm",
        "call",
        "context",
        "error",
        "loop",
        "name",
        "result",
        "settled",
        "state",
        "waiter",
    )

    def __init__(self, call: Callable[[], Any], name: str) -> None:
        self.call = call
        self.name = name
        self.context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.waiter: asyncio.Future[Any] = self.loop.create_future()
        self.alarm: asyncio.TimerHandle | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.state: State = "queued"  # guarded by the pool's lock

    def run(self) -> None:
        """Call the function, in the worker."""
        try:
            self.result = self.context.run(self.call)
        except StopIteration as error:
            # A future cannot hold StopIteration; generators turn it into this too (PEP 479).
            self.error = RuntimeError("function raised StopIteration")
            self.error.__cause__ = error
        except GeneratorExit as error:
            # Raised alone, it would close the generators that wait; a group does not.
            self.error = BaseExceptionGroup("raised in a thread", [error])
        except BaseException as error:  # boundary: the caller that awaits the result gets it
            self.error = error
        try:
            self.loop.call_soon_threadsafe(self.settle)
        except RuntimeError:
            # The loop is closed, so no caller waits any more.
            self.error = None

    def settle(self) -> None:
        """Give the outcome to the waiting caller, in the loop."""
        error, self.error = self.error, None
        self.settled = True
        if self.waiter.done():
            return
        if error is not None:
            self.waiter.set_exception(error)
        else:
            self.waiter.set_result(self.result)


class WorkerPool:
    """At most `size` daemon threads, started when they are needed.

    Args:
      size: calls that run at one time; further ones wait their turn.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._outstanding = 0
        self._running: set[_Job] = set()

    async def run(
        self,
        call: Callable[[], Any],
        *,
        name: str = "",
        seconds: float | None = None,
        grace: float | None = None,
    ) -> Any:
        """Run `call` in a worker with the context variables of the caller, and wait for it.

        A thread cannot be killed: one that runs too long is abandoned, and its place in the pool
        is given to a new one.

        Args:
          call: what to run.
          name: name of the tool, for the warning that all threads are blocked.
          seconds: how long to wait for it, its turn included; None waits for ever.
          grace: seconds to wait for a running call when the caller is cancelled; GRACE_SECONDS
            where None.

        Raises:
          CallTimeout: it took longer than `seconds`.
        """
        job = _Job(call, name)
        if self._submit(job):
            self._warn_later(job)
        scope = None if seconds is None else asyncio.timeout(seconds)
        try:
            if scope is None:
                return await job.waiter
            async with scope:
                return await job.waiter
        except TimeoutError as error:
            if scope is None or not scope.expired():
                raise
            self._abandon(job)
            raise CallTimeout(f"took longer than {seconds} s") from error
        except asyncio.CancelledError:
            await self._outlast(job, GRACE_SECONDS if grace is None else grace)
            raise
        finally:
            if job.alarm is not None:
                job.alarm.cancel()

    def _warn_later(self, job: _Job) -> None:
        job.alarm = job.loop.call_later(PATIENCE_SECONDS, self._warn_of_blocked, job)

    def _warn_of_blocked(self, job: _Job) -> None:
        """Warn that a call still waits for a thread, and name the tools that hold them all."""
        with self._lock:
            if job.state != "queued":
                return
            names = Counter(running.name or "a function" for running in self._running)
        if names.total() < self._size:  # a thread is about to take a call, on a machine under load
            self._warn_later(job)
            return
        blocking = ", ".join(f"{name} ({count})" for name, count in sorted(names.items()))
        logger.warning(
            "Tool %r has waited %g s for a worker thread: all %d are busy with calls of %s. Give "
            "functions that may block a timeout, FunctionTool(func, timeout=seconds), or make "
            "them coroutine functions.",
            job.name,
            PATIENCE_SECONDS,
            self._size,
            blocking,
        )

    async def _outlast(self, job: _Job, grace: float) -> None:
        """Give a running call the time to end, then abandon it."""
        try:
            if job.state == "running" and not job.settled:
                job.waiter = job.loop.create_future()
                await asyncio.wait((job.waiter,), timeout=grace)
        finally:
            # No caller reads the outcome any more, and asyncio must not report it as lost.
            if not job.waiter.cancel() and not job.waiter.cancelled():
                job.waiter.exception()
            self._abandon(job)

    def _submit(self, job: _Job) -> bool:
        """Queue a job; return whether all threads are taken."""
        with self._lock:
            self._outstanding += 1
            self._jobs.put(job)
            self._start_worker_if_needed()
            return self._outstanding > self._size

    def _abandon(self, job: _Job) -> None:
        """Give up a job and the thread that runs it, unless it has ended."""
        with self._lock:
            if job.state in ("ended", "abandoned"):
                return
            was_running = job.state == "running"
            job.state = "abandoned"
            self._outstanding -= 1
            if was_running:
                self._running.discard(job)
                self._threads -= 1
                self._start_worker_if_needed()

    def _start_worker_if_needed(self) -> None:
        if self._threads < min(self._size, self._outstanding):
            self._threads += 1
            threading.Thread(target=self._work, name="ostinato-tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if not self._advance(job, "queued", "running"):
                continue
            job.run()
            if not self._advance(job, "running", "ended"):
                return  # abandoned meanwhile, and another thread has taken this one's place
            del job

    def _advance(self, job: _Job, before: State, after: State) -> bool:
        """Move a job from one state to another; return False if it was abandoned."""
        with self._lock:
            if job.state != before:
                return False
            job.state = after
            if after == "running":
                self._running.add(job)
            if after == "ended":
                self._running.discard(job)
                self._outstanding -= 1
            return True


_pools: dict[int, WorkerPool] = {}


def pool_of(size: int = POOL_SIZE) -> WorkerPool:
    """Return this process's pool of `size` threads, made when it is first asked for."""
    pool = _pools.get(size)
    if pool is None:
        pool = _pools.setdefault(size, WorkerPool(size))
    return pool


# A forked child has none of its parent's threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)
