"""Gives the common cases this format's script."""

from __future__ import annotations

from typing import Any

import pytest

from tests.wire.chat import script as this


@pytest.fixture
def script() -> Any:
    """The script of this format."""
    return this
