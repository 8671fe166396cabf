"""The state machine, for as long as `make test` has time; `make model` takes 100,000 steps."""

from __future__ import annotations

import pytest

from tests.model.run import run

pytestmark = pytest.mark.long


def test_two_processes_share_a_session_without_losing_or_doubling_anything() -> None:
    figures = run(1_200, 1)
    assert figures["steps"] >= 600
    assert min(figures[name] for name in ("events", "effects", "tokens", "take-overs")) > 0


def test_the_same_seed_takes_the_same_steps() -> None:
    figures = [run(120, 7), run(120, 7)]
    for each in figures:
        del each["seconds"]
    assert figures[0] == figures[1]
