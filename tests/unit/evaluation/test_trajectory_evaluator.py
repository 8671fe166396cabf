"""The trajectory metric: match types, matchers, inner calls, and a judge for arguments."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ostinato.evaluation.eval_case import Invocation, TracedCall
from ostinato.evaluation.eval_metrics import BaseCriterion, EvalMetric, EvalStatus
from ostinato.evaluation.trajectory_evaluator import TrajectoryEvaluator

from .builders import turn

A, B, C = ("a", {"x": 1}), ("b", {"y": 2}), ("c", {})


def evaluator(**fields: Any) -> TrajectoryEvaluator:
    criterion = BaseCriterion.model_validate({"threshold": 1.0, **fields})
    metric = EvalMetric(metric_name="tool_trajectory_avg_score", threshold=1.0, criterion=criterion)
    return TrajectoryEvaluator(eval_metric=metric)


def fits(actual: list[Any], expected: list[Any], **fields: Any) -> bool:
    result = evaluator(**fields).evaluate_invocations([turn(calls=actual)], [turn(calls=expected)])
    assert result.overall_score in (0.0, 1.0)
    return result.overall_eval_status is EvalStatus.PASSED


CASES = [
    ("EXACT", [A, B], [A, B], True),
    ("EXACT", [A, B], [B, A], False),
    ("EXACT", [A, B, C], [A, B], False),
    ("EXACT", [], [], True),
    ("IN_ORDER", [A, C, B], [A, B], True),
    ("IN_ORDER", [B, A], [A, B], False),
    ("IN_ORDER", [A], [], True),
    ("IN_ORDER", [], [A], False),
    (1, [A, C, B], [A, B], True),
    ("ANY_ORDER", [B, C, A], [A, B], True),
    ("ANY_ORDER", [A, B], [A, A], False),
    (2, [A], [], True),
]


@pytest.mark.parametrize(("kind", "actual", "expected", "passes"), CASES)
def test_a_match_type_compares(kind: Any, actual: Any, expected: Any, passes: bool) -> None:
    assert fits(actual, expected, match_type=kind) is passes


@pytest.mark.parametrize("name", ["adk_request_confirmation", "adk_request_credential"])
def test_a_question_of_the_runtime_is_no_call(name: str) -> None:
    asked, recorded = (name, {"id": "new"}), (name, {"id": "old"})
    assert fits([A, asked], [A])
    assert fits([A, asked], [A, recorded])
    assert not fits([asked], [A])


def test_arguments_can_be_ignored() -> None:
    assert fits([A], [("a", {})], ignore_args=True)
    assert not fits([A], [("b", {})], ignore_args=True)


def test_any_order_pairs_matchers_so_that_all_fit() -> None:
    loose, strict = ("a", {"x": {"$any": True}}), ("a", {"x": 1})
    assert fits([A, ("a", {"x": 2})], [loose, strict], match_type="ANY_ORDER")


def traced(*calls: tuple[str, str, bool]) -> Invocation:
    trace = [TracedCall(path=path, name=name, args={}, inner=inner) for path, name, inner in calls]
    return turn().model_copy(update={"call_trace": trace})


TRACE = traced(
    ("root", "researcher", False), ("root/researcher", "search", True), ("billing", "pay", False)
)


@pytest.mark.parametrize(
    ("names", "passes"),
    [
        (["researcher", "pay"], True),
        (["researcher", "researcher/search", "pay"], True),
        (["researcher", "root/researcher/search", "billing/pay"], True),
        (["researcher", "billing/pay"], True),
        (["researcher", "search", "pay"], False),
        (["researcher", "root/pay"], False),
        (["researcher/search"], False),
    ],
)
def test_paths_name_inner_calls_and_agents(names: list[str], passes: bool) -> None:
    expected = turn(calls=[(name, {}) for name in names])
    result = evaluator().evaluate_invocations([TRACE], [expected])
    assert (result.overall_score == 1.0) is passes


def test_the_mean_of_the_turns_counts() -> None:
    result = TrajectoryEvaluator(threshold=0.5).evaluate_invocations(
        [turn(calls=[A]), turn(calls=[B])], [turn(calls=[A]), turn(calls=[A])]
    )
    assert (result.overall_score, result.overall_eval_status) == (0.5, EvalStatus.PASSED)
    statuses = [one.eval_status for one in result.per_invocation_results]
    assert statuses == [EvalStatus.PASSED, EvalStatus.FAILED]


@pytest.mark.parametrize(("answers", "score"), [("yes", 1.0), ("No.", 0.0)])
async def test_a_judge_decides_on_an_argument(judge: Any, answers: str, score: float) -> None:
    judge.answer = lambda prompt: answers
    options = {"judge_model": "judge-1", "num_samples": 3}
    expected = turn(calls=[("a", {"x": {"$judge": "a number below ten"}})])
    found = evaluator(judge_model_options=options).evaluate_invocations(
        [turn(calls=[A])], [expected]
    )
    assert inspect.isawaitable(found)
    assert (await found).overall_score == score
    assert len(judge.prompts) == 3 and "a number below ten" in judge.prompts[0]


async def test_a_judge_without_an_answer_is_an_error(judge: Any) -> None:
    judge.answer = lambda prompt: "perhaps"
    options = {"judge_model": "judge-1", "num_samples": 1}
    expected = turn(calls=[("a", {"x": {"$judge": "z"}})])
    found = evaluator(judge_model_options=options)
    with pytest.raises(ValueError, match="neither yes nor no"):
        await found.evaluate_invocations([turn(calls=[A])], [expected])


def test_a_scenario_has_nothing_to_compare_with() -> None:
    with pytest.raises(ValueError, match="scenario"):
        evaluator().evaluate_invocations([turn()])


def test_threshold_and_metric_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="not both"):
        TrajectoryEvaluator(threshold=1.0, eval_metric=EvalMetric(metric_name="m"))


def test_a_wrong_criterion_is_refused() -> None:
    with pytest.raises(ValueError, match="ToolTrajectoryCriterion"):
        evaluator(match_type="SOMEHOW")
