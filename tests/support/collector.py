"""What is loaded before the tests stays, so the collector need not look through it while it is
loaded, nor later: all the SDKs together are a million objects, half a second for each full
collection. Of what tests make, more than usual may gather before it looks.

What tests load and keep (SDKs, schemas, caches) grows to as many objects again, through which every
later `gc.collect()` of a test would look: it joins what stays, between two tests."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

_MANY = 30_000
_finished = 0
_is_frozen = False  # to ask `gc.get_freeze_count` walks through all that is frozen


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    global _is_frozen
    gc.collect()
    gc.freeze()
    _is_frozen = True
    gc.set_threshold(20_000)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    global _finished
    _finished += 1
    # Counting is quick, but not as quick as a test.
    if _finished % 50 == 0 and _is_frozen and len(gc.get_objects()) > _MANY:
        gc.collect()
        gc.freeze()
