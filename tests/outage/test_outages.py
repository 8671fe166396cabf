"""A few outages of each store: the next message is answered soon, with every call answered.

`python -m tests.outage.run --rounds 500` takes more of them, and others.
"""

from __future__ import annotations

import logging

import pytest

from tests.outage.run import run_rounds
from tests.support.databases import SERVERS, server_url

pytestmark = pytest.mark.long


@pytest.mark.parametrize(
    "store", ["sqlite", *(pytest.param(name, marks=pytest.mark.service) for name in SERVERS)]
)
async def test_a_store_that_goes_and_comes_back(
    store: str, caplog: pytest.LogCaptureFixture
) -> None:
    if store != "sqlite":
        server_url(store)  # it skips where there is none
    caplog.set_level(logging.CRITICAL)
    ways = ("file", "folder") if store == "sqlite" else ()
    done = await run_rounds(store, 12, seed=7, ways=ways)
    assert [(plan, outcome.faults) for plan, outcome in done if outcome.faults] == []
    assert len({outcome.ended for _, outcome in done}) > 1
