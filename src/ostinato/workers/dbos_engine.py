"""DBOSEngine: an engine with queues, limits and schedules, on DBOS in the sessions' PostgreSQL.

A workflow is an invocation with one step: the session's log alone records its progress. Messages
wait in the sessions' inboxes; the engine enqueues a workflow for each next message and for each
abandoned invocation. It uses the free parts of DBOS only.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .. import _clock, types
from .._log import get_logger, outage_log_of
from .._optional import need
from ..durable.inbox import Work
from ..errors import InputValidationError, StoreError
from ..runners import Runner
from ..sessions.store.durable_store import Place
from ..sessions.store.keyed_requests import keyed_invocation_id
from .deliveries import Deliveries
from .work_poller import Found, WorkPoller

logger = get_logger(__name__)

_APPLICATION = "ostinato"
_VERSION = "ostinato-1"  # of the workflow's arguments, shared by programs with other agents
_POLL = 0.25  # seconds between polls of DBOS's queue
_AGAIN = 10.0  # seconds until a workflow of a dead process is checked again
_AHEAD = 100  # workflows per poll at most


@dataclass(frozen=True, slots=True)
class Schedule:
    """A message sent at fixed times, once each for any number of processes.

    Attributes:
      name: unique name; a new schedule replaces an earlier one of its name.
      cron: when, as a cron expression of five fields, or six with seconds in front.
      user_id, session_id: the session it is for.
      message: the user's message.
      timezone: IANA name of the time zone of `cron`; None for UTC.
    """

    name: str
    cron: str
    user_id: str
    session_id: str
    message: str
    timezone: str | None = None


class DBOSEngine:
    """Runs queued and abandoned work in the store of a runner as DBOS workflows; an `Engine`.

    A process can have one, and no other use of DBOS.

    Args:
      runner: runs the app's agents; its sessions are in the same PostgreSQL.
      database_url: the session service's database URL.
      concurrency: how many invocations at once in this process.
      global_concurrency: how many at once in all processes; None for no limit.
      limit: how many invocations may start within how many seconds; None for no limit.
      schedules: recurring messages.
      grace_seconds: how long invocations may run after `stop`; the rest is handed over.

    Raises:
      InputValidationError: the database is not PostgreSQL, or `concurrency` is not positive.
      MissingExtraError: DBOS is not installed.
    """

    def __init__(
        self,
        runner: Runner,
        database_url: str,
        *,
        concurrency: int = 10,
        global_concurrency: int | None = None,
        limit: tuple[int, float] | None = None,
        schedules: Sequence[Schedule] = (),
        grace_seconds: float = 30.0,
    ) -> None:
        if concurrency < 1:
            raise InputValidationError(f"concurrency must be 1 or more, not {concurrency}.")
        scheme, _, rest = database_url.partition("://")
        if scheme.partition("+")[0] != "postgresql":
            raise InputValidationError(
                "The dbos engine needs sessions in PostgreSQL (postgresql+asyncpg://...); use the "
                "pool engine for other stores."
            )
        self._dbos: Any = need("dbos", extra="dbos")
        self._url = f"postgresql+psycopg://{rest}"
        self._backlog = runner.backlog()
        self._poller = WorkPoller(self._backlog, outage_log_of(self._backlog.store))
        self._deliveries = Deliveries(self._backlog, self._poller.wake)
        self._queue = f"ostinato:{self._backlog.app_name}"
        self._limits: dict[str, Any] = {
            "worker_concurrency": concurrency,
            "global_concurrency": global_concurrency,
            "limiter": None if limit is None else {"limit": limit[0], "period": limit[1]},
        }
        self._grace = grace_seconds
        self._workflow: Any = None
        self._executor = _clock.unique_id()
        self._schedules = schedules
        self._resumed: dict[str, float] = {}
        self._next_sweep = 0.0

    @property
    def failed(self) -> int:
        """How many invocations of this process failed or were parked."""
        return self._deliveries.failed

    async def submit(self, work: Work) -> str:
        """Accept a request; see `Engine`."""
        return await self._backlog.put(work)

    def stop(self) -> None:
        """End `serve`; see `Engine`."""
        self._poller.stop()

    async def serve(self, *, drain: bool = False) -> None:
        """Run work until `stop`; see `Engine`.

        Raises:
          StoreError: the store does not answer at the start, or during a drain.
        """
        await self._launch_dbos()
        poller, outage = self._poller, outage_log_of(self._backlog.store)
        poller.patient = not drain
        try:
            while not poller.stops:
                found = await poller.look(_AHEAD, self._deliveries.places())
                for one in found:
                    await self._enqueue_workflow(one)
                try:
                    await self._finish_orphans()
                    outage.note_answer()
                except StoreError as error:
                    if drain:
                        raise
                    outage.note_failure(error)
                if (
                    drain
                    and not found
                    and not len(self._deliveries)
                    and not await self._has_workflows()
                ):
                    return
                await poller.rest()
        finally:
            await self._shut_down()

    async def _launch_dbos(self) -> None:
        dbos, loop = self._dbos, asyncio.get_running_loop()
        dbos.DBOS(
            config={
                "name": _APPLICATION,
                "system_database_url": self._url,
                "executor_id": self._executor,
                "application_version": _VERSION,
                "log_level": "WARNING",
                "scheduler_polling_interval_sec": 1.0,
            }
        )

        async def here(work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
            # DBOS has its own event loop; agents and store run in this one.
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(*args), loop))

        async def invocation(place: list[str], invocation_id: str, token: int) -> None:
            step = {"name": "invocation"}
            found = Found(Place(*place), invocation_id, token)
            await dbos.DBOS.run_step_async(step, here, self._deliver_invocation, found)

        async def message(scheduled: datetime, context: list[str]) -> None:
            await dbos.DBOS.run_step_async(
                {"name": "message"}, here, self._submit_scheduled, scheduled, context
            )

        # The names contain the app: one DBOS database may serve many apps.
        self._workflow = dbos.DBOS.workflow(name=self._queue)(invocation)
        scheduled = dbos.DBOS.workflow(name=f"{self._queue}:message")(message)
        dbos.DBOS.listen_queues([self._queue])
        await asyncio.to_thread(dbos.DBOS.launch)
        await dbos.DBOS.register_queue_async(
            self._queue, polling_interval_sec=_POLL, on_conflict="always_update", **self._limits
        )
        if self._schedules:
            await dbos.DBOS.apply_schedules_async(
                [
                    {
                        "schedule_name": f"{self._queue}:{one.name}",
                        "workflow_fn": scheduled,
                        "schedule": one.cron,
                        "context": [one.name, one.user_id, one.session_id, one.message],
                        "cron_timezone": one.timezone,
                    }
                    for one in self._schedules
                ]
            )

    async def _submit_scheduled(self, scheduled: datetime, context: list[str]) -> None:
        """Enqueue the message of a schedule in its session's inbox."""
        name, user_id, session_id, text = context
        place = Place(self._backlog.app_name, user_id, session_id)
        invocation_id = keyed_invocation_id(place, f"{name} {scheduled.isoformat()}")
        message = types.UserContent(parts=[types.Part(text=text)])
        await self._backlog.put(Work(place, invocation_id, message, once=True))

    async def _deliver_invocation(self, found: Found) -> None:
        await self._deliveries.begin(found)

    async def _enqueue_workflow(self, found: Found) -> None:
        """Enqueue a workflow, once for any number of processes that found it."""
        dbos, workflow_id = self._dbos, found.invocation_id
        known = await self._find_status(workflow_id)
        if known == "PENDING":  # the store says that its process is gone
            await self._resume_workflow(workflow_id)
            return
        if known in ("ENQUEUED", "DELAYED"):
            return
        if known is not None:  # DBOS considers it finished
            workflow_id = f"{workflow_id}.{found.token or _clock.new_id()}"
        with dbos.SetWorkflowID(workflow_id):
            await dbos.DBOS.enqueue_workflow_async(
                self._queue, self._workflow, list(found.place), found.invocation_id, found.token
            )

    async def _resume_workflow(self, workflow_id: str) -> None:
        now = time.monotonic()
        self._resumed = {k: t for k, t in self._resumed.items() if now - t < _AGAIN}
        if workflow_id not in self._resumed:
            self._resumed[workflow_id] = now
            await self._dbos.DBOS.resume_workflow_async(workflow_id, queue_name=self._queue)

    async def _finish_orphans(self) -> None:
        """Finish workflows of dead processes whose invocations have ended.

        Otherwise they would count as running for the limits.
        """
        if time.monotonic() < self._next_sweep:
            return
        self._next_sweep = time.monotonic() + _AGAIN
        before = datetime.fromtimestamp(_clock.now() - _AGAIN, UTC).isoformat()
        for workflow in await self._dbos.DBOS.list_workflows_async(
            queue_name=self._queue, status="PENDING", dequeued_before=before, load_output=False
        ):
            place, invocation_id, _ = workflow.input["args"]
            mine = workflow.executor_id == self._executor
            if not mine and not await self._backlog.is_open(Place(*place), invocation_id):
                await self._resume_workflow(workflow.workflow_id)

    async def _find_status(self, workflow_id: str) -> str | None:
        found = await self._dbos.DBOS.list_workflows_async(
            workflow_ids=[workflow_id], load_input=False, load_output=False
        )
        return found[0].status if found else None

    async def _has_workflows(self) -> bool:
        return bool(
            await self._dbos.DBOS.list_workflows_async(
                queue_name=self._queue,
                status=["ENQUEUED", "DELAYED", "PENDING"],
                limit=1,
                load_input=False,
                load_output=False,
            )
        )

    async def _shut_down(self) -> None:
        """Stop dequeuing, let running invocations finish, hand over the rest."""
        end = time.monotonic() + self._grace
        poller, dbos = self._poller, self._dbos.DBOS
        # DBOS stops dequeuing, and waits as long for its workflows.
        destroyed = asyncio.create_task(
            asyncio.to_thread(
                dbos.destroy,
                destroy_registry=True,
                workflow_completion_timeout_sec=math.ceil(self._grace) + 2,
            )
        )
        while len(self._deliveries) and poller.stops < 2 and time.monotonic() < end:
            await poller.wait_for_wake(end - time.monotonic())
        await self._deliveries.end()
        await destroyed
        # DBOS put its own executor into the loop, and shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
