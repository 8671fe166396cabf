"""The two stores that every process can have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService


@pytest.fixture(params=["memory", "sqlite"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield InMemorySessionService()
        return
    file = SqliteSessionService(str(tmp_path / "sessions.db"), synchronous="NORMAL")
    yield file
    await file.close()
