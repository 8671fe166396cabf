"""`multi_turn_tool_use_quality_v1`: the use of tools in a conversation, on Vertex AI."""

from __future__ import annotations

from .vertex_ai_eval_facade import UnsupportedVertexMetric


class MultiTurnToolUseQualityV1Evaluator(UnsupportedVertexMetric):
    """The metric needs Google's evaluation SDK: using it raises an error that names another.

    Args:
      eval_metric: the metric.
    """
