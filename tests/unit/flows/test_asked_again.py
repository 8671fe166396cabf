"""A model that answers nothing, or makes a call that cannot be read, is asked again, bounded."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.context.budget import Budget
from ostinato.errors import BudgetExceededError, LlmCallsLimitExceededError
from ostinato.models import FallbackModel, LlmResponse
from ostinato.models.base_llm import BaseLlm
from ostinato.models.provider_llm import ProviderLlm
from ostinato.testing import FunctionModel, ScriptedModel, call, final_text
from tests.support.optionals import parts_of, present

from .kit import Store, Talk

MALFORMED = LlmResponse(
    error_code="MALFORMED_FUNCTION_CALL",
    error_message="print(default_api.book(",
    finish_reason=types.FinishReason.MALFORMED_FUNCTION_CALL,
)


def said(*parts: types.Part, **fields: Any) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[*parts]), **fields)


NOTHING = [
    LlmResponse(),
    LlmResponse(content=types.Content(role="model", parts=[])),
    said(types.Part(text=" \n")),
    said(types.Part(text="Hm.", thought=True)),
    MALFORMED,
]


def config(retries: int | None = 2, **fields: Any) -> RunConfig:
    return RunConfig(max_empty_retries=retries, **fields)


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
async def test_an_empty_answer_is_asked_for_again_and_not_stored(
    memory: Store, nothing: LlmResponse, mode: StreamingMode
) -> None:
    model = ScriptedModel([nothing, nothing, "Hello!"])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    events = await talk.say(run_config=config(streaming_mode=mode))
    whole = [e for e in events if not e.partial]
    assert [final_text(whole), len(whole), len(model.requests)] == ["Hello!", 1, 3]
    assert [e.id for e in await talk.stored()][1:] == [whole[0].id]


@pytest.mark.parametrize("reason", ["SAFETY", "MAX_TOKENS", "RECITATION", "PROHIBITED_CONTENT"])
async def test_an_empty_answer_with_a_reason_is_not_asked_for_again(
    memory: Store, reason: str
) -> None:
    model = ScriptedModel([LlmResponse(finish_reason=types.FinishReason(reason)), "Hello!"])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    [event] = await talk.say(run_config=config())
    assert [event.error_code, len(model.requests)] == [reason, 1]


async def test_the_last_empty_answer_is_handed_on_as_it_is(memory: Store) -> None:
    model = ScriptedModel([LlmResponse(), LlmResponse(), MALFORMED])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    (event,) = await talk.say(run_config=config())
    assert event.error_code == "MALFORMED_FUNCTION_CALL"
    await talk.check_goes_on(model)


async def test_a_malformed_call_is_explained_to_the_model_in_that_request_only(
    memory: Store,
) -> None:
    def book() -> str:
        return "booked"

    model = ScriptedModel([MALFORMED, call("book"), "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[book]), memory)
    await talk.say(run_config=config())
    first, second, third = (len(request.contents) for request in model.requests)
    hint = model.requests[1].contents[-1]
    assert hint.role == "user" and "print(default_api.book(" in present(parts_of(hint)[0].text)
    assert (second - first, third - first) == (1, 2)  # the call and its result, no hint


async def test_by_default_models_of_one_s_own_are_not_asked_again(memory: Store) -> None:
    assert (BaseLlm.empty_retries, ProviderLlm.empty_retries) == (0, 2)
    model = ScriptedModel([LlmResponse(), "Hello!"])
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    (event,) = await talk.say()
    assert event.error_code == "EMPTY_RESPONSE"
    fallback = FallbackModel(models=[ScriptedModel([LlmResponse(), "Hello!"])])
    assert final_text(await Talk(LlmAgent(name="clerk", model=fallback), memory).say()) == "Hello!"


@pytest.mark.parametrize(
    "answer",
    [
        said(types.Part(text="cut"), error_code="MAX_TOKENS"),
        LlmResponse(error_code="SAFETY"),
        LlmResponse(interrupted=True),
    ],
)
async def test_an_answer_with_an_error_of_its_own_is_not_empty(
    memory: Store, answer: LlmResponse
) -> None:
    model = ScriptedModel([answer])
    await Talk(LlmAgent(name="clerk", model=model), memory).say(run_config=config())
    assert len(model.requests) == 1


async def test_what_was_shown_is_not_followed_by_another_answer(memory: Store) -> None:
    async def breaks_off(_: Any) -> Any:
        yield said(types.Part(text="Hel"), partial=True)
        yield LlmResponse()

    talk = Talk(LlmAgent(name="clerk", model=FunctionModel(breaks_off)), memory)
    events = await talk.say(run_config=config(streaming_mode=StreamingMode.SSE))
    assert [e.error_code for e in events if not e.partial] == ["EMPTY_RESPONSE"]


async def test_each_further_request_counts(memory: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "ostinato")
    talk = Talk(LlmAgent(name="clerk", model=ScriptedModel([LlmResponse()] * 3)), memory)
    error = await talk.fails(run_config=config(max_llm_calls=1))
    assert isinstance(error, LlmCallsLimitExceededError)
    assert "of agent 'clerk' returned an empty response; retrying" in caplog.text
    usage = types.GenerateContentResponseUsageMetadata(total_token_count=60)
    model = ScriptedModel([LlmResponse(usage_metadata=usage)] * 3)
    talk = Talk(LlmAgent(name="clerk", model=model), memory)
    error = await talk.fails(run_config=config(budget=Budget(max_tokens=100)))
    assert isinstance(error, BudgetExceededError)
    assert len(model.requests) == 2
