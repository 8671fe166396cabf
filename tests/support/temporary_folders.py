"""Temporary folders in memory where the system has room there: what tests store is synced to the
disk a hundred thousand times otherwise, and each time is waited for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

_IN_MEMORY = Path("/dev/shm")
_ROOM = 2 << 30  # bytes; a container may have as little as 64 MB
_VARIABLE = "PYTEST_DEBUG_TEMPROOT"  # pytest's own


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    if _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free >= _ROOM:
        os.environ.setdefault(_VARIABLE, str(_IN_MEMORY))
