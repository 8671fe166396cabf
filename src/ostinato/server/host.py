"""Host: the services, agents and runs of a server, from its start to its shutdown."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from .._log import get_logger, outage_log_of
from ..cli.utils.base_agent_loader import BaseAgentLoader
from ..durable.lease import keeper_of
from ..errors import StoreError
from ..execution.store_access import durable_store
from ..sessions.store.durable_store import Place
from ..sessions.store.session_search import SessionSearch
from ..telemetry.prometheus import PrometheusMetrics
from ..telemetry.recorder import install
from .active_runs import ActiveRuns
from .agents import AgentFolder
from .background_workers import BackgroundWorkers
from .server_services import Services
from .session_details import SessionDetails
from .settings import ServerSettings
from .traceback_recorder import TracebackRecorder
from .waiting_calls import WaitingCalls

logger = get_logger(__name__)

_INDEX_PAUSE = 0.01  # seconds between two steps of indexing, so that requests are not delayed
_SAVE_SECONDS = 1.0  # between two saves of a process's metrics for the other processes


class SessionIndexer:
    """Indexes sessions in the background after a search found the index incomplete."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def start(self, service: SessionSearch) -> None:
        """Start, unless it runs already."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(_index_all(service), name="ostinato-indexing")

    async def stop(self) -> None:
        """Stop; the next search continues."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


async def _index_all(service: SessionSearch) -> None:
    try:
        left = await service.index_sessions()
        while left:
            await asyncio.sleep(_INDEX_PAUSE)
            left = await service.index_sessions()
    except StoreError as error:
        logger.warning("Indexing of sessions stopped until the next search: %s", error)


@dataclass(slots=True)
class Host:
    """The services, the agents and the runs of a server.

    Attributes:
      settings: its settings.
      services: the services of sessions, artifacts, memories and spans.
      agents: the apps.
      runs: the runs of this process's clients.
      background: the detached runs: abandoned invocations and queued messages.
      waiting: the calls that wait for a person.
      details: what lists show of the logs of sessions.
      chats: the sessions of conversations that clients send in full, by a digest of the messages.
      preparing: held while the session of an idempotency key is created.
      indexer: brings the search index up to date.
      first_events: ids of the first events of sessions, by which forks are found.
      metrics: the metrics of `/metrics`, or None if it is not served.
      leaving: whether the server is shutting down, and not ready for more requests.
      draining: whether the server refuses new runs.
    """

    settings: ServerSettings
    services: Services
    agents: AgentFolder
    runs: ActiveRuns
    background: BackgroundWorkers
    waiting: WaitingCalls
    details: SessionDetails
    chats: OrderedDict[str, Place] = field(default_factory=OrderedDict[str, Place])
    preparing: asyncio.Lock = field(default_factory=asyncio.Lock)
    indexer: SessionIndexer = field(default_factory=SessionIndexer)
    first_events: OrderedDict[Place, str] = field(default_factory=OrderedDict[Place, str])
    metrics: PrometheusMetrics | None = None
    leaving: bool = False
    draining: bool = False
    _uninstall: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    _saving: asyncio.Task[None] | None = None
    _drained: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def from_settings(cls, settings: ServerSettings, loader: BaseAgentLoader | None = None) -> Host:
        """Return a host that is not yet started; a loader replaces the settings' folder."""
        services = Services.from_settings(settings)
        agents = AgentFolder(settings, services, loader)
        background = BackgroundWorkers(agents, durable_store(services.sessions), settings.grace)
        runs = ActiveRuns(services.sessions)
        sessions = services.sessions
        waiting, details = WaitingCalls(sessions), SessionDetails(sessions)
        host = cls(settings, services, agents, runs, background, waiting, details)
        if settings.metrics:
            host.metrics = PrometheusMetrics(settings.metrics_folder)
        return host

    async def start(self) -> None:
        """Start recorders and background workers; called in the event loop."""
        if self.settings.developer and self.services.spans is not None:
            self._uninstall.append(install(TracebackRecorder(self.settings.agents)))
        for recorder in (self.services.spans, self.metrics):
            if recorder is not None:
                self._uninstall.append(install(recorder))
        if self.metrics is not None and self.settings.metrics_folder is not None:
            self._saving = asyncio.create_task(self._save_metrics(), name="ostinato-metrics")
        self.background.start()

    async def _save_metrics(self) -> None:
        while True:
            self.count_totals()
            await asyncio.to_thread(self._save_counts)
            await asyncio.sleep(_SAVE_SECONDS)

    def _save_counts(self) -> None:
        if self.metrics is not None:
            try:
                self.metrics.save()
            except OSError as error:
                logger.warning("The metrics of this process cannot be stored: %s", error)

    def count_totals(self) -> None:
        """Copy totals that other objects count into the metrics."""
        durable = durable_store(self.services.sessions)
        if self.metrics is None or durable is None:
            return
        lost = keeper_of(durable, self.settings.lease_seconds).lost
        self.metrics.set_total("ostinato_leases_lost_total", lost)
        failures = outage_log_of(durable).failures
        self.metrics.set_total("ostinato_store_errors_total", failures)

    def announce_shutdown(self) -> None:
        """Report the server as not ready; it still answers requests."""
        self.leaving = True

    async def drain(self) -> None:
        """Refuse new runs, wait the grace time for runs in progress, and hand over the rest."""
        if self.draining:
            await self._drained.wait()
            return
        self.leaving = self.draining = True
        try:
            await asyncio.gather(self.runs.drain(self.settings.grace), self.background.stop())
        finally:
            self._drained.set()

    def stop_now(self) -> None:
        """End the grace time now."""
        self.runs.stop_now()
        self.background.stop_now()

    async def close(self) -> None:
        """Drain, and close all services."""
        await self.drain()
        await self.indexer.stop()
        if self._saving is not None:
            self._saving.cancel()
            await asyncio.wait({self._saving})
            self.count_totals()
            await asyncio.to_thread(self._save_counts)
        for take_out in self._uninstall:
            take_out()
        await self.agents.close()
        await self.services.close()
