"""`tool_trajectory_avg_score`: the calls of each turn compared with the expected ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

from pydantic import ValidationError

from ..events.pending import QUESTIONS
from ..events.request_input import REQUEST_INPUT
from .arg_matchers import ArgMatch, JudgeQuestion
from .conversation_scenarios import ConversationScenario
from .eval_case import Invocation, get_all_tool_calls
from .eval_metrics import (
    EvalMetric,
    JudgeModelOptions,
    ToolTrajectoryCriterion,
    explain_criterion,
)
from .evaluator import (
    EvaluationResult,
    Evaluator,
    NotApplicableError,
    PerInvocationResult,
    compare_score,
    get_overall_result,
)
from .judge import Judge
from .llm_as_judge_utils import Label, read_label

_MatchType = ToolTrajectoryCriterion.MatchType

_JUDGE_PROMPT = """\
Does this value fit the description? Answer with one word: yes or no.

Description: {description}
Value: {value}
"""


# What the runtime asks a person: no call of the agent's, and its arguments hold ids.


class _Call(NamedTuple):
    """A call: its tool's name, or a path with the name at its end, and its arguments."""

    name: str
    path: str
    args: dict[str, Any]
    inner: bool


class TrajectoryEvaluator(Evaluator):
    """Compares calls of tools; 1 for a turn that fits and 0 for another, then the mean.

    The expected name `billing/refund` stands for the call of `refund` by the agent `billing`, also
    when that agent runs as a tool; such inner calls do not count otherwise. Expected arguments may
    hold matchers (`arg_matchers`).

    Args:
      threshold: the lowest mean that passes, without `eval_metric`.
      eval_metric: the metric with its criterion.

    Raises:
      ValueError: both are given, or the criterion does not fit.
    """

    criterion_type: ClassVar[type[ToolTrajectoryCriterion]] = (  # pyright: ignore[reportIncompatibleVariableOverride]
        ToolTrajectoryCriterion
    )

    def __init__(
        self, threshold: float | None = None, eval_metric: EvalMetric | None = None
    ) -> None:
        if threshold is not None and eval_metric is not None:
            raise ValueError("Give TrajectoryEvaluator a threshold or an eval_metric, not both.")
        self._threshold = threshold
        self._match_type = _MatchType.EXACT
        self._ignore_args = False
        self._judge_options: JudgeModelOptions | None = None
        if eval_metric is not None:
            self._threshold = eval_metric.threshold
            if eval_metric.criterion is not None:
                self._read_criterion(eval_metric)

    def _read_criterion(self, metric: EvalMetric) -> None:
        assert metric.criterion is not None
        try:
            criterion = ToolTrajectoryCriterion.model_validate(metric.criterion.model_dump())
        except ValidationError as error:
            raise ValueError(explain_criterion(metric.metric_name, error)) from error
        self._threshold = criterion.threshold
        self._match_type = criterion.match_type
        self._ignore_args = criterion.ignore_args
        self._judge_options = criterion.judge_model_options

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """Return the share of turns that fit; an awaitable of it if a judge is needed.

        Raises:
          NotApplicableError: there are no expected invocations.
          InputValidationError: a matcher is wrong.
        """
        if expected_invocations is None:
            raise NotApplicableError(
                "tool_trajectory_avg_score compares with expected calls, and the case is a "
                "scenario without any."
            )
        pairs = list(zip(actual_invocations, expected_invocations, strict=False))
        compared = [self._compare_turn(actual, expected) for actual, expected in pairs]
        if any(questions for _, questions in compared):
            return self._evaluate_with_judge(pairs, compared)
        return self._summarize(pairs, [fits for fits, _ in compared])

    def _summarize(
        self, pairs: Sequence[tuple[Invocation, Invocation]], fits: Sequence[bool]
    ) -> EvaluationResult:
        results = [
            PerInvocationResult(
                actual_invocation=actual,
                expected_invocation=expected,
                score=1.0 if fit else 0.0,
                eval_status=compare_score(1.0 if fit else 0.0, self._threshold),
            )
            for (actual, expected), fit in zip(pairs, fits, strict=True)
        ]
        return get_overall_result(results, self._threshold)

    async def _evaluate_with_judge(
        self,
        pairs: Sequence[tuple[Invocation, Invocation]],
        compared: Sequence[tuple[bool, list[JudgeQuestion]]],
    ) -> EvaluationResult:
        judge = Judge(self._judge_options or JudgeModelOptions(num_samples=1))
        fits: list[bool] = []
        for fit, questions in compared:
            for description, value in questions if fit else ():
                shown = json.dumps(value, ensure_ascii=False, default=str)
                answers = await judge.ask(
                    _JUDGE_PROMPT.format(description=description, value=shown)
                )
                labels = [read_label(answer) for answer in answers]
                yes = labels.count(Label.VALID)
                if not yes and not labels.count(Label.INVALID):
                    raise ValueError(f"The judge answered neither yes nor no: {answers[0][:80]!r}.")
                fit = fit and yes > labels.count(Label.INVALID)
            fits.append(fit)
        return self._summarize(pairs, fits)

    def _compare_turn(
        self, actual: Invocation, expected: Invocation
    ) -> tuple[bool, list[JudgeQuestion]]:
        wanted = _expected_calls(expected)
        found = _actual_calls(actual, wanted)
        if self._match_type is _MatchType.EXACT:
            return self._match_exactly(found, wanted)
        if self._match_type is _MatchType.IN_ORDER:
            return self._match_in_order(found, wanted)
        return self._match_in_any_order(found, wanted)

    def _match_exactly(
        self, found: list[_Call], wanted: list[_Call]
    ) -> tuple[bool, list[JudgeQuestion]]:
        questions: list[JudgeQuestion] = []
        if len(found) != len(wanted):
            return False, questions
        for one, expected in zip(found, wanted, strict=True):
            match = self._match_call(one, expected)
            if match is None:
                return False, []
            questions += match
        return True, questions

    def _match_in_order(
        self, found: list[_Call], wanted: list[_Call]
    ) -> tuple[bool, list[JudgeQuestion]]:
        questions: list[JudgeQuestion] = []
        rest = iter(found)
        for expected in wanted:
            match = next(
                (m for one in rest if (m := self._match_call(one, expected)) is not None), None
            )
            if match is None:
                return False, []
            questions += match
        return True, questions

    def _match_in_any_order(
        self, found: list[_Call], wanted: list[_Call]
    ) -> tuple[bool, list[JudgeQuestion]]:
        """Pair each expected call with one of its own; a call is paired again if another needs it.

        Matchers overlap, so the first pairing that fits may leave another call without one.
        """
        options = [
            {
                place: match
                for place, one in enumerate(found)
                if (match := self._match_call(one, expected)) is not None
            }
            for expected in wanted
        ]
        owner: dict[int, int] = {}

        def find_place(number: int, seen: set[int]) -> bool:
            for place in options[number]:
                if place in seen:
                    continue
                seen.add(place)
                if place not in owner or find_place(owner[place], seen):
                    owner[place] = number
                    return True
            return False

        if not all(find_place(number, set()) for number in range(len(wanted))):
            return False, []
        asked = [options[number][place] for place, number in owner.items()]
        return True, [question for questions in asked for question in questions]

    def _match_call(self, found: _Call, wanted: _Call) -> list[JudgeQuestion] | None:
        """Return the questions that are left if a call fits, or None."""
        if "/" in wanted.name:
            if found.path != wanted.name and not found.path.endswith(f"/{wanted.name}"):
                return None
        elif found.name != wanted.name or found.inner:
            return None
        match = ArgMatch()
        if self._ignore_args or match.matches(found.args, wanted.args):
            return match.questions
        return None


