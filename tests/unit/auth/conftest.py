"""The fake identity provider as a fixture, and no memory from one test to the next."""

from collections.abc import Iterator

import pytest

from ostinato.auth import _scheme_discovery
from ostinato.auth.asked import forget_requests
from tests.unit.auth.identity_provider import IdentityProvider, running_provider


@pytest.fixture
def idp() -> Iterator[IdentityProvider]:
    with running_provider() as provider:
        yield provider


@pytest.fixture(autouse=True)
def fresh_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_scheme_discovery, "_found", {})
    forget_requests()
