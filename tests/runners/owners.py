"""Two services on one file: to each other they are other processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.sessions._durable_store import Place
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import ScriptedModel
from tests.flows.kit import SESSION, USER, Store, Talk

PLACE = Place("talk", USER, SESSION)


class Owner:
    """A process's view of the shared file."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self.service: SqliteSessionService = self.store.service
        self.last: Talk

    def talk(self, script: Sequence[Any], tools: Sequence[Callable[..., Any]] = ()) -> Talk:
        model = ScriptedModel(list(script))
        self.last = Talk(LlmAgent(name="root", model=model, tools=list(tools)), self.store)
        return self.last

    async def has_message(self, count: int = 1) -> None:
        """Wait until so many messages wait."""
        while len(await self.service.messages(PLACE)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0)


@pytest.fixture
async def two_owners(tmp_path: Path) -> AsyncIterator[list[Owner]]:
    owners = [Owner(tmp_path / "shared.db") for _ in range(2)]
    yield owners
    for owner in owners:
        await owner.store.close()
