"""An engine in this process, and a login for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import google.auth
import pytest
from google.oauth2.credentials import Credentials

from ostinato import _google_retries
from tests.wire.agent_engine.engine import AgentEngine, served

TOKEN = "secret-token"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited for, without its having passed."""
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(_google_retries, "pause", pause)
    return waited


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> AsyncIterator[AgentEngine]:
    """An engine that new services find, and a login."""
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(TOKEN), "proj"))
    engine = AgentEngine()
    async with served(engine) as url:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", url)
        yield engine
