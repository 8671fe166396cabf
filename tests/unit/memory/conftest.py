"""An engine for the tests of the Memory Bank, and memories in a SQLite file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ostinato.memory import SqliteMemoryService
from tests.wire.agent_engine.fixtures import engine as engine
from tests.wire.agent_engine.fixtures import waits as waits

Make = Callable[..., SqliteMemoryService]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
async def make(path: Path) -> AsyncIterator[Make]:
    made: list[SqliteMemoryService] = []

    def build(**options: Any) -> SqliteMemoryService:
        made.append(SqliteMemoryService(path, **options))
        return made[-1]

    yield build
    for service in made:
        await service.close()
