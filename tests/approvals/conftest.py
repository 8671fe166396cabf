"""A desk over each session service."""

from __future__ import annotations

import pytest

from tests.approvals.kit import Desk
from tests.unit.sessions.conftest import service as service
from tests.unit.sessions.conftest import store as store


@pytest.fixture
def desk(service: object) -> Desk:
    """An agent that asks before it pays, over each session service."""
    return Desk(service)
