"""Pytest fixtures for tests of agents, and the collection of eval sets.

Pytest loads this file at its start, so it imports only lazy modules of Ostinato.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ostinato import _clock, _lazy, testing

if TYPE_CHECKING:
    from ostinato.models.base_llm import BaseLlm
    from ostinato.testing.clock import FrozenClock, SequentialIds
    from ostinato.testing.conversation import Conversation
    from ostinato.testing.crash_report import CrashReport
    from ostinato.testing.history_guard import HistoryGuard
    from ostinato.testing.scripted_model import ScriptedModel


_EVAL_SETS = (".evalset.json", ".test.json")
_COLLECT = "ostinato.evaluation.pytest_items:collect_eval_file"  # as text, because it is above


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings of eval sets; they are off unless a project switches them on."""
    parser.addini(
        "ostinato_eval",
        type="bool",
        default=False,
        help="collect *.evalset.json and *.test.json as evaluations of agents",
    )
    parser.addini("ostinato_eval_runs", default="1", help="how often each case of an eval set runs")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """Collect an eval set, in projects that switch `ostinato_eval` on; other projects may use
    files of these names for other tools."""
    if not file_path.name.endswith(_EVAL_SETS) or not parent.config.getini("ostinato_eval"):
        return None
    return _lazy.load(_COLLECT)(file_path, parent)


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """A function that makes a ScriptedModel; the test fails if a turn is left unused."""
    made: list[ScriptedModel] = []

    def make(*turns: Any, **options: Any) -> ScriptedModel:
        made.append(testing.ScriptedModel(turns, **options))
        return made[-1]

    yield make
    for model in made:
        model.assert_finished()


@pytest.fixture
def runner_factory() -> Callable[..., Conversation]:
    """A function that starts a Conversation with an agent, an app or a runner, in memory."""

    def make(agent: Any, **options: Any) -> Conversation:
        return testing.Conversation(agent, **options)

    return make


@pytest.fixture
def frozen_clock() -> Iterator[FrozenClock]:
    """A fixed clock that replaces the real one during the test."""
    clock = testing.FrozenClock()
    with _clock.replace_sources(time=clock):
        yield clock


@pytest.fixture
def sequential_ids() -> Iterator[SequentialIds]:
    """Ids that count up from one and replace random ones during the test."""
    ids = testing.SequentialIds()
    with _clock.replace_sources(ids=ids):
        yield ids


@pytest.fixture
def crash_everywhere() -> Callable[..., CrashReport]:
    """A function that kills an agent at every commit point of a scenario; the test fails if a tool
    would have acted twice, or if the resumed run differs."""

    def check(agent: Any, scenario: Any, **options: Any) -> CrashReport:
        report = testing.crash_everywhere(agent, scenario, **options)
        report.assert_once()
        return report

    return check


@pytest.fixture
def shared_history_guard() -> Callable[[BaseLlm], HistoryGuard]:
    """A function that wraps a model so that editing the shared history fails the test."""

    def guard(model: BaseLlm) -> HistoryGuard:
        return testing.HistoryGuard(model)

    return guard
