"""Deliveries: the invocations that an engine runs in this process, each with its outcome logged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .._log import CURRENT, RunLabel, get_logger, outage_log_of
from ..errors import StoreError
from ..execution.recovery.backlog import Backlog
from ..sessions.store.durable_store import Place
from .work_poller import Found

logger = get_logger(__name__)


class Deliveries:
    """Tasks that run delivered work.

    Args:
      backlog: runs an invocation, unless it is done.
      ended: called when a task has ended.

    Attributes:
      failed: how many invocations have failed or were parked.
    """

    def __init__(self, backlog: Backlog, ended: Callable[[], None]) -> None:
        self._backlog = backlog
        self._ended = ended
        self._tasks: dict[asyncio.Task[None], Place] = {}
        self.failed = 0

    def __len__(self) -> int:
        return len(self._tasks)

    def places(self) -> frozenset[Place]:
        """Return the sessions with a running task."""
        return frozenset(self._tasks.values())

    def begin(self, found: Found) -> asyncio.Task[None]:
        """Start a task for an invocation; the task raises nothing."""
        task = asyncio.create_task(
            self._run_delivery(found), name=f"ostinato-{found.invocation_id}"
        )
        self._tasks[task] = found.place
        task.add_done_callback(self._forget_task)
        return task

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._ended()

    async def _run_delivery(self, found: Found) -> None:
        place, name = found.place, found.invocation_id
        ended = False
        CURRENT.set(RunLabel(place, name))  # for the lines of this task
        logger.info("started %s in session %s", name, place.session_id)
        try:
            done = await self._backlog.ensure(place, name)
            ended = not any(one.outcome == "handed over" for one in done)
            self.failed += sum(one.outcome in ("failed", "stuck") for one in done)
            for one in done:
                logger.info(
                    "%s %s in session %s, %.3f s%s",
                    one.outcome,
                    one.invocation_id,
                    place.session_id,
                    one.seconds,
                    f": {one.reason}" if one.reason else "",
                )
        except StoreError as error:
            outage_log_of(self._backlog.store).note_failure(error)
            logger.warning("%s is left to another owner: the store does not answer", name)
        except Exception:  # boundary: a failure in one session must not end the worker
            self.failed += 1
            logger.exception("%s is left to another owner.", name)
        finally:
            if not ended and not found.token:
                await self._give_back(found)

    async def _give_back(self, found: Found) -> None:
        try:
            await self._backlog.give_back(found.place, found.invocation_id)
        except StoreError as error:
            logger.warning("Failed to return a message; its lease expires: %s", error)

    async def end(self) -> None:
        """Hand over the running invocations, and wait until that is done."""
        if not self._tasks:
            return
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
