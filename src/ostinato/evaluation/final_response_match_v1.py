"""`response_match_score`: the ROUGE-1 of the final response and the expected one."""

from __future__ import annotations

from typing import Any

from .. import types
from .conversation_scenarios import ConversationScenario
from .eval_case import Invocation
from .eval_metrics import EvalMetric
from .evaluator import (
    EvaluationResult,
    Evaluator,
    NotApplicableError,
    PerInvocationResult,
    compare_score,
    get_overall_result,
)
from .llm_as_judge_utils import get_text_from_content
from .rouge import score_rouge_1


class RougeEvaluator(Evaluator):
    """Compares the words of final responses with those expected; from 0 to 1.

    Args:
      eval_metric: the metric with its threshold.
    """

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._threshold = eval_metric.threshold

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Return the mean score of the invocations.

        Raises:
          NotApplicableError: there are no expected invocations.
        """
        if expected_invocations is None:
            raise NotApplicableError(
                "response_match_score compares with expected responses, and the case is a "
                "scenario without any."
            )
        results: list[PerInvocationResult] = []
        for actual, expected in zip(actual_invocations, expected_invocations, strict=False):
            score = _score_response(actual.final_response, expected.final_response)
            results.append(
                PerInvocationResult(
                    actual_invocation=actual,
                    expected_invocation=expected,
                    score=score,
                    eval_status=compare_score(score, self._threshold),
                )
            )
        return get_overall_result(results, self._threshold)


def _score_response(actual: types.Content | None, expected: types.Content | None) -> float:
    found, wanted = get_text_from_content(actual) or "", get_text_from_content(expected) or ""
    if not found and not wanted:
        ends = _list_ends(actual)
        return float(bool(ends) and ends == _list_ends(expected))
    return score_rouge_1(found, wanted).fmeasure


def _list_ends(content: types.Content | None) -> list[Any]:
    """Return the calls and results with which a turn ends that waits for a person."""
    ends: list[Any] = []
    for part in (content.parts if content is not None else None) or ():
        if part.function_call is not None:
            ends.append(part.function_call.name)  # the trajectory judges its arguments
        if part.function_response is not None:
            ends.append((part.function_response.name, part.function_response.response))
    return ends
