"""Counts and costs of a case, with the threshold as an upper limit."""

from __future__ import annotations

from collections.abc import Callable

from .eval_metrics import EvalMetric
from .evaluator import (
    CaseEvaluator,
    CaseOutcome,
    EvalStatus,
    EvaluationResult,
    PerInvocationResult,
)
from .turn_usage import TurnUsage

_MEASURES: dict[str, Callable[[TurnUsage], float | None]] = {
    "tool_call_count_v1": lambda usage: usage.tool_calls,
    "inference_call_count_v1": lambda usage: usage.model_calls,
    "token_usage_v1": lambda usage: usage.tokens,
    "invocation_duration_v1": lambda usage: usage.seconds,
    "cost_v1": lambda usage: usage.cost,
}
_LONGEST = "invocation_duration_v1"  # of the turns the longest counts; of others, the sum


class UsageEvaluator(CaseEvaluator):
    """Compares what a case used with a limit.

    Args:
      eval_metric: the metric; its threshold is the limit, and without one it always passes.
    """

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._name = eval_metric.metric_name
        self._limit = eval_metric.threshold

    def evaluate_case(self, outcome: CaseOutcome) -> EvaluationResult:
        """Return what the case used.

        Raises:
          ValueError: the usage is not known, or a model has no price.
        """
        if outcome.usage is None:
            raise ValueError(f"{self._name} needs the usage of the run, which is not recorded.")
        found = [_MEASURES[self._name](one) for one in outcome.usage]
        numbers = [one for one in found if one is not None]
        if len(numbers) < len(found):
            models = sorted({name for one in outcome.usage for name in one.unpriced})
            raise ValueError(
                f"{self._name} needs the prices of {', '.join(models)}; give them in `budget` of "
                'the config: {"prices": {NAME: {"input": ..., "output": ...}}}.'
            )
        total = max(numbers, default=0.0) if self._name == _LONGEST else sum(numbers)
        return EvaluationResult(
            overall_score=total,
            overall_eval_status=self._compare(total),
            per_invocation_results=[
                PerInvocationResult(
                    actual_invocation=invocation, score=score, eval_status=self._compare(score)
                )
                for invocation, score in zip(outcome.invocations, numbers, strict=True)
            ],
        )

    def _compare(self, number: float) -> EvalStatus:
        over = self._limit is not None and number > self._limit
        return EvalStatus.FAILED if over else EvalStatus.PASSED
