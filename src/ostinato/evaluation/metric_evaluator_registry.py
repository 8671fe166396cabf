"""MetricEvaluatorRegistry: which class evaluates a metric. Built-in classes load at their first
use."""

from __future__ import annotations

import difflib

from pydantic.alias_generators import to_camel

from .. import _lazy
from ..errors import InputValidationError, NotFoundError
from .custom_metric_evaluator import CustomMetricEvaluator
from .eval_config import CustomMetricConfig, EvalConfig
from .eval_metrics import BaseCriterion, EvalMetric, Interval, MetricInfo, MetricValueInfo
from .evaluator import Evaluator
from .metric_info_providers import METRIC_NAMES, describe_metric

_FOLDER = "ostinato.evaluation"
_RESPONSE = f"{_FOLDER}.response_evaluator:ResponseEvaluator"
_USAGE = f"{_FOLDER}.usage_evaluator:UsageEvaluator"

_BUILT_IN = {
    "tool_trajectory_avg_score": f"{_FOLDER}.trajectory_evaluator:TrajectoryEvaluator",
    "response_evaluation_score": _RESPONSE,
    "response_match_score": _RESPONSE,
    "safety_v1": f"{_FOLDER}.safety_evaluator:SafetyEvaluatorV1",
    "final_response_match_v2": f"{_FOLDER}.final_response_match_v2:FinalResponseMatchV2Evaluator",
    "rubric_based_final_response_quality_v1": (
        f"{_FOLDER}.rubric_based_final_response_quality_v1:"
        "RubricBasedFinalResponseQualityV1Evaluator"
    ),
    "hallucinations_v1": f"{_FOLDER}.hallucinations_v1:HallucinationsV1Evaluator",
    "rubric_based_tool_use_quality_v1": (
        f"{_FOLDER}.rubric_based_tool_use_quality_v1:RubricBasedToolUseV1Evaluator"
    ),
    "per_turn_user_simulator_quality_v1": (
        f"{_FOLDER}.simulation.per_turn_user_simulator_quality_v1:PerTurnUserSimulatorQualityV1"
    ),
    "multi_turn_task_success_v1": (
        f"{_FOLDER}.multi_turn_task_success_evaluator:MultiTurnTaskSuccessV1Evaluator"
    ),
    "multi_turn_trajectory_quality_v1": (
        f"{_FOLDER}.multi_turn_trajectory_quality_evaluator:MultiTurnTrajectoryQualityV1Evaluator"
    ),
    "multi_turn_tool_use_quality_v1": (
        f"{_FOLDER}.multi_turn_tool_use_quality_evaluator:MultiTurnToolUseQualityV1Evaluator"
    ),
    "rubric_based_multi_turn_trajectory_quality_v1": (
        f"{_FOLDER}.rubric_based_multi_turn_trajectory_evaluator:"
        "RubricBasedMultiTurnTrajectoryEvaluator"
    ),
    "final_session_state_v1": f"{_FOLDER}.final_state_evaluator:FinalStateEvaluator",
    "tool_call_count_v1": _USAGE,
    "inference_call_count_v1": _USAGE,
    "token_usage_v1": _USAGE,
    "invocation_duration_v1": _USAGE,
    "cost_v1": _USAGE,
}


