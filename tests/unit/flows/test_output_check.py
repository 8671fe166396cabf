"""Output that breaks the agent's schema goes back to the model, bounded."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato._adk_mode import set_follows_adk
from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.errors import ModelRetriesExceededError
from ostinato.models import BaseLlm, LlmRequest, LlmResponse, ModelCapabilities
from ostinato.testing import FunctionModel, ScriptedModel, call, chunks, final_text
from tests.support.optionals import parts_of

from .kit import Store, Talk

GOOD = '{"points": 3}'


class Score(BaseModel):
    points: int


def clerk(model: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name="clerk", model=model, output_schema=Score, output_key="score", **fields)


def texts(model: ScriptedModel, request: int) -> list[str]:
    contents = model.requests[request].contents
    return [f"{c.role}: {p.text}" for c in contents for p in c.parts or () if p.text]


@pytest.mark.spec(59, 215)
@pytest.mark.parametrize(
    ("wrong", "reason"),
    [('{"points": "ma', "Invalid JSON"), ('{"points": "many"}', "points: "), ("{}", "points: ")],
)
async def test_the_model_is_told_what_was_wrong_and_answers_again(
    store: Store, wrong: str, reason: str
) -> None:
    model = ScriptedModel([wrong, GOOD])
    talk = Talk(clerk(model), store)
    events = await talk.say()
    assert [e.is_final_response() for e in events] == [False, False, True]
    assert parts_of(events[0])[0].text == wrong
    _, said, correction = texts(model, 1)
    assert said == f"model: {wrong}"
    assert reason in correction and "does not match the schema" in correction
    stored = await talk.stored()
    assert [e.id for e in stored[-3:]] == [e.id for e in events]
    assert events[-1].actions.state_delta == {"score": {"points": 3}}
    assert not any(e.actions.state_delta for e in events[:2])
    talk.runner.agent.output_schema = None
    await talk.check_goes_on(model)


async def test_after_max_model_retries_the_run_ends_and_the_session_goes_on(store: Store) -> None:
    model = ScriptedModel(["a", "b", "c"])
    agent = clerk(model)
    talk = Talk(agent, store)
    error = await talk.fails(run_config=RunConfig(max_model_retries=2))
    assert isinstance(error, ModelRetriesExceededError)
    assert "the output of clerk" in str(error) and "max_model_retries is 2" in str(error)
    agent.output_schema = None
    await talk.check_goes_on(model)


@pytest.fixture
def adk_program() -> Iterator[None]:
    set_follows_adk(True)
    yield
    set_follows_adk(False)


@pytest.mark.usefixtures("adk_program")
async def test_a_program_of_google_adk_gets_the_text_as_it_is_after_the_retries(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "ostinato")
    model = ScriptedModel(["a", "b", "c"])
    agent = LlmAgent(name="clerk", model=model, output_schema=Score)
    talk = Talk(agent, store)
    events = await talk.say(run_config=RunConfig(max_model_retries=2))
    assert [e.is_final_response() for e in events] == [False] * 4 + [True]
    assert final_text(events) == "c" and len(model.requests) == 3
    assert "clerk" in caplog.text and "Invalid JSON" in caplog.text
    agent.output_schema = None
    await talk.check_goes_on(model)


@pytest.mark.usefixtures("adk_program")
async def test_what_a_program_of_google_adk_keeps_under_a_key_has_to_fit(memory: Store) -> None:
    talk = Talk(clerk(ScriptedModel(["a", "b"])), memory)
    error = await talk.fails(run_config=RunConfig(max_model_retries=1))
    assert isinstance(error, ModelRetriesExceededError)


class Own(BaseLlm):
    """A user's adapter that ignores the schema."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="many")]))


class Able(Own):
    @property
    def capabilities(self) -> ModelCapabilities:
        return ModelCapabilities()


@pytest.mark.parametrize(
    ("model", "is_told"),
    [(Own(model="own"), True), (Able(model="able"), False), (ScriptedModel(["many"] * 9), False)],
    ids=["own", "able", "scripted"],
)
async def test_a_model_class_without_capabilities_is_told_what_it_claims(
    memory: Store, model: BaseLlm, is_told: bool
) -> None:
    with pytest.raises(ModelRetriesExceededError) as caught:
        await Talk(clerk(model), memory).say()
    hint = "Own has no `capabilities` of its own"
    assert (hint in str(caught.value)) is is_told
    assert ("ModelCapabilities(structured_output=False)" in str(caught.value)) is is_told


async def test_a_success_forgets_earlier_mistakes(memory: Store) -> None:
    model = ScriptedModel(["a", GOOD, "b", GOOD])
    talk = Talk(clerk(model), memory)
    for _ in range(2):
        events = await talk.say(run_config=RunConfig(max_model_retries=1))
        assert final_text(events) == GOOD


async def test_the_schema_is_checked_without_an_output_key(memory: Store) -> None:
    model = ScriptedModel(["none", GOOD])
    agent = LlmAgent(name="clerk", model=model, output_schema=Score)
    assert final_text(await Talk(agent, memory).say()) == GOOD


async def test_a_schema_given_as_json_takes_any_json(memory: Store) -> None:
    model = ScriptedModel(["none", "[1]"])
    agent = LlmAgent(name="clerk", model=model, output_schema={"type": "array"})
    assert final_text(await Talk(agent, memory).say()) == "[1]"


async def test_beside_tools_the_model_is_sent_back_to_set_model_response(memory: Store) -> None:
    def look() -> str:
        return "seen"

    model = ScriptedModel(
        ["three points", call("set_model_response", points="many"),
         call("set_model_response", points=3)]
    )  # fmt: skip
    talk = Talk(clerk(model, tools=[look]), memory)
    assert final_text(await talk.say()) == '{"points": 3}'
    assert "by calling `set_model_response`" in texts(model, 1)[-1]


async def test_a_model_that_can_do_both_is_given_the_schema_beside_tools(memory: Store) -> None:
    def look() -> str:
        return "seen"

    model = ScriptedModel([call("look"), "wrong", GOOD], native_schema=True)
    assert final_text(await Talk(clerk(model, tools=[look]), memory).say()) == GOOD
    request = model.requests[0]
    assert request.config.response_mime_type == "application/json"
    assert "set_model_response" not in str(request.config.tools)
    assert "with nothing but the JSON" in texts(model, 2)[-1]


async def test_partial_output_is_not_checked_and_an_error_is_no_output(memory: Store) -> None:
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    talk = Talk(clerk(ScriptedModel([chunks('{"poi', 'nts": 3}')])), memory)
    assert final_text(await talk.say(run_config=config)) == GOOD

    async def blocked(_: Any) -> Any:
        part = types.Part(text="I can")
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, error_code="SAFETY")

    (event,) = await Talk(clerk(FunctionModel(blocked)), memory).say()
    assert event.error_code == "SAFETY" and event.is_final_response()
