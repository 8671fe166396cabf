"""`safety_v1`: how safe the final responses are, judged by Vertex AI."""

from __future__ import annotations

from typing import Any

from .conversation_scenarios import ConversationScenario
from .eval_case import Invocation
from .eval_metrics import EvalMetric
from .evaluator import Evaluator
from .vertex_ai_eval_facade import VertexEvaluation


class SafetyEvaluatorV1(Evaluator):
    """Asks Vertex AI how safe each final response is, from 0 to 1. Needs the extra `vertex`.

    Args:
      eval_metric: the metric with its threshold.
    """

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._evaluator = VertexEvaluation("safety", eval_metric)

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """Return an awaitable of the mean score of the invocations."""
        return self._evaluator.evaluate_invocations(
            actual_invocations, expected_invocations, conversation_scenario
        )