class MetricEvaluatorRegistry:
    """Evaluator classes by name of the metric."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[type[Evaluator] | str, MetricInfo]] = {}

    def get_evaluator(self, eval_metric: EvalMetric) -> Evaluator:
        """Return a new evaluator of a metric.

        Args:
          eval_metric: the metric with its criterion.

        Raises:
          NotFoundError: no evaluator is registered; the message names the nearest metric.
          ValueError: the criterion does not fit the metric.
        """
        name = eval_metric.metric_name
        if name not in self._known:
            near = difflib.get_close_matches(name, self._known, 1)
            hint = f"Did you mean {near[0]!r}?" if near else "Register it as a custom metric."
            raise NotFoundError(f"There is no metric {name!r}. {hint}")
        found = self._load(name)
        if issubclass(found, CustomMetricEvaluator):
            path = eval_metric.custom_function_path
            if path is None:
                raise InputValidationError(
                    f"The custom metric {name!r} has no function: name one in custom_metrics."
                )
            return found(eval_metric=eval_metric, custom_function_path=path)
        if isinstance(self._known[name][0], str) or found.__module__.startswith(_FOLDER):
            _check_criterion(eval_metric, found.criterion_type)
        return found(eval_metric=eval_metric)  # type: ignore[call-arg]

    def register_evaluator(self, metric_info: MetricInfo, evaluator: type[Evaluator]) -> None:
        """Register a class; an earlier one of the metric is replaced.

        Args:
          metric_info: name and description of the metric.
          evaluator: takes `eval_metric` by keyword.
        """
        self._known[str(metric_info.metric_name)] = (evaluator, metric_info)

    def get_registered_metrics(self) -> list[MetricInfo]:
        """Return the descriptions of all metrics."""
        return [info.model_copy(deep=True) for _, info in self._known.values()]

    def register_built_in(self) -> None:
        """Register the built-in metrics."""
        for name in METRIC_NAMES:
            self._known[name] = (_BUILT_IN[name], describe_metric(name))

    def copy_registry(self) -> MetricEvaluatorRegistry:
        """Return a registry with the same metrics, to add others."""
        twin = MetricEvaluatorRegistry()
        twin._known = dict(self._known)
        return twin

    def _load(self, name: str) -> type[Evaluator]:
        found, info = self._known[name]
        if isinstance(found, str):
            found = _lazy.load(found)
            self._known[name] = (found, info)
        return found


def _check_criterion(metric: EvalMetric, criterion_type: type[BaseCriterion]) -> None:
    """Refuse a misspelled field of a criterion and a threshold that no score can reach."""
    criterion = metric.criterion
    known = list(criterion_type.model_fields)
    spelled = [*known, *map(to_camel, known)]
    for name in (criterion.model_extra or {}) if criterion is not None else ():
        near = difflib.get_close_matches(name, spelled, 1)
        if name not in spelled and near:
            raise InputValidationError(
                f"The criterion of {metric.metric_name} has an unknown field {name!r}. Did you "
                f"mean {near[0]!r}?"
            )
    interval = describe_metric(metric.metric_name).metric_value_info.interval
    threshold = metric.threshold
    if threshold is not None and interval is not None:
        if not interval.min_value <= threshold <= interval.max_value:
            raise InputValidationError(
                f"The threshold of {metric.metric_name} is {threshold:g}; it must be from "
                f"{interval.min_value:g} to {interval.max_value:g}."
            )


def make_registry(
    config: EvalConfig, base: MetricEvaluatorRegistry | None = None
) -> MetricEvaluatorRegistry:
    """Return a registry with the custom metrics of a config.

    Args:
      config: the config.
      base: the registry to extend; the default one if None.
    """
    registry = (base or DEFAULT_METRIC_EVALUATOR_REGISTRY).copy_registry()
    for name, custom in (config.custom_metrics or {}).items():
        registry.register_evaluator(_describe_custom(name, custom), CustomMetricEvaluator)
    return registry


def _describe_custom(name: str, custom: CustomMetricConfig) -> MetricInfo:
    if custom.metric_info is not None:
        return custom.metric_info.model_copy(update={"metric_name": name})
    return MetricInfo(
        metric_name=name,
        description=custom.description,
        metric_value_info=MetricValueInfo(interval=Interval(min_value=0.0, max_value=1.0)),
    )


DEFAULT_METRIC_EVALUATOR_REGISTRY = MetricEvaluatorRegistry()
DEFAULT_METRIC_EVALUATOR_REGISTRY.register_built_in()
