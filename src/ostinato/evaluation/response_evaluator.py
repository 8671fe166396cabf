"""ResponseEvaluator: `response_match_score` here, `response_evaluation_score` on Vertex AI."""

from __future__ import annotations

from typing import Any

from .conversation_scenarios import ConversationScenario
from .eval_case import Invocation
from .eval_metrics import EvalMetric, PrebuiltMetrics
from .evaluator import Evaluator, NotApplicableError
from .final_response_match_v1 import RougeEvaluator
from .vertex_ai_eval_facade import VertexEvaluation


class ResponseEvaluator(Evaluator):
    """Evaluates final responses with one of two metrics.

    Args:
      threshold: the lowest score that passes, without `eval_metric`.
      metric_name: the metric, without `eval_metric`.
      eval_metric: the metric with its criterion.

    Raises:
      ValueError: the metric is another one, or given twice.
    """

    def __init__(
        self,
        threshold: float | None = None,
        metric_name: str | None = None,
        eval_metric: EvalMetric | None = None,
    ) -> None:
        if eval_metric is not None and (threshold is not None or metric_name is not None):
            raise ValueError(
                "Give ResponseEvaluator an eval_metric, or a metric_name and a threshold."
            )
        if eval_metric is None:
            eval_metric = EvalMetric(metric_name=metric_name or "", threshold=threshold)
        if eval_metric.metric_name == PrebuiltMetrics.RESPONSE_MATCH_SCORE.value:
            self._evaluator: Evaluator = RougeEvaluator(eval_metric)
        elif eval_metric.metric_name == PrebuiltMetrics.RESPONSE_EVALUATION_SCORE.value:
            self._evaluator = VertexEvaluation("coherence", eval_metric)
        else:
            raise ValueError(f"ResponseEvaluator does not evaluate {eval_metric.metric_name!r}.")

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """Return the mean score of the invocations; an awaitable of it for Vertex AI.

        Raises:
          NotApplicableError: there are no expected invocations.
        """
        if expected_invocations is None:
            raise NotApplicableError(
                "The metric needs expected invocations, and a scenario has none."
            )
        return self._evaluator.evaluate_invocations(
            actual_invocations, expected_invocations, conversation_scenario
        )
