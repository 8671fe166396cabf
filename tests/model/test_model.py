"""The model, for as long as `make test` has time; `make model` takes 100,000 steps."""

from __future__ import annotations

import gc
import types
from typing import Any

import pytest

from ostinato.durable import session_locks
from ostinato.testing import FAULTS
from ostinato.testing.simulation.plan import USER_ACTIONS
from tests.model.model import ACTIONS, play
from tests.model.run import run
from tests.support.planted_faults import plant

pytestmark = pytest.mark.long


def test_two_processes_share_a_session_without_losing_or_doubling_anything() -> None:
    report = run(1_800, 1)
    report.assert_held()
    kinds = {*USER_ACTIONS, *FAULTS, *ACTIONS, "events", "effects", "take-overs", "refused"}
    assert min(report.figures[kind] for kind in kinds) > 0


def test_the_same_seed_takes_the_same_steps() -> None:
    first, second = run(120, 7), run(120, 7)
    assert (first.digest, first.figures) == (second.digest, second.figures)


@pytest.mark.parametrize(
    "name",
    [
        "the journal loses results",
        "an approval is not asked for",
        "an answered question takes another answer",
    ],
)
def test_a_planted_fault_is_found_within_5_000_steps(name: str) -> None:
    with plant(name):
        assert run(5_000, 3).failures


def find_suspended() -> list[types.CoroutineType[Any, Any, Any]]:
    """Return what simulations have begun and not ended, in this process."""
    left = [one for one in gc.get_objects() if isinstance(one, types.CoroutineType)]
    return [one for one in left if one.__qualname__.startswith("SimulationRun.")]


def test_a_run_leaves_nothing_held_or_alive() -> None:
    held, before = dict(session_locks.SESSION_LOCKS._holds), find_suspended()
    play(2_000_012)  # a process dies here while one of its runs waits
    assert session_locks.SESSION_LOCKS._holds == held
    assert len(find_suspended()) <= len(before)
