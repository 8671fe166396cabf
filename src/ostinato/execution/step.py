"""Step: a block of a turn that a stop interrupts, from any thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any, Protocol

from .._shielded import run_shielded
from ..errors import CallerError

_DEAF_SECONDS = 30.0  # a loop that has not handled a stop by then is blocked or dead
_now = time.monotonic


class Ending(Protocol):
    """Ends a turn without its caller."""

    def __call__(self) -> Coroutine[Any, Any, None]:
        """Seal the run and release its session."""
        ...

    def end_elsewhere(self, *, seal: bool) -> None:
        """End the turn although its event loop does not run."""
        ...


class Step:
    """A block that a stop interrupts; it then raises the reason of the stop.

    One object marks any number of blocks of its turn, one after another.

    Attributes:
      reason: the reason of the stop, or None.
      end_at_yield: ends a turn that is stopped between two blocks, at a `yield`, because its caller
        may never return. None if it cannot be ended so.
      ending: the task of `end_at_yield`, or None.
      yields: how often it has waited at a `yield`.
      is_loop_stalled: whether its event loop did not run at the stop, so that the turn was ended
        without it.
      is_abandoned: whether the turn is handed over for that reason, instead of sealed.
    """

    __slots__ = (
        "_before",
        "_cut",
        "_cutting",
        "_heard",
        "_loop",
        "_mutex",
        "_stopped",
        "_task",
        "end_at_yield",
        "ending",
        "is_abandoned",
        "is_loop_stalled",
        "reason",
        "yields",
    )

    def __init__(self) -> None:
        self.end_at_yield: Ending | None = None
        self.ending: asyncio.Task[None] | None = None
        self.yields = 0
        self.reason: CallerError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None
        self._before = 0
        self._cut = self._cutting = self._heard = False
        self._stopped = 0.0
        self.is_loop_stalled = self.is_abandoned = False
        self._mutex = threading.Lock()

    @property
    def is_orphaned(self) -> bool:
        """Whether the event loop is closed or ignores a stop, or the turn was abandoned."""
        if self.is_abandoned or self._loop is None:
            return self.is_abandoned
        deaf = self.reason is not None and not self._heard
        return self._loop.is_closed() or (deaf and _now() - self._stopped > _DEAF_SECONDS)

    @property
    def is_ended_elsewhere(self) -> bool:
        """Whether the turn was ended without its event loop and this code runs in that loop."""
        return self.is_loop_stalled and asyncio.get_running_loop() is self._loop

    @property
    def is_suspended(self) -> bool:
        """Whether the turn waits at a `yield` for its caller."""
        return self._task is None and self.end_at_yield is not None

    def stop(self, reason: CallerError, *, end_here: bool = False) -> None:
        """Cancel the task in the block, now or at the next one.

        If its event loop does not run, end the turn without it.
        """
        with self._mutex:
            loop, end = self._loop, self.end_at_yield
            stands_still = not (loop is None or loop.is_running() or loop.is_closed())
            left = stands_still and end is not None and not self.is_loop_stalled
            if self.reason is not None and not left:
                return
            if self.reason is None:
                self.reason, self._stopped = reason, _now()
            if left:
                self.is_loop_stalled, self.is_abandoned = True, not end_here
        if left and end is not None:
            end.end_elsewhere(seal=end_here)
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._cut_in)
            except RuntimeError:  # that loop is closed, and so is the run
                return

    def _cut_in(self) -> None:
        """Cancel the task once; called in its event loop."""
        self._heard = True
        if self._task is None and self.end_at_yield is not None:
            if self.ending is None:
                self.ending = asyncio.ensure_future(self.end_at_yield())
        elif self._task is not None and not self._cut:
            self._cut = self._cutting = True
            self._before = self._task.cancelling()
            self._task.cancel()

    async def wait_for_ending(self) -> None:
        """Wait until the turn has ended, if another task is ending it."""
        self.end_at_yield = None
        if self.ending is not None and not self.is_loop_stalled:
            await run_shielded(asyncio.wait((self.ending,)))

    def __enter__(self) -> None:
        if self.reason is not None:
            # Cancelling the task here would hit the code after a block that never awaits.
            raise self.reason
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(self._loop)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        task, self._task = self._task, None
        if not self._cutting or task is None:
            return
        self._cutting = False
        others = task.uncancel() > self._before  # another cancellation of the task
        if isinstance(error, asyncio.CancelledError) and self.reason is not None and not others:
            raise self.reason from None
