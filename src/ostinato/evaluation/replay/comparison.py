"""Comparison of what an agent did in a replay with what was recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from .lane import LaneRun
from .recording import Call, Step, call_key, have_paths, place_of_step

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
      outcome: `same`; `words`: the calls are the same, and the answer or the output of a workflow
        is not; `calls`: other calls; `diverged`: the replay was stopped at a call of effect or at
        one that asks the user otherwise, or the run did not make a call that the user answered;
        `failed`: the agent raised an error.
      step: number of the first model response with other calls, from 1; None without one.
      expected, actual: the calls of this step.
      expected_place, actual_place: the paths of the agents or nodes that made them.
    """

    outcome: Outcome
    step: int | None = None
    expected: list[Call] = field(default_factory=list[Call])
    actual: list[Call] = field(default_factory=list[Call])
    expected_place: str = ""
    actual_place: str = ""

    @property
    def rank(self) -> int:
        """How much differs: 0 nothing, 1 words, 2 calls."""
        return min(OUTCOMES.index(self.outcome), 2)


def compare_runs(recorded: LaneRun, run: LaneRun) -> Comparison:
    """Return how a run differs from the recording.

    The order of the calls within a step, that of the calls of different nodes, and white space in
    answers do not count. The same call by another agent is another call.

    Args:
      recorded: the lane of the recording.
      run: the run.
    """
    has_paths = have_paths(recorded.steps) and have_paths(run.steps)
    for number in range(max(len(recorded.steps), len(run.steps))):
        expected, actual = _step_at(recorded.steps, number), _step_at(run.steps, number)
        if (
            _count(expected.calls) != _count(actual.calls)
            or expected.is_node is not actual.is_node
            or place_of_step(expected, has_paths) != place_of_step(actual, has_paths)
        ):
            outcome, places = _outcome_of(run), (expected.place, actual.place)
            return Comparison(outcome, number + 1, expected.calls, actual.calls, *places)
    if run.stopped is not None or run.unanswered or run.error:
        return Comparison(_outcome_of(run))
    if recorded.answer.split() != run.answer.split() or recorded.output != run.output:
        return Comparison("words")
    return Comparison("same")


def _outcome_of(run: LaneRun) -> Outcome:
    if run.stopped is not None or run.unanswered:
        return "diverged"
    return "failed" if run.error else "calls"


def _step_at(steps: list[Step], number: int) -> Step:
    return steps[number] if number < len(steps) else Step("", [])


def _count(calls: list[Call]) -> Counter[str]:
    return Counter(call_key(*call) for call in calls)


def format_calls(calls: list[Call], place: str = "") -> str:
    """Return calls as short text.

    Args:
      calls: the calls.
      place: who made them, to be shown in front; "" if it is known.
    """
    if not calls:
        return "no call"
    shown = f"{place}: " if place else ""
    return shown + ", ".join(
        f"{name}({', '.join(f'{key}={value!r:.60}' for key, value in args.items())})"
        for name, args in calls
    )
