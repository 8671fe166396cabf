"""What is loaded before the tests stays, so the collector need not look through it again: all the
SDKs together are a million objects, half a second for each full collection. Of what tests make,
more than usual may gather before it looks."""

from __future__ import annotations

import gc

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
