"""BackgroundWorkers: detached runs of a server's apps, as `ostinato worker` would run them.

They resume abandoned invocations, and run queued messages for which no client waits.
"""

from __future__ import annotations

import asyncio

from .._log import get_logger, outage_log_of
from ..errors import InputValidationError, NotFoundError, StoreError
from ..execution.recovery.recovery import Recovered
from ..sessions.store.durable_store import DurableStore
from ..workers.pool import WorkerPool
from .agents import AgentFolder, ServedApp
from .problems import Problem

logger = get_logger(__name__)

_LOOK = 1.0  # seconds between two checks for newly loaded apps
_AGAIN = 5.0  # seconds between two queries for open work of apps that are not loaded
_CONCURRENCY = 10


class BackgroundWorkers:
    """Runs a worker pool for each app until it is stopped; does nothing without a shared store."""

    def __init__(self, agents: AgentFolder, durable: DurableStore | None, grace: float) -> None:
        self._agents = agents
        self._durable = durable if durable is not None and durable.shared else None
        self._grace = grace
        self._pools: dict[str, tuple[ServedApp, WorkerPool, asyncio.Task[None]]] = {}
        self._task: asyncio.Task[None] | None = None
        # Apps that could not be loaded; the next request for one tries again.
        self._broken: set[str] = set()

    def start(self) -> None:
        """Start the background task, if other processes can share the store."""
        if self._durable is not None:
            self._task = asyncio.create_task(
                self._start_pools(self._durable), name="ostinato-background"
            )

    async def _start_pools(self, durable: DurableStore) -> None:
        clock = asyncio.get_running_loop().time
        next_look, outage = 0.0, outage_log_of(durable)
        while True:  # until `stop` cancels the task; each round pauses
            try:
                if clock() >= next_look:
                    next_look = clock() + _AGAIN
                    await self._load_apps_with_work(durable)
                    outage.note_answer()
            except StoreError as error:
                outage.note_failure(error)
            for app in self._agents.loaded_apps():
                self._ensure_pool(app)
            await asyncio.sleep(_LOOK)

    async def _load_apps_with_work(self, durable: DurableStore) -> None:
        """Load the apps that have abandoned or queued work but no request yet."""
        loaded = {app.name for app in self._agents.loaded_apps()}
        for name in self._agents.list_folders().keys() - loaded - self._broken:
            if await durable.open_leases(name, limit=1) or await durable.waiting_places(
                name, limit=1
            ):
                try:
                    await self._agents.get_app(name)
                except (Problem, NotFoundError):  # already in the log
                    self._broken.add(name)

    def _ensure_pool(self, app: ServedApp) -> None:
        known = self._pools.get(app.name)
        if known is not None:
            if known[0] is app:
                return
            known[1].stop()  # the app was reloaded
        try:
            pool = WorkerPool(app.runner, concurrency=_CONCURRENCY, grace_seconds=self._grace)
        except InputValidationError:
            return
        task = asyncio.create_task(
            self._run_pool(app, pool), name=f"ostinato-background-{app.name}"
        )
        self._pools[app.name] = (app, pool, task)

    async def _run_pool(self, app: ServedApp, pool: WorkerPool) -> None:
        outage = outage_log_of(self._durable or self)
        while True:  # until the pool is stopped; each round pauses
            try:
                done: list[Recovered] = await app.runner.resume_open()
                outage.note_answer()
                for one in done:
                    logger.info("%s %s", one.outcome, one.invocation_id)
                await pool.serve()
                return
            except StoreError as error:
                outage.note_failure(error)
                await asyncio.sleep(_AGAIN)

    async def stop(self) -> None:
        """Stop polling, and wait for the runs in progress during the grace time."""
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

    def stop_now(self) -> None:
        """Stop without waiting for the grace time."""
        for _, pool, _ in self._pools.values():
            pool.stop()
