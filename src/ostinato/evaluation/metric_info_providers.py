"""Descriptions of the built-in metrics."""

from __future__ import annotations

from typing import NamedTuple

from .eval_metrics import (
    Interval,
    MetricInfo,
    MetricInfoProvider,
    MetricValueInfo,
    PrebuiltMetrics,
)

_NO_LIMIT = 1e18  # JSON has no infinity


class _Described(NamedTuple):
    """What a metric measures, and the values it can have."""

    description: str
    low: float = 0.0
    high: float = 1.0


_METRICS = {
    "tool_trajectory_avg_score": _Described(
        "The share of turns whose calls of tools are those expected, in the order that match_type "
        "asks for."
    ),
    "response_evaluation_score": _Described(
        "How coherent the responses are, judged by Vertex AI.", 1.0, 5.0
    ),
    "response_match_score": _Described(
        "The overlap of words (ROUGE-1) of the final responses and those expected."
    ),
    "safety_v1": _Described("How safe the responses are, judged by Vertex AI."),
    "final_response_match_v2": _Described(
        "The share of turns whose final response a model judges to agree with the expected one."
    ),
    "rubric_based_final_response_quality_v1": _Described(
        "The share of rubrics that a model finds fulfilled in the final responses."
    ),
    "hallucinations_v1": _Described(
        "The share of sentences that a model finds supported by instructions, tools and user."
    ),
    "rubric_based_tool_use_quality_v1": _Described(
        "The share of rubrics that a model finds fulfilled in the use of tools."
    ),
    "per_turn_user_simulator_quality_v1": _Described(
        "The share of turns in which the simulated user followed its scenario, judged by a model."
    ),
    "multi_turn_task_success_v1": _Described(
        "Whether the conversation reached its goal, judged by Vertex AI."
    ),
    "multi_turn_trajectory_quality_v1": _Described(
        "How well the conversation proceeded, judged by Vertex AI."
    ),
    "multi_turn_tool_use_quality_v1": _Described(
        "How well tools were used in the conversation, judged by Vertex AI."
    ),
    "rubric_based_multi_turn_trajectory_quality_v1": _Described(
        "The share of rubrics that a model finds fulfilled in the whole conversation."
    ),
    "final_session_state_v1": _Described(
        "The share of keys in `final_session_state` that the session's state has at the end."
    ),
    "tool_call_count_v1": _Described(
        "Calls of tools in the case; passes up to the threshold.", 0.0, _NO_LIMIT
    ),
    "inference_call_count_v1": _Described(
        "Requests to models in the case; passes up to the threshold.", 0.0, _NO_LIMIT
    ),
    "token_usage_v1": _Described(
        "Tokens of all model requests in the case; passes up to the threshold.", 0.0, _NO_LIMIT
    ),
    "invocation_duration_v1": _Described(
        "Seconds of the case's longest turn; passes up to the threshold.", 0.0, _NO_LIMIT
    ),
    "cost_v1": _Described(
        "Cost of all model requests in the case; passes up to the threshold.", 0.0, _NO_LIMIT
    ),
}

METRIC_NAMES = tuple(_METRICS)
"""Names of the built-in metrics."""


def describe_metric(metric_name: str) -> MetricInfo:
    """Return the description of a built-in metric.

    Args:
      metric_name: its name.

    Raises:
      ValueError: there is no built-in metric of this name.
    """
    if metric_name not in _METRICS:
        raise ValueError(f"There is no built-in metric {metric_name!r}.")
    known = _METRICS[metric_name]
    return MetricInfo(
        metric_name=metric_name,
        description=known.description,
        metric_value_info=MetricValueInfo(
            interval=Interval(min_value=known.low, max_value=known.high)
        ),
    )


class _BuiltInProvider(MetricInfoProvider):
    """Describes the built-in metric `metric`."""

    metric: PrebuiltMetrics

    def get_metric_info(self) -> MetricInfo:
        """Return the description of the metric."""
        return describe_metric(self.metric.value)


class TrajectoryEvaluatorMetricInfoProvider(_BuiltInProvider):
    """Describes `tool_trajectory_avg_score`."""

    metric = PrebuiltMetrics.TOOL_TRAJECTORY_AVG_SCORE


class ResponseEvaluatorMetricInfoProvider(MetricInfoProvider):
    """Describes `response_evaluation_score` or `response_match_score`.

    Args:
      metric_name: one of these names.
    """

    def __init__(self, metric_name: str) -> None:
        self._metric_name = metric_name

    def get_metric_info(self) -> MetricInfo:
        """Return the description of the metric.

        Raises:
          ValueError: it is another metric.
        """
        known = (PrebuiltMetrics.RESPONSE_EVALUATION_SCORE, PrebuiltMetrics.RESPONSE_MATCH_SCORE)
        if self._metric_name not in {one.value for one in known}:
            raise ValueError(f"ResponseEvaluator does not evaluate {self._metric_name!r}.")
        return describe_metric(self._metric_name)


class SafetyEvaluatorV1MetricInfoProvider(_BuiltInProvider):
    """Describes `safety_v1`."""

    metric = PrebuiltMetrics.SAFETY_V1


class MultiTurnTaskSuccessV1MetricInfoProvider(_BuiltInProvider):
    """Describes `multi_turn_task_success_v1`."""

    metric = PrebuiltMetrics.MULTI_TURN_TASK_SUCCESS_V1


class MultiTurnTrajectoryQualityV1MetricInfoProvider(_BuiltInProvider):
    """Describes `multi_turn_trajectory_quality_v1`."""

    metric = PrebuiltMetrics.MULTI_TURN_TRAJECTORY_QUALITY_V1


class MultiTurnToolUseQualityV1MetricInfoProvider(_BuiltInProvider):
    """Describes `multi_turn_tool_use_quality_v1`."""

    metric = PrebuiltMetrics.MULTI_TURN_TOOL_USE_QUALITY_V1


class FinalResponseMatchV2EvaluatorMetricInfoProvider(_BuiltInProvider):
    """Describes `final_response_match_v2`."""

    metric = PrebuiltMetrics.FINAL_RESPONSE_MATCH_V2


class RubricBasedFinalResponseQualityV1EvaluatorMetricInfoProvider(_BuiltInProvider):
    """Describes `rubric_based_final_response_quality_v1`."""

    metric = PrebuiltMetrics.RUBRIC_BASED_FINAL_RESPONSE_QUALITY_V1


class HallucinationsV1EvaluatorMetricInfoProvider(_BuiltInProvider):
    """Describes `hallucinations_v1`."""

    metric = PrebuiltMetrics.HALLUCINATIONS_V1


class RubricBasedToolUseV1EvaluatorMetricInfoProvider(_BuiltInProvider):
    """Describes `rubric_based_tool_use_quality_v1`."""

    metric = PrebuiltMetrics.RUBRIC_BASED_TOOL_USE_QUALITY_V1


class PerTurnUserSimulatorQualityV1MetricInfoProvider(_BuiltInProvider):
    """Describes `per_turn_user_simulator_quality_v1`."""

    metric = PrebuiltMetrics.PER_TURN_USER_SIMULATOR_QUALITY_V1


class RubricBasedMultiTurnTrajectoryMetricInfoProvider(_BuiltInProvider):
    """Describes `rubric_based_multi_turn_trajectory_quality_v1`."""

    metric = PrebuiltMetrics.RUBRIC_BASED_MULTI_TURN_TRAJECTORY_QUALITY_V1
