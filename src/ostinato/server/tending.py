"""Tending: a server's runs that no client waits for: what dead processes left open, and messages
that were submitted or whose caller is gone. It does what `ostinato worker` does, for each app.
"""

from __future__ import annotations

import asyncio

from .._log import get_logger
from ..errors import InputValidationError, NotFoundError, StoreError
from ..running.recovery import Recovered
from ..sessions._durable_store import DurableStore
from ..workers.pool import WorkerPool
from .agents import AgentFolder, ServedApp
from .problems import Problem

logger = get_logger(__name__)

_LOOK = 1.0  # seconds between two looks at which apps have been loaded
_AGAIN = 5.0  # seconds after which the store is asked again for what apps not yet loaded left
_CONCURRENCY = 10


class Tending:
    """Tends the apps of a folder until it is stopped.

    Args:
      agents: the apps.
      durable: the store of their sessions; None where no other process could have left anything.
      grace: seconds that what runs may go on after `stop`.
    """

    def __init__(self, agents: AgentFolder, durable: DurableStore | None, grace: float) -> None:
        self._agents = agents
        self._durable = durable if durable is not None and durable.shared else None
        self._grace = grace
        self._pools: dict[str, tuple[ServedApp, WorkerPool, asyncio.Task[None]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._broken: set[str] = (
            set()
        )  # apps that could not be loaded; who asks for one tries again

    def start(self) -> None:
        """Begin."""
        if self._durable is not None:
            self._task = asyncio.create_task(self._tend(self._durable), name="ostinato-tending")

    async def _tend(self, durable: DurableStore) -> None:
        clock = asyncio.get_running_loop().time
        next_look = 0.0
        while True:
            try:
                if clock() >= next_look:
                    next_look = clock() + _AGAIN
                    await self._load_those_left(durable)
            except StoreError as error:
                logger.warning("The store does not answer, trying again: %s", error)
            for app in self._agents.loaded():
                self._serve(app)
            await asyncio.sleep(_LOOK)

    async def _load_those_left(self, durable: DurableStore) -> None:
        """Load the apps for which there is something to do, and that nobody has asked for yet."""
        loaded = {app.name for app in self._agents.loaded()}
        for name in self._agents.folders().keys() - loaded - self._broken:
            if await durable.open_leases(name, limit=1) or await durable.waiting_places(
                name, limit=1
            ):
                try:
                    await self._agents.get(name)
                except (Problem, NotFoundError):  # it is in the log already
                    self._broken.add(name)

    def _serve(self, app: ServedApp) -> None:
        known = self._pools.get(app.name)
        if known is not None:
            if known[0] is app:
                return
            known[1].stop()  # it was loaded again
        try:
            pool = WorkerPool(app.runner, concurrency=_CONCURRENCY, grace_seconds=self._grace)
        except InputValidationError:
            return
        task = asyncio.create_task(self._work(app, pool), name=f"ostinato-tending-{app.name}")
        self._pools[app.name] = (app, pool, task)

    async def _work(self, app: ServedApp, pool: WorkerPool) -> None:
        while True:
            try:
                done: list[Recovered] = await app.runner.resume_open()
                for one in done:
                    logger.info("%s %s", one.outcome, one.invocation_id)
                await pool.serve()
                return
            except StoreError as error:
                logger.warning("The store does not answer, trying again: %s", error)
                await asyncio.sleep(_AGAIN)

    async def stop(self) -> None:
        """Look for nothing more, and wait for what runs as long as the grace time lasts."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        for _, pool, _ in self._pools.values():
            pool.stop()
        tasks = {task for _, _, task in self._pools.values()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._grace + _AGAIN)
            for task in late:
                task.cancel()

    def hurry(self) -> None:
        """Wait for nothing more."""
        for _, pool, _ in self._pools.values():
            pool.stop()
