"""Metrics of Vertex AI: the request that is sent, and what becomes a verdict or an error."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from ostinato.errors import InputValidationError, ModelAnswerError, ModelAuthError
from ostinato.evaluation import vertex_ai_eval_facade as facade
from ostinato.evaluation.eval_metrics import EvalMetric, EvalStatus

from .builders import turn


class Login:
    """A login of the project `p`."""

    async def project(self) -> str | None:
        return "p"

    async def headers(self) -> dict[str, str]:
        return {"authorization": "Bearer t"}


class Answers:
    """Stands for httpx2 with one answer; `sent` has the requests."""

    def __init__(self, status: int, body: str) -> None:
        self.sent: list[Any] = []

        def respond(request: Any) -> Any:
            self.sent.append(request)
            return httpx2.Response(status, text=body)

        self._transport = httpx2.MockTransport(respond)

    def AsyncClient(self, timeout: float) -> Any:
        return httpx2.AsyncClient(transport=self._transport, timeout=timeout)


def evaluation(metric: Any, threshold: float, **fields: Any) -> facade.VertexEvaluation:
    criterion = facade.VertexCriterion(threshold=threshold, location="europe-west4", **fields)
    eval_metric = EvalMetric(metric_name="m", threshold=threshold, criterion=criterion)
    login: Any = Login()
    return facade.VertexEvaluation(metric, eval_metric, login)


async def test_a_score_is_asked_for_each_response(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(200, '{"coherenceResult": {"score": 4.0, "explanation": "x"}}')
    monkeypatch.setattr(facade, "need", lambda name: answers)
    result = await evaluation("coherence", 4.0, project="mine").evaluate_invocations(
        [turn("q", "one"), turn("q", "two")]
    )
    assert (result.overall_score, result.overall_eval_status) == (4.0, EvalStatus.PASSED)
    first = answers.sent[0]
    assert str(first.url) == (
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/mine/locations/europe-west4"
        ":evaluateInstances"
    )
    assert first.headers["authorization"] == "Bearer t"
    assert json.loads(first.content) == {
        "coherenceInput": {"metricSpec": {}, "instance": {"prediction": "one"}}
    }
    assert len(answers.sent) == 2


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (403, "{}", ModelAuthError),
        (500, "oops", ModelAnswerError),
        (200, '{"coherenceResult": {}}', ModelAnswerError),
        (200, "[]", ModelAnswerError),
    ],
)
async def test_an_answer_without_a_score_is_an_error(
    monkeypatch: pytest.MonkeyPatch, status: int, body: str, error: Any
) -> None:
    monkeypatch.setattr(facade, "need", lambda name: Answers(status, body))
    with pytest.raises(error):
        await evaluation("coherence", 4.0).evaluate_invocations([turn("q", "one")])


def test_a_wrong_criterion_is_refused() -> None:
    metric = EvalMetric.model_validate(
        {"metric_name": "m", "criterion": {"threshold": 1, "project": 5}}
    )
    with pytest.raises(InputValidationError, match="project"):
        facade.VertexEvaluation("safety", metric)
