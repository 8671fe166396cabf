"""Two services on one database: to each other they are other processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.durable.lease import keeper_of
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Place
from ostinato.testing import ScriptedModel
from tests.support.databases import SERVERS, new_database
from tests.unit.flows.kit import SESSION, USER, Store, Talk

PLACE = Place("talk", USER, SESSION)


class SharedMemory(InMemorySessionService):
    """A process's view of sessions in memory that processes share.

    Args:
      other: what they share.
    """

    shared = True

    def __init__(self, other: InMemorySessionService) -> None:
        super().__init__()
        vars(self).update(vars(other))

    async def close(self) -> None:
        """Nothing is to be closed."""


class Owner:
    """A process's view of the shared database."""

    def __init__(self, database: Path | str | InMemorySessionService) -> None:
        if isinstance(database, InMemorySessionService):
            self.store = Store(None)
            self.store.service = SharedMemory(database)
        else:
            self.store = Store(database)
        self.service: SqliteSessionService | DatabaseSessionService = self.store.service
        self.last: Talk

    def talk(self, script: Sequence[Any], tools: Sequence[Callable[..., Any]] = ()) -> Talk:
        model = ScriptedModel(list(script))
        self.last = Talk(LlmAgent(name="root", model=model, tools=list(tools)), self.store)
        return self.last

    async def has_message(self, count: int = 1) -> None:
        """Wait until so many messages wait."""
        while len(await self.service.messages(PLACE)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0)


_STORES = ["memory", "sqlite", *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]


@pytest.fixture(params=_STORES)
async def two_owners(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Owner]]:
    """Two owners of each kind of store that processes share."""
    with ExitStack() as stack:
        shared: Path | str | InMemorySessionService = tmp_path / "shared.db"
        if request.param == "memory":
            shared = InMemorySessionService()
        elif request.param != "sqlite":
            shared = stack.enter_context(new_database(request.param))
        owners = [Owner(shared) for _ in range(2)]
        yield owners
        for owner in owners:
            thread = keeper_of(owner.service).stop()
            if thread is not None:
                await asyncio.to_thread(thread.join)
            await owner.store.close()
