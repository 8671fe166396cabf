"""Unattended: work that goes on when the caller for whose sake it was begun goes away. The runner
keeps one: a request has what a dead owner left in its session finished, and may not take it along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from .._log import get_logger
from ..durable.running import SessionKey
from ..durable.session_locks import SESSION_LOCKS

logger = get_logger(__name__)


class Unattended:
    """Tasks whose callers have gone."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def see_through(self, key: SessionKey, work: Coroutine[Any, Any, Any]) -> None:
        """Wait for work in a session; a caller who is cancelled leaves it running.

        The session is given on when both the caller and the work are done with it.

        Args:
          key: the session, which the caller holds.
          work: what runs, in a task of its own; to cancel that is to end it.
        """
        task = asyncio.create_task(work, name="ostinato-left-open")
        SESSION_LOCKS.share(key)
        task.add_done_callback(lambda _: SESSION_LOCKS.release(key))
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            self._tasks.add(task)
            task.add_done_callback(self._forget)
            raise
        task.result()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("What was left open could not be gone on with.", exc_info=error)

    async def end(self) -> None:
        """Cancel what still runs in this event loop, and wait until it has ended.

        Other loops cancel what is theirs when they end.
        """
        loop = asyncio.get_running_loop()
        tasks = [task for task in self._tasks if task.get_loop() is loop]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
