"""BaseEvalService: the port of an evaluation, its requests and its results."""

from __future__ import annotations

import abc
import enum
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .constants import DEFAULT_LIVE_TIMEOUT_SECONDS
from .eval_case import Invocation
from .eval_metrics import EvalMetric
from .eval_result import EvalCaseResult
from .turn_usage import TurnUsage

_CONFIG = ConfigDict(alias_generator=to_camel, populate_by_name=True, defer_build=True)


class EvaluateConfig(BaseModel):
    """How inferences are evaluated.

    Attributes:
      eval_metrics: the metrics.
      parallelism: how many cases at once.
    """

    model_config = _CONFIG

    eval_metrics: list[EvalMetric]
    parallelism: int = Field(default=4, ge=1)


class InferenceConfig(BaseModel):
    """How the agent is run.

    Attributes:
      labels: labels of the model requests, which Vertex AI shows on the bill.
      parallelism: how many cases at once.
      use_live: not supported.
      live_timeout_seconds: time limit of a live turn.
    """

    model_config = _CONFIG

    labels: dict[str, str] | None = None
    parallelism: int = Field(default=4, ge=1)
    use_live: bool = False
    live_timeout_seconds: int = DEFAULT_LIVE_TIMEOUT_SECONDS


class InferenceRequest(BaseModel):
    """Which cases to run.

    Attributes:
      app_name: the app.
      eval_set_id: the set.
      eval_case_ids: the cases; all if None or empty.
      inference_config: how.
    """

    model_config = _CONFIG

    app_name: str
    eval_set_id: str
    eval_case_ids: list[str] | None = None
    inference_config: InferenceConfig


class InferenceStatus(enum.Enum):
    """How the run of a case ended.

    SUCCESS: at its end; FAILURE: the agent failed; UNKNOWN: the evaluation could not run the case,
    so nothing is known of the agent.
    """

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2


class InferenceResult(BaseModel):
    """What happened when a case ran.

    Attributes:
      app_name, eval_set_id, eval_case_id: the case.
      inferences: its invocations; None without a SUCCESS.
      session_id: its session.
      status: how the run ended.
      error_message: the error of the agent, or why the case could not be run.
      final_state: the session's state at the end.
      usage: what each invocation used.
    """

    model_config = _CONFIG

    app_name: str
    eval_set_id: str
    eval_case_id: str
    inferences: list[Invocation] | None = None
    session_id: str | None
    status: InferenceStatus = InferenceStatus.UNKNOWN
    error_message: str | None = None
    final_state: dict[str, Any] | None = None
    usage: list[TurnUsage] | None = None


class EvaluateRequest(BaseModel):
    """Which inferences to evaluate.

    Attributes:
      inference_results: the inferences.
      evaluate_config: how.
    """

    model_config = _CONFIG

    inference_results: list[InferenceResult]
    evaluate_config: EvaluateConfig


class BaseEvalService(abc.ABC):
    """Port of an evaluation: runs cases, then evaluates what happened."""

    @abc.abstractmethod
    async def perform_inference(
        self, inference_request: InferenceRequest
    ) -> AsyncGenerator[InferenceResult, None]:
        """Run cases, and yield the result of each when it is there.

        Args:
          inference_request: the cases.
        """
        raise NotImplementedError
        yield  # marks this as an async generator, as every implementation is

    @abc.abstractmethod
    async def evaluate(
        self, evaluate_request: EvaluateRequest
    ) -> AsyncGenerator[EvalCaseResult, None]:
        """Evaluate inferences, and yield the result of each when it is there.

        Args:
          evaluate_request: the inferences and the metrics.
        """
        raise NotImplementedError
        yield  # marks this as an async generator, as every implementation is
