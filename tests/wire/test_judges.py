"""Judges over every adapter: verdicts of a majority, thoughts beside them, refusals, failures."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import ProviderError
from ostinato.evaluation.eval_metrics import BaseCriterion, EvalMetric, EvalStatus
from ostinato.evaluation.judge import forget_verdicts
from ostinato.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from ostinato.models.registry import LLMRegistry
from tests.support.optionals import parts_of
from tests.unit.evaluation.builders import turn
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Turn

FORMATS = ("gemini", "chat", "responses", "anthropic")
VALID = '{"reasoning": "«same» ☀", "is_the_agent_response_valid": "valid"}'
INVALID = '{"reasoning": "", "is_the_agent_response_valid": "invalid"}'
RUBRIC = {"rubric_id": "polite", "rubric_content": {"text_property": "It is polite."}}

Served = Callable[[list[Answer]], AbstractAsyncContextManager[FakeServer]]


@pytest.fixture(params=FORMATS)
def script(request: pytest.FixtureRequest) -> Any:
    return import_module(f"tests.wire.{request.param}.script")


@pytest.fixture
def served(script: Any, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Answer the judge of every name from a server that speaks the provider's format."""

    @asynccontextmanager
    async def serve(answers: list[Answer]) -> AsyncGenerator[FakeServer, None]:
        forget_verdicts()
        async with FakeServer(answers) as server:
            model = script.llm(server.url)
            monkeypatch.setattr(LLMRegistry, "new_llm", staticmethod(lambda name: model))
            yield server
            await model.aclose()

    return serve


def evaluator_of(name: str, samples: int, **fields: Any) -> Any:
    options = {"judge_model": "any", "num_samples": samples}
    given = {"threshold": 0.5, "judge_model_options": options, **fields}
    criterion = BaseCriterion.model_validate(given)
    metric = EvalMetric(metric_name=name, threshold=0.5, criterion=criterion)
    return DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(metric)


async def judge(name: str, samples: int, **fields: Any) -> Any:
    evaluator = evaluator_of(name, samples, **fields)
    return await evaluator.evaluate_invocations([turn("why?", "a ☂")], [turn("why?", "the truth")])


@pytest.mark.parametrize(
    ("verdicts", "score"),
    [
        ([VALID, INVALID, VALID], 1.0),
        ([INVALID, VALID, "```json\n" + INVALID + "\n```"], 0.0),
        (["I cannot judge that.", "{", VALID], 1.0),
        (["I cannot judge that."] * 3, None),
    ],
)
async def test_the_majority_decides(
    script: Any, served: Served, verdicts: list[str], score: float | None
) -> None:
    async with served(script.answers([Turn(one) for one in verdicts], stream=False)) as server:
        result = await judge("final_response_match_v2", 3)
        assert result.overall_score == score
        assert len(server.requests) == 3
        for request in server.requests:
            text = request.body.decode()
            assert "the truth" in text
            assert "why?" in text


async def test_thoughts_are_no_verdict(script: Any, served: Served) -> None:
    turns = [Turn(VALID, thought=INVALID)]
    async with served(script.answers(turns, stream=False)):
        result = await judge("final_response_match_v2", 1)
    assert result.overall_eval_status is EvalStatus.PASSED


async def test_thoughts_of_the_agent_are_not_judged(script: Any, served: Served) -> None:
    actual = turn("why?", "the answer")
    parts_of(actual.final_response).insert(0, types.Part(text="a doubt", thought=True))
    async with served(script.answers([Turn(VALID)], stream=False)) as server:
        evaluator = evaluator_of("final_response_match_v2", 1)
        await evaluator.evaluate_invocations([actual], [turn("why?", "the truth")])
        assert "a doubt" not in server.requests[0].body.decode()


async def test_rubrics_are_read(script: Any, served: Served) -> None:
    text = "Property: It is polite.\nRationale: It says please.\nVerdict: no"
    async with served(script.answers([Turn(text)], stream=False)):
        name = "rubric_based_final_response_quality_v1"
        result = await judge(name, 1, rubrics=[RUBRIC])
    assert result.overall_score == 0.0
    assert result.per_invocation_results[0].rubric_scores[0].rationale == "It says please."


async def test_a_judge_that_cannot_be_asked_is_an_error(served: Served) -> None:
    async with served([Answer(status=500, body=b'{"error": {"message": "down"}}')]):
        with pytest.raises(ProviderError, match="down"):
            await judge("final_response_match_v2", 1)
