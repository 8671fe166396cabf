"""The checker finds the faults that are planted in a store: without them it finds nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.jepsen.checker import check_history
from tests.jepsen.client import ClientPlan, open_service, run_client
from tests.jepsen.history import read_history
from tests.jepsen.planted import PLANTED, PLANTED_FOR_KILLS, plant
from tests.jepsen.run import run_rounds
from tests.jepsen.settle import create_sessions, save_finals, settle_sessions

_TRIES = 6
_SECONDS = 2.0


async def find_kinds(folder: Path, fault: str, number: int) -> set[str]:
    """Let two clients with services of their own use two sessions; return what is found."""
    room = folder / f"round{number}"
    room.mkdir()
    until = time.monotonic() + _SECONDS
    plan = ClientPlan("c1", str(room), "", [f"r{number}-{i}" for i in range(2)], until, number)
    plan.tasks, plan.pace = 4, 0.05
    await create_sessions(plan)
    with plant(fault):
        await asyncio.gather(run_client(plan), run_client(replace(plan, name="c2")))
    save_finals(await settle_sessions(plan), room)
    return {violation.kind for violation in check_history(read_history(room))}


@pytest.mark.long
@pytest.mark.parametrize("fault", PLANTED)
async def test_a_planted_fault_is_found(
    fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    wanted, found = PLANTED[fault][0], set[str]()
    for number in range(_TRIES):
        found = await find_kinds(tmp_path, fault, number)
        if found & wanted:
            break
    assert found & wanted, f"found {found}"


@pytest.mark.long
async def test_without_a_fault_nothing_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    assert await find_kinds(tmp_path, "", 1) == set()
    service = open_service("", tmp_path / "round1")
    assert (await service.list_sessions(app_name="shop")).sessions
    await service.close()


@pytest.mark.service
@pytest.mark.long
@pytest.mark.parametrize("fault", PLANTED_FOR_KILLS)
def test_a_fault_that_only_a_death_shows_is_found(fault: str) -> None:
    wanted = PLANTED_FOR_KILLS[fault][0]
    for seed in range(_TRIES):
        told = run_rounds("sqlite", seed, 12.0, rounds=1, plant=fault)
        if wanted & {each["kind"] for each in told["violations"]}:
            return
    pytest.fail(f"{fault} was not found")
