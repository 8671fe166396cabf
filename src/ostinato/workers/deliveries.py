"""Deliveries: the invocations that an engine runs in this process, with a line in the log for what
became of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .._log import get_logger
from ..errors import StoreError
from ..running.backlog import Backlog
from ..sessions._durable_store import Place
from .lookout import Found

logger = get_logger(__name__)


class Deliveries:
    """Tasks that run what was found, in the event loop that begins them.

    Args:
      backlog: what runs an invocation, unless that has been done.
      ended: called when one has ended.

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
        """Return the sessions in which something runs."""
        return frozenset(self._tasks.values())

    def begin(self, found: Found) -> asyncio.Task[None]:
        """Run what was found; the task raises nothing."""
        task = asyncio.create_task(self._run(found), name=f"ostinato-{found.invocation_id}")
        self._tasks[task] = found.place
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._ended()

    async def _run(self, found: Found) -> None:
        place, name = found.place, found.invocation_id
        ended = False
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
            logger.warning("%s is left to others: %s", name, error)
        except Exception:  # boundary: one session's trouble is not to end the others' worker
            self.failed += 1
            logger.exception("%s is left to others.", name)
        finally:
            if not ended and not found.token:
                await self._give_back(found)

    async def _give_back(self, found: Found) -> None:
        try:
            await self._backlog.give_back(found.place, found.invocation_id)
        except StoreError as error:
            logger.warning("A message was not given back, it is free in a while: %s", error)

    async def end(self) -> None:
        """Hand over what still runs, and wait until that is done."""
        if not self._tasks:
            return
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
