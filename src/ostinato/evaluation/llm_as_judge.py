"""LlmAsJudge: base of metrics that a model judges, invocation by invocation."""

from __future__ import annotations

import abc
from typing import Any

from pydantic import ValidationError

from ..models.llm_response import LlmResponse
from .conversation_scenarios import ConversationScenario
from .eval_base_model import EvalBaseModel
from .eval_case import Invocation
from .eval_metrics import BaseCriterion, EvalMetric, explain_criterion
from .eval_rubrics import RubricScore
from .evaluator import (
    EvaluationResult,
    Evaluator,
    NotApplicableError,
    PerInvocationResult,
    compare_score,
)
from .judge import Judge
from .llm_as_judge_utils import get_text_from_content

_SHOWN = 100  # characters of an answer without a verdict


class AutoRaterScore(EvalBaseModel):
    """What one answer of the judge says.

    Attributes:
      score: the score; None if the answer has none.
      rubric_scores: the score of each rubric.
    """

    score: float | None = None
    rubric_scores: list[RubricScore] | None = None


def read_criterion(eval_metric: EvalMetric, criterion_type: type[BaseCriterion]) -> Any:
    """Return the criterion of a metric as the type that it needs.

    Args:
      eval_metric: the metric.
      criterion_type: the type.

    Raises:
      ValueError: there is no criterion, or it does not fit.
    """
    if eval_metric.criterion is None:
        raise ValueError(
            f"{eval_metric.metric_name} needs a criterion of the type {criterion_type.__name__}."
        )
    try:
        return criterion_type.model_validate(eval_metric.criterion.model_dump())
    except ValidationError as error:
        raise ValueError(explain_criterion(eval_metric.metric_name, error)) from error


class LlmAsJudge(Evaluator):
    """Asks a judge about each invocation several times, and combines the answers.

    Subclasses write the prompt, read an answer, and combine samples and invocations.

    Args:
      eval_metric: the metric with its criterion.
      criterion_type: the type of criterion that the metric needs.
      expected_invocations_required: whether it compares with expected invocations.

    Raises:
      ValueError: the criterion does not fit.
      ModelUnavailableError: the judge model is not available.
    """

    def __init__(
        self,
        eval_metric: EvalMetric,
        criterion_type: type[BaseCriterion],
        expected_invocations_required: bool = False,
    ) -> None:
        self._eval_metric = eval_metric
        self._expected_invocations_required = expected_invocations_required
        self._criterion: Any = read_criterion(eval_metric, criterion_type)
        self._judge = Judge(self._criterion.judge_model_options)

    @abc.abstractmethod
    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        """Return the prompt for an invocation."""

    @abc.abstractmethod
    def convert_auto_rater_response_to_score(
        self, auto_rater_response: LlmResponse
    ) -> AutoRaterScore:
        """Return the score in an answer of the judge; an empty one if there is not one."""

    @abc.abstractmethod
    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """Return one result for the samples of an invocation."""

    def describe_gap(self, result: PerInvocationResult) -> str:
        """Return what the judge gave no verdict on in an invocation; "" if nothing lacks one."""
        return "" if result.score is not None else "it"

    @abc.abstractmethod
    def aggregate_invocation_results(
        self, per_invocation_results: list[PerInvocationResult]
    ) -> EvaluationResult:
        """Return one result for the invocations of a case."""

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Return what the judge says of a case.

        Raises:
          NotApplicableError: the metric needs expected invocations, and there are none.
          ProviderError: the judge cannot be reached.
        """
        if self._expected_invocations_required and expected_invocations is None:
            raise NotApplicableError(
                f"{self._eval_metric.metric_name} compares with expected invocations, and the "
                "case is a scenario without any."
            )
        results: list[PerInvocationResult] = []
        gaps: list[str] = []
        said = ""
        for number, actual in enumerate(actual_invocations):
            expected = expected_invocations[number] if expected_invocations else None
            # Formatted, asked and read in turn: subclasses keep an invocation's rubrics meanwhile.
            prompt = self.format_auto_rater_prompt(actual, expected)
            samples: list[PerInvocationResult] = []
            answers = await self._judge.ask_responses(prompt)
            for answer in answers:
                found = self.convert_auto_rater_response_to_score(answer)
                samples.append(
                    PerInvocationResult(
                        actual_invocation=actual,
                        expected_invocation=expected,
                        score=found.score,
                        eval_status=compare_score(found.score, self._eval_metric.threshold),
                        rubric_scores=found.rubric_scores,
                    )
                )
            results.append(self.aggregate_per_invocation_samples(samples))
            gap = self.describe_gap(results[-1])
            if gap == "it":
                said = said or f": {_describe_answer(answers[0])}"
            gaps += [f"turn {number + 1}" + ("" if gap == "it" else f" ({gap})")] if gap else []
        if not results:
            return EvaluationResult()
        found = self.aggregate_invocation_results(results)
        if gaps:
            found.problem = f"The judge gave no verdict on {', '.join(gaps)}{said}."
        return found


def _describe_answer(answer: LlmResponse) -> str:
    """Return what a judge said in place of a verdict, such as a refusal."""
    if answer.error_code:
        return f"{answer.error_code}: {answer.error_message or ''}".strip().rstrip(".")
    text = " ".join((get_text_from_content(answer.content) or "").split())
    if not text:
        return "an empty answer"
    return f"'{text if len(text) <= _SHOWN else f'{text[: _SHOWN - 1]}…'}'"


def take_majority(samples: list[PerInvocationResult]) -> PerInvocationResult:
    """Return a sample of the majority, of those with score 1 and those with score 0.

    Args:
      samples: the samples of one invocation. A tie counts as 0; if none has a score, the first is
        returned.
    """
    positive = [one for one in samples if one.score == 1.0]
    negative = [one for one in samples if one.score == 0.0]
    if not positive and not negative:
        return samples[0]
    return positive[0] if len(positive) > len(negative) else negative[0]
