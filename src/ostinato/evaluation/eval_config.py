"""EvalConfig: the content of `test_config.json`, with criteria and settings."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator
from pydantic.alias_generators import to_camel

from .._log import get_logger
from ..agent_files.references import CodeConfig
from ..context.budget import Budget
from .eval_base_model import TwoSpellingsModel, is_comment
from .eval_metrics import BaseCriterion, EvalMetric, MetricInfo, Threshold
from .json_file import read_json_record
from .simulation.user_simulator import BaseUserSimulatorConfig

logger = get_logger(__name__)


class CustomMetricConfig(TwoSpellingsModel):
    """A metric of the user's own.

    Attributes:
      code_config: the dotted name of a function or an Evaluator class.
      metric_info: its description.
      description: a short description, without `metric_info`.
    """

    code_config: CodeConfig
    metric_info: MetricInfo | None = None
    description: str = ""


class ToolMockConfig(BaseModel):
    """What answers the calls of tools, in place of the tools.

    Attributes:
      source: `case`: the tool responses of the expected turns; `cassette`: a recording; `function`:
        a function of the tool's name and arguments, plain or async.
      function: dotted name of that function.
      cassette: path of the recording.
      record: run the tools, and write the recording.
      missing: a call without a mock ends the case (`fail`), or runs the tool (`run`).
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    source: Literal["case", "cassette", "function"] = "case"
    function: str | None = None
    cassette: str | None = None
    record: bool = False
    missing: Literal["fail", "run"] = "fail"

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        for source in ("function", "cassette"):
            if self.source == source and getattr(self, source) is None:
                raise ValueError(f"tool_mocks with the source {source!r} needs {source!r}.")
        if self.record and self.source != "cassette":
            raise ValueError("tool_mocks can record only with the source 'cassette'.")
        return self


class EvalConfig(TwoSpellingsModel):
    """Criteria and settings of an evaluation.

    Attributes:
      criteria: by name of the metric, a threshold or a criterion.
      custom_metrics: by name, the metrics of the user's own.
      user_simulator_config: settings of simulated users.
      tool_mocks: what answers the calls of tools; the tools themselves by default.
      seed: the seed of model requests.
      budget: limits of the whole evaluation, and the prices of models.
      agent: the agent's folder, for pytest; relative to the file.
    """

    criteria: dict[str, Threshold | SerializeAsAny[BaseCriterion]] = Field(
        default_factory=dict[str, Threshold | BaseCriterion]
    )
    custom_metrics: dict[str, CustomMetricConfig] | None = None
    user_simulator_config: SerializeAsAny[BaseUserSimulatorConfig] | None = None
    tool_mocks: ToolMockConfig | None = None
    seed: int | None = None
    budget: Budget | None = None
    agent: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for name in cast(dict[str, Any], data):
                _check_name(name)
        return cast(Any, data)


_OTHER_NAMES = ("live_model_config",)  # of newer files; its setting concerns live runs only


def _check_name(name: str) -> None:
    """Refuse a name that looks like a misspelled one; ignore others, as google-adk does."""
    known = [*EvalConfig.model_fields, *_OTHER_NAMES]
    if name in known or name in map(to_camel, known) or is_comment(name):
        return
    near = difflib.get_close_matches(name, [*known, *map(to_camel, known)], 1)
    if near:
        raise ValueError(f"Unknown field {name!r}. Did you mean {near[0]!r}?")
    logger.warning("The field %r of the evaluation config is unknown and has no effect.", name)


DEFAULT_CRITERIA = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}


def get_evaluation_criteria_or_default(eval_config_file_path: str | None) -> EvalConfig:
    """Return the config in a file, or the default one if there is no such file.

    Args:
      eval_config_file_path: path of the file.

    Raises:
      InputValidationError: the file is not a valid config.
    """
    if eval_config_file_path and Path(eval_config_file_path).exists():
        return read_json_record(Path(eval_config_file_path), EvalConfig)
    return EvalConfig(criteria=dict(DEFAULT_CRITERIA))


def get_eval_metrics_from_config(eval_config: EvalConfig) -> list[EvalMetric]:
    """Return the metrics of a config.

    Args:
      eval_config: the config.
    """
    metrics: list[EvalMetric] = []
    custom = eval_config.custom_metrics or {}
    for name, value in eval_config.criteria.items():
        is_criterion = isinstance(value, BaseCriterion)
        criterion = value if is_criterion else BaseCriterion(threshold=value)
        metrics.append(
            EvalMetric(
                metric_name=name,
                threshold=criterion.threshold,
                criterion=criterion,
                custom_function_path=custom[name].code_config.name if name in custom else None,
            )
        )
    return metrics
