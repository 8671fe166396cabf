"""Host: what the endpoints of a server work with, from its start to its end."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from ..running.store_access import durable_store
from ..sessions._durable_store import Place
from ..telemetry.recorder import install
from .agents import AgentFolder
from .run_book import RunBook
from .services import Services
from .settings import ServerSettings
from .tending import Tending
from .waiting import Waiting


@dataclass(slots=True)
class Host:
    """The services, the agents and the runs of a server.

    Attributes:
      settings: its settings.
      services: where sessions, files and memories are kept.
      agents: the apps.
      runs: what runs here for clients.
      tending: what runs here for nobody: what dead processes left, and what was submitted.
      waiting: the calls that wait for a person.
      chats: the sessions of conversations that clients carry themselves, by what was said in them.
      draining: whether it is about to end, and takes nothing more.
    """

    settings: ServerSettings
    services: Services
    agents: AgentFolder
    runs: RunBook
    tending: Tending
    waiting: Waiting
    chats: OrderedDict[str, Place] = field(default_factory=OrderedDict[str, Place])
    draining: bool = False
    _take_out: Callable[[], None] | None = None
    _drained: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def build(cls, settings: ServerSettings) -> Host:
        """Return the host of a server with these settings; nothing is opened yet."""
        services = Services.of(settings)
        agents = AgentFolder(settings, services)
        tending = Tending(agents, durable_store(services.sessions), settings.grace)
        return cls(settings, services, agents, RunBook(), tending, Waiting(services.sessions))

    async def start(self) -> None:
        """Go on with what others left; called within the event loop."""
        self._take_out = install(self.services.spans)
        self.tending.start()

    async def drain(self) -> None:
        """Take nothing more, give what runs the grace time, and hand the rest over; once."""
        if self.draining:
            await self._drained.wait()
            return
        self.draining = True
        try:
            await asyncio.gather(self.runs.drain(self.settings.grace), self.tending.stop())
        finally:
            self._drained.set()

    def hurry(self) -> None:
        """Wait for nothing more."""
        self.runs.hurry()
        self.tending.hurry()

    async def close(self) -> None:
        """Drain, and close everything."""
        await self.drain()
        if self._take_out is not None:
            self._take_out()
        await self.agents.close()
        await self.services.close()
