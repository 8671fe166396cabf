"""Comparison of what an agent did in a replay with what was recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from .lane import LaneRun
from .recording import Call, Step, call_key

Outcome = Literal["same", "words", "calls", "diverged", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("same", "words", "calls", "diverged", "failed")
OUTCOME_WORDS: dict[Outcome, str] = {
    "same": "same",
    "words": "same calls, other words",
    "calls": "other calls",
    "diverged": "diverged",
    "failed": "failed",
}


@dataclass(slots=True)
class Comparison:
    """How a run differs from the recording.

    Attributes:
      outcome: `same`; `words`: the calls are the same and the answer is not; `calls`: other calls;
        `diverged`: the replay was stopped at a call of effect or at one that asks the user
        otherwise, or the run did not make a call that the user answered; `failed`: the agent
        raised an error.
      step: number of the first model response with other calls, from 1; None without one.
      expected, actual: the calls of this step.
    """

    outcome: Outcome
    step: int | None = None
    expected: list[Call] = field(default_factory=list[Call])
    actual: list[Call] = field(default_factory=list[Call])

    @property
    def rank(self) -> int:
        """How much differs: 0 nothing, 1 words, 2 calls."""
        return min(OUTCOMES.index(self.outcome), 2)


def compare_runs(recorded: LaneRun, run: LaneRun) -> Comparison:
    """Return how a run differs from the recording.

    The order of the calls within a step, and white space in answers, do not count.

    Args:
      recorded: the lane of the recording.
      run: the run.
    """
    for number in range(max(len(recorded.steps), len(run.steps))):
        expected, actual = _calls_at(recorded.steps, number), _calls_at(run.steps, number)
        if _count(expected) != _count(actual):
            return Comparison(_outcome_of(run), number + 1, expected, actual)
    if run.stopped is not None or run.unanswered or run.error:
        return Comparison(_outcome_of(run))
    if recorded.answer.split() != run.answer.split():
        return Comparison("words")
    return Comparison("same")


def _outcome_of(run: LaneRun) -> Outcome:
    if run.stopped is not None or run.unanswered:
        return "diverged"
    return "failed" if run.error else "calls"


def _calls_at(steps: list[Step], number: int) -> list[Call]:
    return steps[number].calls if number < len(steps) else []


def _count(calls: list[Call]) -> Counter[str]:
    return Counter(call_key(*call) for call in calls)


def format_calls(calls: list[Call]) -> str:
    """Return calls as short text.

    Args:
      calls: the calls.
    """
    if not calls:
        return "no call"
    return ", ".join(
        f"{name}({', '.join(f'{key}={value!r:.60}' for key, value in args.items())})"
        for name, args in calls
    )
