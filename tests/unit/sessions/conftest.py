"""The stores over which the contract runs: `store`, one parameter for each."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import ProgrammingError

from ostinato import _clock
from ostinato.events.event import Event
from ostinato.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.support.databases import SERVERS, execute, new_database
from tests.unit.sessions.talk import OWNER, Clock, Store
from tests.wire.agent_engine.fixtures import engine as engine
from tests.wire.agent_engine.fixtures import waits as waits


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
    "sql file": lambda folder: DatabaseSessionService(f"sqlite+aiosqlite:///{folder / 's.db'}"),
    "sql memory": lambda folder: DatabaseSessionService("sqlite+aiosqlite:///:memory:"),
}
_urls: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


@pytest.fixture(
    params=[*STORES, *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]
)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A new, empty session store."""
    async with made(request.param, tmp_path) as service:
        yield service


@pytest.fixture(
    params=[
        *STORES,
        "plain",
        *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS),
    ]
)
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A new session service: each of our stores, and one of somebody else."""
    if request.param == "plain":
        yield Plain()
        return
    async with made(request.param, tmp_path) as service:
        yield service


@asynccontextmanager
async def made(name: str, folder: Path) -> AsyncIterator[Any]:
    """Make a store for the length of a `with` block."""
    with ExitStack() as stack:
        if name in SERVERS:
            url = stack.enter_context(new_database(name))
            store: Any = DatabaseSessionService(url)
            _urls[store] = url
        else:
            store = STORES[name](folder)
        yield store
        if hasattr(store, "close"):
            await store.close()


@pytest.fixture
def clock(store: Store) -> Iterator[Clock]:
    """The time of a test's store, in hand."""
    with time_of(store) as time:
        yield time


@pytest.fixture
def service_clock(service: BaseSessionService) -> Iterator[Clock]:
    """The time of a test's service, in hand."""
    with time_of(service) as time:
        yield time


@contextmanager
def time_of(store: Any) -> Iterator[Clock]:
    """The time of a store, in hand for the length of a `with` block."""
    time = ServerClock(_urls[store]) if store in _urls else Clock()
    with _clock.replace_sources(time=time):
        yield time


class ServerClock(Clock):
    """The time of a server, which nobody moves: instead, all that has a time there grows older."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._now = 1000.0

    @property
    def now(self) -> float:
        return self._now

    @now.setter
    def now(self, value: float) -> None:
        with suppress(ProgrammingError):  # no table yet, nothing that could grow older
            execute(
                self._url,
                "UPDATE ostinato_sessions SET expires = expires - :by, begun = begun - :by",
                "UPDATE ostinato_inbox SET expires = expires - :by",
                by=value - self._now,
            )
        self._now = value


@pytest.fixture
async def session(clock: Clock, store: Store) -> Session:
    """Session `s1` of that store."""
    return await store.create_session(**OWNER, session_id="s1")
