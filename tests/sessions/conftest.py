"""The stores over which the contract runs: `store`, one parameter for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import _clock
from ostinato.events.event import Event
from ostinato.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.sessions.talk import OWNER, Clock, Store


class Plain(BaseSessionService):
    """A service of somebody else: the port's methods, nothing of ours; keeps all in ours."""

    def __init__(self) -> None:
        self.kept = InMemorySessionService()

    async def create_session(self, **how: Any) -> Session:
        return await self.kept.create_session(**how)

    async def get_session(self, **how: Any) -> Session | None:
        return await self.kept.get_session(**how)

    async def list_sessions(
        self, *, app_name: str, user_id: str | None = None
    ) -> ListSessionsResponse:
        return await self.kept.list_sessions(app_name=app_name, user_id=user_id)

    async def delete_session(self, **how: Any) -> None:
        await self.kept.delete_session(**how)

    async def append_event(self, session: Session, event: Event) -> Event:
        return await self.kept.append_event(session, event)


STORES: dict[str, Callable[[Path], Any]] = {
    "dict": lambda folder: InMemorySessionService(),
    "file": lambda folder: SqliteSessionService(folder / "s.db", synchronous="NORMAL"),
    "memory": lambda folder: SqliteSessionService(":memory:"),
}


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A new, empty session store."""
    service = STORES[request.param](tmp_path)
    yield service
    if hasattr(service, "close"):
        await service.close()


@pytest.fixture(params=[*STORES, "plain"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A new session service: each of our stores, and one of somebody else."""
    service = Plain() if request.param == "plain" else STORES[request.param](tmp_path)
    yield service
    if hasattr(service, "close"):
        await service.close()


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The time of the stores of a test, in hand."""
    time = Clock()
    with _clock.replaced(time=time):
        yield time


@pytest.fixture
async def session(clock: Clock, store: Store) -> Session:
    """Session `s1` of that store."""
    return await store.create_session(**OWNER, session_id="s1")
