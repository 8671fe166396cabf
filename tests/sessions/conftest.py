"""The stores over which the contract runs: `store`, one parameter for each."""

from __future__ import annotations

import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import _clock
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.databases import SERVERS, execute, new_database
from tests.sessions.talk import OWNER, Clock, Store

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
    if request.param in SERVERS:
        with new_database(request.param) as url:
            service = DatabaseSessionService(url)
            _urls[service] = url
            yield service
            await service.close()
        return
    service = STORES[request.param](tmp_path)
    yield service
    if not isinstance(service, InMemorySessionService):
        await service.close()


@pytest.fixture
def clock(store: Store) -> Iterator[Clock]:
    """The time of a test's store, in hand."""
    time = ServerClock(_urls[store]) if store in _urls else Clock()
    with _clock.replaced(time=time):
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
