"""Gives the common cases this format's script."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.wire.litellm import script as this

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would fetch the prices when imported


@pytest.fixture
def script() -> Any:
    """The script of this format."""
    return this
