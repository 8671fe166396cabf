"""The stores over which the contract runs: `store`, one parameter for each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato import _clock
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.sessions.talk import OWNER, Clock, Store

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
    if not isinstance(service, InMemorySessionService):
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
