"""Pytest fixtures for agents' tests. Pytest loads this file at its start, so it imports nothing
of Ostinato but a lazy face; what a fixture needs is loaded when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ostinato import _clock, testing

if TYPE_CHECKING:
    from ostinato.models.base_llm import BaseLlm
    from ostinato.testing.clock import FrozenClock, SequentialIds
    from ostinato.testing.conversation import Conversation
    from ostinato.testing.history_guard import HistoryGuard
    from ostinato.testing.scripted_model import ScriptedModel


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedModel]]:
    """A function that makes a ScriptedModel of its arguments; all turns must have been asked for
    by the end of the test.
    """
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
    """A clock that stands still, in place of the real one for the length of the test."""
    clock = testing.FrozenClock()
    with _clock.replaced(time=clock):
        yield clock


@pytest.fixture
def sequential_ids() -> Iterator[SequentialIds]:
    """Ids that count up from one, in place of random ones for the length of the test."""
    ids = testing.SequentialIds()
    with _clock.replaced(ids=ids):
        yield ids


@pytest.fixture
def shared_history_guard() -> Callable[[BaseLlm], HistoryGuard]:
    """A function that wraps a model so that editing the shared history fails the test."""

    def guard(model: BaseLlm) -> HistoryGuard:
        return testing.HistoryGuard(model)

    return guard
