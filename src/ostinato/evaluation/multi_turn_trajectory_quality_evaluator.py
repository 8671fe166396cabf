"""`multi_turn_trajectory_quality_v1`: the course of a conversation, on Vertex AI."""

from __future__ import annotations

from .vertex_ai_eval_facade import UnsupportedVertexMetric


class MultiTurnTrajectoryQualityV1Evaluator(UnsupportedVertexMetric):
    """The metric needs Google's evaluation SDK: using it raises an error that names another.

    Args:
      eval_metric: the metric.
    """
