"""A database of sessions that google-adk and Ostinato use at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato.sessions.database_session_service import DatabaseSessionService
from tests.support.databases import SERVERS, new_database

ROOT = Path(__file__).resolve().parents[2]


class Peer:
    """google-adk in a process of its own."""

    def __init__(self, python: str, url: str) -> None:
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(Path(__file__).with_name("peer.py")), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, **question: Any) -> Any:
        """Ask and return the answer; an error of google-adk is an AssertionError here."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **question}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["answer"]

    def end(self) -> None:
        """Let it close its connections."""
        self._process.communicate(timeout=120)


@pytest.fixture(params=["sqlite", *SERVERS])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new, empty database."""
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path / 's.db'}"
        return
    with new_database(request.param) as made:
        yield made


@pytest.fixture(params=["adk23", "adk"])
def peer(request: pytest.FixtureRequest, url: str) -> Iterator[Peer]:
    """google-adk 2.3.0, and the newest of which this project says something."""
    setup = [sys.executable, str(ROOT / "bench" / "setup_peers.py"), "--python", request.param]
    python = subprocess.run(setup, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(python).exists():
        pytest.skip(f"no {python}; `make check` makes it")
    peer = Peer(python, url)
    yield peer
    peer.end()


@pytest.fixture
async def ours(url: str) -> AsyncIterator[DatabaseSessionService]:
    """Our service on that database."""
    service = DatabaseSessionService(url)
    yield service
    await service.close()