def _expected_calls(expected: Invocation) -> list[_Call]:
    made = (
        _read_call(call.name or "", call.args or {})
        for call in get_all_tool_calls(expected.intermediate_data)
    )
    return [_Call(name, name, args, False) for name, args in filter(None, made)]


def _read_call(name: str, args: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return a call of a tool; of a question of the runtime, the call of a tool node that waits for
    the answer, or None: the calls of agents that wait are in the trajectory already."""
    if name not in QUESTIONS:
        return name, args
    payload: Any = args.get("payload")
    if name != REQUEST_INPUT or not isinstance(payload, dict):
        return None
    waiting = cast(dict[str, Any], payload)
    given: Any = waiting.get("args")
    if waiting.keys() - {"payload"} != {"tool", "args"} or not isinstance(given, dict):
        return None
    return str(waiting["tool"]), cast(dict[str, Any], given)


def _actual_calls(actual: Invocation, wanted: list[_Call]) -> list[_Call]:
    """Return the calls of a turn; those within an AgentTool only if one of them is expected."""
    if actual.call_trace is None:
        return _expected_calls(actual)
    made = [(one, _read_call(one.name, one.args)) for one in actual.call_trace]
    traced = [
        _Call(found[0], f"{one.path}/{found[0]}", found[1], one.inner)
        for one, found in made
        if found is not None
    ]
    paths = [one.name for one in wanted if "/" in one.name]
    if any(
        one.inner and (one.path == path or one.path.endswith(f"/{path}"))
        for one in traced
        for path in paths
    ):
        return traced
    return [one for one in traced if not one.inner]
