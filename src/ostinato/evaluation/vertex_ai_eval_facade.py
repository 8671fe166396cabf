"""Metrics that Vertex AI judges, over its REST interface."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ValidationError

from .._optional import need
from ..errors import InputValidationError, ModelAnswerError, ModelAuthError
from ..features.environment import find_variable
from ..models.google_credentials import GoogleCredential
from .conversation_scenarios import ConversationScenario
from .eval_case import Invocation
from .eval_metrics import BaseCriterion, EvalMetric, explain_criterion
from .evaluator import (
    EvaluationResult,
    Evaluator,
    PerInvocationResult,
    compare_score,
    get_overall_result,
)
from .llm_as_judge_utils import get_text_from_content

_DEFAULT_LOCATION = "us-central1"
_LOCATION, _PROJECT = "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_PROJECT"
_TIMEOUT_S = 120.0

VertexMetric = Literal["coherence", "safety"]


class VertexCriterion(BaseCriterion):
    """Criterion of a metric that Vertex AI judges.

    Attributes:
      project: the project; by default, GOOGLE_CLOUD_PROJECT or that of the login.
      location: the region; by default, GOOGLE_CLOUD_LOCATION or us-central1.
      base_url: the server, without a path; by default, that of the region.
    """

    project: str | None = None
    location: str | None = None
    base_url: str | None = None


class VertexEvaluation(Evaluator):
    """Asks Vertex AI for the score of each final response.

    Needs the extra `vertex` and application default credentials.

    Args:
      metric: `coherence` (1 to 5) or `safety` (0 to 1).
      eval_metric: the metric with its criterion.
      credential: the login; the application default credentials by default.

    Raises:
      InputValidationError: the criterion does not fit.
    """

    def __init__(
        self,
        metric: VertexMetric,
        eval_metric: EvalMetric,
        credential: GoogleCredential | None = None,
    ) -> None:
        given = eval_metric.criterion or BaseCriterion(threshold=eval_metric.threshold or 0.0)
        try:
            self._criterion = VertexCriterion.model_validate(given.model_dump())
        except ValidationError as error:
            raise InputValidationError(explain_criterion(eval_metric.metric_name, error)) from error
        self._metric = metric
        self._threshold = eval_metric.threshold
        self._credential = credential or GoogleCredential()

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Return the mean score of the invocations.

        Raises:
          MissingExtraError: google-auth is not installed.
          ModelAuthError: the login is refused.
          ModelAnswerError: Vertex AI does not answer with a score.
        """
        results: list[PerInvocationResult] = []
        for number, actual in enumerate(actual_invocations):
            score = await self._fetch_score(get_text_from_content(actual.final_response) or "")
            results.append(
                PerInvocationResult(
                    actual_invocation=actual,
                    expected_invocation=expected_invocations[number]
                    if expected_invocations
                    else None,
                    score=score,
                    eval_status=compare_score(score, self._threshold),
                )
            )
        return get_overall_result(results, self._threshold)

    async def _fetch_score(self, text: str) -> float:
        project = self._criterion.project or find_variable(_PROJECT)[1]
        project = project or await self._credential.project()
        if not project:
            raise InputValidationError(
                "The login of Google Cloud names no project; set `project` in the criterion."
            )
        location = self._criterion.location or find_variable(_LOCATION)[1] or _DEFAULT_LOCATION
        server = self._criterion.base_url or f"https://{location}-aiplatform.googleapis.com"
        url = f"{server}/v1/projects/{project}/locations/{location}:evaluateInstances"
        body = {f"{self._metric}Input": {"metricSpec": {}, "instance": {"prediction": text}}}
        httpx2 = need("httpx2")
        headers = dict(await self._credential.headers())
        async with httpx2.AsyncClient(timeout=_TIMEOUT_S) as client:
            answer = await client.post(url, json=body, headers=headers)
        if answer.status_code in (401, 403):
            raise ModelAuthError(
                f"Vertex AI refuses the login for project {project!r} ({answer.status_code})."
            )
        return _read_score(self._metric, answer)


def _read_score(metric: str, answer: Any) -> float:
    """Return the score in an answer.

    Raises:
      ModelAnswerError: it has none.
    """
    try:
        found = answer.json()[f"{metric}Result"]["score"]
        return float(found)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelAnswerError(
            f"Vertex AI answered the {metric} metric with status {answer.status_code} and no "
            f"score: {answer.text[:200]}"
        ) from error


class UnsupportedVertexMetric(Evaluator):
    """A metric of Vertex AI that needs Google's own SDK; it raises an error that says so.

    Args:
      eval_metric: the metric.
    """

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._name = eval_metric.metric_name

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> Any:
        """Raise NotImplementedError with what to use.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{self._name} runs in Google's evaluation SDK only, which Ostinato does not use. Use "
            "rubric_based_multi_turn_trajectory_quality_v1 with rubrics of your own; any model "
            "can judge it."
        )
