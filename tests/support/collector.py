"""What is loaded before the tests stays, so the collector need not look through it while it is
loaded, nor later: all the SDKs together are a million objects, half a second for each full
collection. Of what tests make, more than usual may gather before it looks."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
