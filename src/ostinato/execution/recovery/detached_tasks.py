"""DetachedTasks: tasks that outlive the request that started them.

A request recovers abandoned work in its session; cancelling the request does not cancel that work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ..._log import get_logger
from ...durable.run_scope import SessionKey
from ...durable.session_locks import SESSION_LOCKS
from ...errors import StoreError

logger = get_logger(__name__)


class DetachedTasks:
    """Tasks that continue without a caller."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run_detached(self, key: SessionKey, work: Coroutine[Any, Any, Any]) -> None:
        """Run work in a task of its own and wait for it; it survives the caller's cancellation.

        The session is released once both the caller and the work have released it.

        Args:
          key: the session, which the caller holds.
          work: the work.
        """
        task = asyncio.create_task(work, name="ostinato-left-open")
        number = SESSION_LOCKS.share(key)
        task.add_done_callback(lambda _: SESSION_LOCKS.release(key, number))
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            self._tasks.add(task)
            task.add_done_callback(self._forget_task)
            raise
        task.result()

    def _forget_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StoreError):
            logger.warning("An abandoned invocation is left to another owner: %s", error)
        elif error is not None:
            logger.error("Failed to resume an abandoned invocation.", exc_info=error)

    async def end(self) -> None:
        """Cancel the tasks of this event loop, and wait until they have ended.

        Other loops cancel their tasks when they end.
        """
        loop = asyncio.get_running_loop()
        tasks = [task for task in self._tasks if task.get_loop() is loop]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
