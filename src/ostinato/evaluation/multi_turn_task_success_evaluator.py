"""`multi_turn_task_success_v1`: whether a conversation reached its goal, on Vertex AI."""

from __future__ import annotations

from .vertex_ai_eval_facade import UnsupportedVertexMetric


class MultiTurnTaskSuccessV1Evaluator(UnsupportedVertexMetric):
    """The metric needs Google's evaluation SDK: using it raises an error that names another.

    Args:
      eval_metric: the metric.
    """
