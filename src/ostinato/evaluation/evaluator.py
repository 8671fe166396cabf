"""Evaluator: base of all metrics, and the records that they return."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from .conversation_scenarios import ConversationScenario
from .eval_case import EvalCase, Invocation
from .eval_metrics import BaseCriterion
from .eval_metrics import EvalStatus as EvalStatus
from .eval_rubrics import RubricScore
from .turn_usage import TurnUsage


class NotApplicableError(ValueError):
    """A metric does not apply to a case, such as a comparison to a case without expectations.

    Such a metric neither passes nor fails a case; any other error leaves the case not evaluated.
    """


class PerInvocationResult(BaseModel):
    """The result of a metric for one invocation.

    Attributes:
      actual_invocation: what happened.
      expected_invocation: what was expected.
      score: the score.
      eval_status: the verdict.
      rubric_scores: the score of each rubric.
    """

    model_config = ConfigDict(defer_build=True)

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    score: float | None = None
    eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    rubric_scores: list[RubricScore] | None = None


class EvaluationResult(BaseModel):
    """The result of a metric for a case.

    Attributes:
      overall_score: the score of the case.
      overall_eval_status: the verdict.
      per_invocation_results: one result for each invocation, in order.
      overall_rubric_scores: the score of each rubric over all invocations.
      not_applicable: why the metric does not apply to the case; it then neither passes nor fails.
        A result of NOT_EVALUATED without this reason leaves the case not evaluated.
      problem: what could not be evaluated, though the rest has a score; the case does not pass.
    """

    model_config = ConfigDict(defer_build=True)

    overall_score: float | None = None
    overall_eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    per_invocation_results: list[PerInvocationResult] = Field(
        default_factory=list[PerInvocationResult]
    )
    overall_rubric_scores: list[RubricScore] | None = None
    not_applicable: str = ""
    problem: str = ""


class Evaluator(abc.ABC):  # noqa: B024
    """A metric; subclasses implement `evaluate_invocations`, plain or `async`."""

    criterion_type: ClassVar[type[BaseCriterion]] = BaseCriterion

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """Evaluate the invocations of a case.

        Args:
          actual_invocations: what happened.
          expected_invocations: what was expected, one for each; None for a scenario.
          conversation_scenario: the scenario, if the case has one.

        Returns:
          An EvaluationResult, or an awaitable of one.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement evaluate_invocations")


class CaseOutcome(BaseModel):
    """All that is known about a case that ran.

    Attributes:
      eval_case: the case.
      invocations: what happened.
      final_state: the session's state at the end.
      usage: what each invocation used.
    """

    model_config = ConfigDict(defer_build=True)

    eval_case: EvalCase
    invocations: list[Invocation]
    final_state: dict[str, Any] | None = None
    usage: list[TurnUsage] | None = None


class CaseEvaluator(Evaluator):
    """A metric that needs more than the invocations: the case, the final state or the usage."""

    @abc.abstractmethod
    def evaluate_case(self, outcome: CaseOutcome) -> EvaluationResult:
        """Evaluate a case.

        Args:
          outcome: the case and what happened.

        Raises:
          ValueError: the outcome lacks what the metric needs.
        """


def get_overall_result(
    results: list[PerInvocationResult], threshold: float | None
) -> EvaluationResult:
    """Return the mean of the scores of invocations as the result of a case.

    Args:
      results: one result for each invocation; those without a score do not count.
      threshold: the lowest mean that passes.
    """
    scores = [one.score for one in results if one.score is not None]
    if not scores:
        return EvaluationResult(per_invocation_results=results)
    mean = sum(scores) / len(scores)
    return EvaluationResult(
        overall_score=mean,
        overall_eval_status=compare_score(mean, threshold),
        per_invocation_results=results,
    )


def compare_score(score: float | None, threshold: float | None) -> EvalStatus:
    """Return PASSED for a score of at least the threshold.

    Args:
      score: the score; NOT_EVALUATED if None.
      threshold: the threshold.

    Raises:
      ValueError: there is a score and no threshold.
    """
    if score is None:
        return EvalStatus.NOT_EVALUATED
    if threshold is None:
        raise ValueError("The metric has no threshold; give it one, such as 0.8.")
    return EvalStatus.PASSED if score >= threshold else EvalStatus.FAILED
