"""LiveState: the mutable state of one live run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from .. import types
from ..events.event import Event

if TYPE_CHECKING:
    from ._ports import LiveAnswers, Streams


class LiveState:
    """State of one live run, shared by all contexts of it.

    Attributes:
      read_answers: checks the answers in a user's message and returns their claims, which are
        stored with it; None in a run without a Runner.
      streams: collects the results of streaming tools; None while no live agent runs.
      input_checks: checks of the user's text before the model gets it; each yields events, and
        raises to end the run.
      task_agents: names of agents whose live model reports when its task is done.
    """

    __slots__ = ("input_checks", "read_answers", "streams", "task_agents")

    def __init__(self, read_answers: LiveAnswers | None = None) -> None:
        self.read_answers = read_answers
        self.streams: Streams | None = None
        self.input_checks: Sequence[Callable[[types.Content], AsyncGenerator[Event, None]]] = ()
        self.task_agents: frozenset[str] = frozenset()
