"""Models in order: the next one is asked where one fails, and one that keeps failing is left."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelRequestError,
    ModelServerError,
    ModelUnavailableError,
)
from ostinato.models import (
    CircuitBreaker,
    FallbackModel,
    LlmRequest,
    LlmResponse,
    OfflineLlm,
    RateLimit,
    RetryPolicy,
)
from ostinato.models.capabilities import ModelCapabilities
from ostinato.testing import ScriptedModel

from .conftest import Time
from .kit import KEY, Own, Scripted, SdkError, content, piece, told

ONCE = RetryPolicy(attempts=1)


def failing(*script: Any, model: str = "first") -> Scripted:
    return Scripted.of(*script, model=model, retry_policy=ONCE)


def test_it_is_where_google_adk_has_it_with_its_fields() -> None:
    fallback = FallbackModel(models=["gemini-2.5-flash", Own()])
    assert fallback.model == "gemini-2.5-flash"
    assert fallback.retriable_status_codes >= {429, 500, 502, 503, 504}
    assert FallbackModel(model="both", models=[Own()]).model == "both"
    with pytest.raises(ValueError, match="at least 1"):
        FallbackModel(models=[])
    with pytest.raises(ValueError, match="names and BaseLlm"):
        FallbackModel(models=[3])  # pyright: ignore[reportArgumentType]


async def test_the_first_model_answers_alone_where_it_can(time: Time) -> None:
    second = Own.of()
    fallback = FallbackModel(models=[failing("Hello"), second])
    assert await told(fallback) == ["Hello"]
    assert second.asked == []


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529, "timeout", "unreachable", "cut"])
async def test_the_next_model_answers_where_one_fails(time: Time, status: int | str) -> None:
    fallback = FallbackModel(models=[failing(SdkError(status)), Own.of("From the second")])
    assert await told(fallback) == ["From the second"]


async def test_a_model_retries_by_itself_before_the_next_one_is_asked(time: Time) -> None:
    first = Scripted.of(*[SdkError(503)] * 4, model="first")
    assert await told(FallbackModel(models=[first, Own.of("Second")])) == ["Second"]
    assert len(first.asked) == 4


async def test_a_model_of_one_s_own_is_retried_by_the_policy_given(time: Time) -> None:
    own = Own.of(ConnectionError(), "Hello")
    assert await told(FallbackModel(models=[own], retry_policy=RetryPolicy())) == ["Hello"]
    assert time.waits == [0.5]


@pytest.mark.parametrize(
    ("error", "kind"), [(SdkError(401), ModelAuthError), (SdkError(400), ModelRequestError)]
)
async def test_what_the_next_model_would_not_mend_is_raised(
    time: Time, error: SdkError, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        await told(FallbackModel(models=[failing(error), Own.of("Second")]))


async def test_classes_of_errors_can_be_chosen(time: Time) -> None:
    models = [failing(SdkError(401)), Own.of("Second")]
    assert await told(FallbackModel(models=models, fall_back_on=(ModelAuthError,))) == ["Second"]
    models = [failing(SdkError(503)), Own.of("Second")]
    with pytest.raises(ModelServerError):
        await told(FallbackModel(models=models, retriable_status_codes=frozenset({429})))


async def test_a_rate_limit_of_one_s_own_lets_the_next_model_answer(time: Time) -> None:
    limit = RateLimit(requests_per_minute=1, max_wait=0)
    fallback = FallbackModel(models=[Scripted.of("One", rate_limit=limit), Own.of("Two")])
    assert [await told(fallback), await told(fallback)] == [["One"], ["Two"]]


async def test_the_last_error_is_raised_and_names_those_before(time: Time) -> None:
    fallback = FallbackModel(
        models=[failing(SdkError(503)), failing(SdkError(429), model="second")]
    )
    with pytest.raises(Exception, match=r"second.*HTTP 429") as caught:
        await told(fallback)
    assert caught.value.__notes__ == [
        "before it, model 'first' had failed: ModelServerError (HTTP 503)"
    ]


async def test_after_a_part_was_handed_on_a_failure_is_raised(time: Time) -> None:
    second = Own.of("Second")
    fallback = FallbackModel(models=[failing([piece("Hel"), SdkError("cut")]), second])
    with pytest.raises(ModelAnswerError):
        await told(fallback)
    assert second.asked == []


async def test_restart_takes_back_what_was_shown(time: Time) -> None:
    fallback = FallbackModel(
        models=[
            failing([piece("Hel"), SdkError("cut")]),
            failing(SdkError(500), model="second"),
            Own.of([piece("Good"), "Good day"]),
        ],
        after_first_part="restart",
    )
    assert await told(fallback) == [("Hel",), ..., ("Good",), "Good day"]


async def test_responses_say_which_model_gave_them(time: Time) -> None:
    named = LlmResponse(content=content("Hi"), model_version="own-2026", custom_metadata={"a": 1})
    fallback = FallbackModel(models=[failing(*[SdkError(503)] * 2), Own.of("Hello", named)])
    answers = [
        response
        for _ in range(2)
        async for response in fallback.generate_content_async(LlmRequest())
    ]
    assert [(a.model_version, a.custom_metadata) for a in answers] == [
        ("own", {"answered_by": "own"}),
        ("own-2026", {"answered_by": "own", "a": 1}),
    ]


async def test_each_model_gets_its_own_name_and_contents_of_its_own(time: Time) -> None:
    first, second = failing(SdkError(503)), Own.of("Hello")
    contents = [content("Hi")]
    request = LlmRequest(model="both", contents=contents)
    await told(FallbackModel(models=[first, second]), request)
    one, two = first.asked[0], second.asked[0]
    assert (one.model, two.model, request.model) == ("first", "own", "both")
    assert one.contents is not two.contents
    assert one.contents[0] is two.contents[0] is request.contents[0]


def test_it_can_do_what_all_of_them_can() -> None:
    one = Own(
        can=ModelCapabilities(
            structured_output_with_tools=True, audio=False, thinking=True, tool_search=100
        )
    )
    two = Own(
        can=ModelCapabilities(structured_output_with_tools=True, thinking=False, tool_search=7)
    )
    fallback = FallbackModel(models=[one, two])
    assert fallback.capabilities == ModelCapabilities(
        structured_output_with_tools=True, audio=False, thinking=False, tool_search=7
    )
    assert fallback.supports_output_schema_with_tools
    old = ScriptedModel(native_schema=True)  # says so by the property alone, as google-adk's do
    assert FallbackModel(models=[one, old]).capabilities.structured_output_with_tools
    assert not FallbackModel(models=[one, ScriptedModel()]).supports_output_schema_with_tools


async def test_names_become_models_on_first_use() -> None:
    fallback = FallbackModel(models=["offline", "no-such-model"])
    with pytest.raises(ModelUnavailableError, match="no-such-model"):
        await told(fallback)
    assert FallbackModel(models=["offline"]).capabilities == OfflineLlm(model="x").capabilities


async def test_closing_closes_all(time: Time) -> None:
    members = [failing("Hello"), failing(model="second")]
    fallback = FallbackModel(models=[*members])
    await fallback.aclose()
    await told(fallback)
    await fallback.aclose()
    assert [member.closed for member in members] == [1, 1]


async def test_a_model_that_keeps_failing_is_left_out_until_a_probe_succeeds(
    time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "ostinato")
    first = failing(*[SdkError(503)] * 4, "Back")
    second = Own.of(*["Second"] * 9)
    breaker = CircuitBreaker(failures=3, window=60, cooldown=30)

    async def ask() -> str:
        # A new object each time: a provider's model is counted for the process.
        fallback = FallbackModel(models=[first, second], circuit_breaker=breaker)
        (answer,) = await told(fallback)
        return answer

    assert [await ask() for _ in range(5)] == ["Second"] * 5
    assert len(first.asked) == 3
    time.now += 30
    assert await ask() == "Second"  # the probe fails
    assert await ask() == "Second"
    assert len(first.asked) == 4
    time.now += 30
    assert [await ask(), len(first.asked)] == ["Back", 5]
    assert sum("left out for 30 s" in record.getMessage() for record in caplog.records) == 2
    assert KEY not in caplog.text


async def test_failures_far_apart_do_not_count(time: Time) -> None:
    first = failing(*[SdkError(503)] * 4)
    breaker = CircuitBreaker(failures=2, window=60)
    fallback = FallbackModel(models=[first, Own.of(*["Second"] * 4)], circuit_breaker=breaker)
    for _ in range(4):
        await told(fallback)
        time.now += 61
    assert len(first.asked) == 4


async def test_only_one_probe_at_a_time_and_a_given_up_one_says_nothing(time: Time) -> None:
    first = failing(SdkError(503), [piece("a"), piece("b")], "Back")
    breaker = CircuitBreaker(failures=1, cooldown=10)
    fallback = FallbackModel(models=[first, Own.of(*["Second"] * 9)], circuit_breaker=breaker)
    await told(fallback)
    time.now += 10
    probe = fallback.generate_content_async(LlmRequest(), stream=True)
    await anext(probe)
    assert await told(fallback) == ["Second"]
    await probe.aclose()
    assert await told(fallback) == ["Back"]


async def test_where_all_are_left_out_the_error_says_until_when(time: Time) -> None:
    breaker = CircuitBreaker(failures=1, cooldown=30)
    fallback = FallbackModel(models=[failing(SdkError(503))], circuit_breaker=breaker)
    with pytest.raises(ModelServerError, match="503"):
        await told(fallback)
    time.now += 10
    with pytest.raises(ModelServerError, match=r"tried in 20.0 s") as caught:
        await told(fallback)
    assert caught.value.retry_after == 20.0
    assert await told(
        FallbackModel(models=[failing("Hi")], circuit_breaker=CircuitBreaker(failures=0))
    ) == ["Hi"]


async def test_an_agent_uses_it_like_any_model(time: Time) -> None:
    from ostinato.runners import InMemoryRunner

    models = [failing(SdkError(503)), ScriptedModel(["Hello!"])]
    runner = InMemoryRunner(LlmAgent(name="clerk", model=FallbackModel(models=models)))
    (event,) = await runner.run_debug("Hi", quiet=True)
    assert event.content == types.Content(role="model", parts=[types.Part(text="Hello!")])
    assert event.custom_metadata == {"answered_by": "scripted"}
    await runner.close()
