"""Crews of workers, over each store that processes share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.databases import new_database
from tests.unit.workers.crew import Crew
from tests.unit.workers.gate import Gate

STORES = [
    "sqlite",
    *(pytest.param(name, marks=pytest.mark.service) for name in ("postgres", "mariadb")),
]


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    async with Gate() as made:
        yield made


@pytest.fixture(params=STORES)
async def crew(request: pytest.FixtureRequest, tmp_path: Path, gate: Gate) -> AsyncIterator[Crew]:
    """A crew without workers yet."""
    if request.param == "sqlite":
        async with Crew(str(tmp_path / "sessions.db"), tmp_path, gate) as made:
            yield made
        return
    with new_database(request.param) as url:
        async with Crew(url, tmp_path, gate) as made:
            yield made
