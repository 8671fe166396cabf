"""The two stores that every process can have."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.sessions import InMemorySessionService, _sqlite_line
from ostinato.sessions.sqlite_session_service import SqliteSessionService


@pytest.fixture(params=["memory", "NORMAL", "FULL"])
async def service(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    # Who makes a commit must not hang on how long the last one took, nor how many there were.
    monkeypatch.setattr(_sqlite_line, "_LONG_SECONDS", math.inf)
    monkeypatch.setattr(_sqlite_line, "_BETWEEN_CHECKPOINTS", math.inf)
    if request.param == "memory":
        yield InMemorySessionService()
        return
    file = SqliteSessionService(str(tmp_path / "sessions.db"), synchronous=request.param)
    yield file
    await file.close()
