"""Metrics, their criteria and their results, as records."""

from __future__ import annotations

import abc
import enum
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    field_validator,
)

from .. import types
from .eval_base_model import EvalBaseModel, NewerFieldsModel, TwoSpellingsModel
from .eval_case import Invocation
from .eval_rubrics import Rubric, RubricScore


class EvalStatus(enum.Enum):
    """The verdict of a metric or a case; JSON holds the number."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3


class PrebuiltMetrics(enum.Enum):
    """Names of the metrics that google-adk 2.3.0 has, too."""

    TOOL_TRAJECTORY_AVG_SCORE = "tool_trajectory_avg_score"
    RESPONSE_EVALUATION_SCORE = "response_evaluation_score"
    RESPONSE_MATCH_SCORE = "response_match_score"
    SAFETY_V1 = "safety_v1"
    FINAL_RESPONSE_MATCH_V2 = "final_response_match_v2"
    RUBRIC_BASED_FINAL_RESPONSE_QUALITY_V1 = "rubric_based_final_response_quality_v1"
    HALLUCINATIONS_V1 = "hallucinations_v1"
    RUBRIC_BASED_TOOL_USE_QUALITY_V1 = "rubric_based_tool_use_quality_v1"
    PER_TURN_USER_SIMULATOR_QUALITY_V1 = "per_turn_user_simulator_quality_v1"
    MULTI_TURN_TASK_SUCCESS_V1 = "multi_turn_task_success_v1"
    MULTI_TURN_TRAJECTORY_QUALITY_V1 = "multi_turn_trajectory_quality_v1"
    MULTI_TURN_TOOL_USE_QUALITY_V1 = "multi_turn_tool_use_quality_v1"
    RUBRIC_BASED_MULTI_TURN_TRAJECTORY_QUALITY_V1 = "rubric_based_multi_turn_trajectory_quality_v1"


MetricName: TypeAlias = str | PrebuiltMetrics


def _check_threshold(value: Any) -> Any:
    if isinstance(value, bool | str | bytes) or value != value:
        raise ValueError(f"a threshold is a number, not {value!r}")
    return value


Threshold: TypeAlias = Annotated[float, BeforeValidator(_check_threshold)]


class JudgeModelOptions(EvalBaseModel):
    """The model that judges, and how often it is asked.

    Attributes:
      judge_model: name of any model that agents can use.
      judge_model_config: settings of its requests.
      num_samples: verdicts per invocation; the majority counts.
      parallelism_limit: how many requests run at once.
    """

    judge_model: str = "gemini-2.5-flash"
    judge_model_config: types.GenerateContentConfig | None = None
    num_samples: int = Field(default=5, ge=1)
    parallelism_limit: int = Field(default=4, ge=1)


class BaseCriterion(TwoSpellingsModel):
    """When a metric passes.

    Attributes:
      threshold: the lowest score that passes; for counts and costs, the highest.
      include_intermediate_responses_in_final: whether the answer includes what the agent said
        before its final response.
    """

    model_config = ConfigDict(extra="allow")

    threshold: Threshold
    include_intermediate_responses_in_final: bool = False


class LlmAsAJudgeCriterion(BaseCriterion):
    """Criterion of a metric that a model judges.

    Attributes:
      judge_model_options: the judge.
    """

    judge_model_options: JudgeModelOptions = Field(default_factory=JudgeModelOptions)


class RubricsBasedCriterion(BaseCriterion):
    """Criterion of a metric with rubrics.

    Attributes:
      judge_model_options: the judge.
      rubrics: what the judge looks for.
    """

    judge_model_options: JudgeModelOptions = Field(default_factory=JudgeModelOptions)
    rubrics: list[Rubric] = Field(default_factory=list[Rubric])


class HallucinationsCriterion(BaseCriterion):
    """Criterion of `hallucinations_v1`.

    Attributes:
      judge_model_options: the judge.
      evaluate_intermediate_nl_responses: whether to check also what the agent said before its
        final response.
    """

    judge_model_options: JudgeModelOptions = Field(default_factory=JudgeModelOptions)
    evaluate_intermediate_nl_responses: bool = False


class ToolTrajectoryCriterion(BaseCriterion):
    """Criterion of `tool_trajectory_avg_score`.

    Attributes:
      match_type: how calls are compared; JSON holds the number or the name.
      ignore_args: compare only the names of the tools.
      judge_model_options: the judge of `$judge` matchers.
    """

    class MatchType(enum.Enum):
        """How the calls of a turn are compared with the expected ones."""

        EXACT = 0  # the same calls in the same order, and no other
        IN_ORDER = 1  # all expected calls in this order; others may come between them
        ANY_ORDER = 2  # all expected calls in any order; others may come too

    match_type: MatchType = MatchType.EXACT
    ignore_args: bool = False
    judge_model_options: JudgeModelOptions | None = None

    @field_validator("match_type", mode="before")
    @classmethod
    def _read_name(cls, value: Any) -> Any:
        if isinstance(value, str):
            name = value.strip().upper().replace("-", "_").replace(" ", "_")
            if name not in cls.MatchType.__members__:
                raise ValueError(f"{value!r} is not one of {', '.join(cls.MatchType.__members__)}")
            return cls.MatchType[name]
        return value


def explain_criterion(metric_name: str, error: ValidationError) -> str:
    """Return what is wrong with the criterion of a metric.

    Args:
      metric_name: the metric.
      error: the error of the criterion's validation; its title is the class.
    """
    faults = [
        f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors()
    ]
    return f"The criterion of {metric_name} is not a {error.title}: {'; '.join(faults)}."


class LlmBackedUserSimulatorCriterion(LlmAsAJudgeCriterion):
    """Criterion of `per_turn_user_simulator_quality_v1`.

    Attributes:
      stop_signal: the text with which the simulated user ends a conversation.
    """

    stop_signal: str = "</finished>"


class EvalMetric(EvalBaseModel):
    """A metric with its criterion.

    Attributes:
      metric_name: its name.
      threshold: the threshold, as in the criterion.
      criterion: when it passes.
      custom_function_path: dotted name of the function of a custom metric.
    """

    metric_name: str
    threshold: float | None = None
    criterion: SerializeAsAny[BaseCriterion] | None = None
    custom_function_path: str | None = None


class EvalMetricResultDetails(NewerFieldsModel):
    """Details of a result.

    Attributes:
      rubric_scores: the score of each rubric.
      error: why the metric could not be evaluated.
      not_applicable: why the metric does not apply to the case.
    """

    newer_fields: ClassVar[frozenset[str]] = frozenset({"error", "not_applicable"})

    rubric_scores: list[RubricScore] | None = None
    error: str | None = None
    not_applicable: str | None = None


class EvalMetricResult(EvalMetric):
    """The result of a metric.

    Attributes:
      score: the score; None if there is not one.
      eval_status: the verdict.
      details: details.
    """

    score: float | None = None
    eval_status: EvalStatus
    details: EvalMetricResultDetails = Field(default_factory=EvalMetricResultDetails)

    @property
    def lacks_verdict(self) -> bool:
        """Whether the metric applies to the case and could not be evaluated."""
        is_open = self.eval_status is EvalStatus.NOT_EVALUATED
        return is_open and not self.details.not_applicable


class EvalMetricResultPerInvocation(EvalBaseModel):
    """The results of all metrics for one invocation.

    Attributes:
      actual_invocation: what happened.
      expected_invocation: what was expected, if anything.
      eval_metric_results: one result for each metric.
    """

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    eval_metric_results: list[EvalMetricResult] = Field(default_factory=list[EvalMetricResult])


class Interval(EvalBaseModel):
    """A range of numbers.

    Attributes:
      min_value, max_value: its ends.
      open_at_min, open_at_max: whether an end is outside.
    """

    min_value: float
    open_at_min: bool = False
    max_value: float
    open_at_max: bool = False


class MetricValueInfo(EvalBaseModel):
    """The values that a metric can have.

    Attributes:
      interval: their range.
    """

    interval: Interval | None = None


class MetricInfo(EvalBaseModel):
    """What people should know about a metric.

    Attributes:
      metric_name: its name.
      description: what it measures.
      metric_value_info: the values that it can have.
    """

    metric_name: str
    description: str = None  # type: ignore[assignment]  # as in google-adk
    metric_value_info: MetricValueInfo


class MetricInfoProvider(abc.ABC):
    """Something that describes a metric."""

    @abc.abstractmethod
    def get_metric_info(self) -> MetricInfo:
        """Return the description."""
        raise NotImplementedError
