"""The state machine, for as long as `make test` has time; `make model` takes 100,000 steps."""

from __future__ import annotations

from tests.model.run import episode, run


def test_two_processes_share_a_session_without_losing_or_doubling_anything() -> None:
    figures = run(3_000, seed=1)
    assert figures["failures"] == []
    assert figures["steps"] >= 3_000
    assert min(figures[name] for name in ("events", "effects", "tokens", "take-overs")) > 0
    assert set(figures["operations"]) >= {"crash", "stall", "cancel", "resume", "answer", "outside"}


def test_an_episode_is_the_same_each_time() -> None:
    one, two = episode("7:0"), episode("7:0")
    assert one[0].trace == two[0].trace
    assert one[0].history.ids == two[0].history.ids != []
