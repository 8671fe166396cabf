"""Pytest fixtures for tests of agents.

Pytest loads this file at its start, so it imports only lazy modules of Ostinato.
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
def shared_history_guard() -> Callable[[BaseLlm], HistoryGuard]:
    """A function that wraps a model so that editing the shared history fails the test."""

    def guard(model: BaseLlm) -> HistoryGuard:
        return testing.HistoryGuard(model)

    return guard
