"""The two stores that every process can have."""

from __future__ import annotations

import gc
import math
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite import sqlite_connection as _sqlite_connection
from ostinato.sessions.sqlite_session_service import SqliteSessionService


@pytest.fixture(autouse=True)
def fixture_clean() -> None:
    """Collect what earlier tests left: these tests count, and collect, in the middle of their work.

    A MySQL connection whose loop a test closed warns then, in a test that has none.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(params=["memory", "NORMAL", "FULL"])
async def service(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    # Who makes a commit must not hang on how long the last one took, nor how many there were.
    monkeypatch.setattr(_sqlite_connection, "_LONG_SECONDS", math.inf)
    monkeypatch.setattr(_sqlite_connection, "_BETWEEN_CHECKPOINTS", math.inf)
    if request.param == "memory":
        yield InMemorySessionService()
        return
    file = SqliteSessionService(str(tmp_path / "sessions.db"), synchronous=request.param)
    yield file
    await file.close()
