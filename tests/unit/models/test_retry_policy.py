"""A request is sent again after failures that may pass, within bounds, and never mixes answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import ValidationError

from ostinato import types
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
)
from ostinato.models import LlmRequest, LlmResponse, RetryPolicy
from tests.support.optionals import parts_of

from .conftest import Time
from .kit import KEY, Own, Scripted, SdkError, piece, told, whole


@pytest.mark.parametrize("status", [429, 500, 503, 529, 408, 504, "timeout", "unreachable", "cut"])
async def test_failures_that_may_pass_are_retried(time: Time, status: int | str) -> None:
    llm = Scripted.of(SdkError(status), SdkError(status), "Hello")
    assert await told(llm) == ["Hello"]
    assert len(llm.asked) == 3
    assert time.waits == [0.5, 1.0]  # half of 1 and of 2 seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_would_come_again_is_raised_at_once(time: Time, status: int) -> None:
    llm = Scripted.of(SdkError(status))
    with pytest.raises(Exception, match=f"HTTP {status}"):
        await told(llm)
    assert time.waits == []


async def test_an_error_that_nobody_knows_is_raised_as_it_is(time: Time) -> None:
    with pytest.raises(ZeroDivisionError):
        await told(Scripted.of(ZeroDivisionError()))
    assert time.waits == []


async def test_retry_after_is_waited_for(time: Time) -> None:
    llm = Scripted.of(SdkError(429, retry_after=7.0), SdkError(503, retry_after=0.0), "Hello")
    assert await told(llm) == ["Hello"]
    assert time.waits == [7.0, 0.0]


async def test_a_wait_beyond_the_budget_is_not_begun(time: Time) -> None:
    llm = Scripted.of(SdkError(429, retry_after=121.0))
    with pytest.raises(ModelRateLimitError) as caught:
        await told(llm)
    assert caught.value.retry_after == 121.0
    assert time.waits == []


async def test_attempts_are_bounded_and_the_last_error_is_raised(time: Time) -> None:
    llm = Scripted.of(
        *[SdkError(500, f"failure {n}") for n in range(3)], retry_policy=RetryPolicy(attempts=3)
    )
    with pytest.raises(ModelServerError, match="failure 2"):
        await told(llm)
    assert len(llm.asked) == 3


async def test_delays_grow_up_to_their_bound(time: Time) -> None:
    policy = RetryPolicy(
        attempts=6, initial_delay=2, exp_base=3, max_delay=20, jitter=False, budget=1000
    )
    llm = Scripted.of(*[SdkError(500)] * 5, "Hello", retry_policy=policy)
    assert await told(llm) == ["Hello"]
    assert time.waits == [2, 6, 18, 20, 20]


async def test_one_attempt_means_no_retry(time: Time) -> None:
    with pytest.raises(ModelServerError):
        await told(Scripted.of(SdkError(500), retry_policy=RetryPolicy(attempts=1)))


async def test_classes_and_statuses_can_be_chosen(time: Time) -> None:
    only = RetryPolicy(errors=(ModelAuthError,))
    assert await told(Scripted.of(SdkError(401), "Hello", retry_policy=only)) == ["Hello"]
    with pytest.raises(ModelServerError):
        await told(Scripted.of(SdkError(500), retry_policy=only))
    codes = RetryPolicy(http_status_codes=frozenset({503}))
    assert await told(Scripted.of(SdkError(503), "Hello", retry_policy=codes)) == ["Hello"]
    with pytest.raises(ModelRateLimitError):
        await told(Scripted.of(SdkError(429), retry_policy=codes))
    assert await told(Scripted.of(SdkError("timeout"), "Hello", retry_policy=codes)) == ["Hello"]


async def test_after_a_part_was_handed_on_a_failure_is_raised(time: Time) -> None:
    llm = Scripted.of([piece("Hel"), SdkError("cut")], "Hello")
    responses = llm.generate_content_async(LlmRequest(), stream=True)
    assert parts_of(await anext(responses))[0].text == "Hel"
    with pytest.raises(ModelAnswerError):
        await anext(responses)
    assert time.waits == []


async def test_restart_takes_back_what_was_shown_and_streams_anew(time: Time) -> None:
    llm = Scripted.of(
        [piece("Hel"), SdkError("cut")],
        SdkError(500),
        [piece("Good "), piece("day"), "Good day"],
        retry_policy=RetryPolicy(after_first_part="restart"),
    )
    assert await told(llm) == [("Hel",), ..., ("Good ",), ("day",), "Good day"]


async def test_after_the_whole_answer_nothing_is_asked_again(time: Time) -> None:
    llm = Scripted.of(
        [whole("Hello"), SdkError("cut")], retry_policy=RetryPolicy(after_first_part="restart")
    )
    with pytest.raises(ModelAnswerError):
        await told(llm)
    assert len(llm.asked) == 1


async def test_each_retry_is_one_warning_without_the_key(
    time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "ostinato")
    await told(Scripted.of(SdkError(429), SdkError("timeout"), "Hello"))
    assert [record.getMessage() for record in caplog.records] == [
        "OpenAI model 'gpt-5' failed: ModelRateLimitError (HTTP 429). Attempt 2 of 4 follows in "
        "0.5 s.",
        "OpenAI model 'gpt-5' failed: ModelTimeoutError. Attempt 3 of 4 follows in 1.0 s.",
    ]
    assert KEY not in caplog.text


async def test_the_options_of_google_genai_take_its_place(time: Time) -> None:
    options = types.HttpRetryOptions(
        attempts=2, initial_delay=4.0, max_delay=9.0, exp_base=3.0, jitter=0.0,
        http_status_codes=[503],
    )  # fmt: skip
    assert RetryPolicy.of(options) == RetryPolicy(
        attempts=2, initial_delay=4, max_delay=9, exp_base=3, jitter=False,
        http_status_codes=frozenset({503}),
    )  # fmt: skip
    assert RetryPolicy.of(types.HttpRetryOptions()) == RetryPolicy()
    assert RetryPolicy.of(types.HttpRetryOptions(attempts=0)).attempts == 1
    llm = Scripted.of(SdkError(503), "Hello", retry_options=options)
    assert await told(llm) == ["Hello"]
    assert time.waits == [4.0]


async def test_a_model_of_one_s_own_can_run_by_a_policy(time: Time) -> None:
    own = Own.of(ConnectionError("reset"), TimeoutError(), "Hello")
    policy = RetryPolicy()
    responses = policy.run(lambda: own.generate_content_async(LlmRequest()), model="own")
    assert [parts_of(r)[0].text async for r in responses] == ["Hello"]
    own = Own.of(ModelTimeoutError("slow"), ModelConnectionError("gone"), ValueError("mine"))
    with pytest.raises(ValueError, match="mine"):
        responses = policy.run(lambda: own.generate_content_async(LlmRequest()), model="own")
        _ = [response async for response in responses]


@pytest.mark.parametrize(
    "fields", [{"attempts": 0}, {"initial_delay": -1}, {"exp_base": 0.5}, {"after_first_part": "x"}]
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RetryPolicy(**fields)


async def test_the_explained_error_is_decided_upon_and_raised(time: Time) -> None:
    async def attempt() -> AsyncGenerator[LlmResponse, None]:
        raise ZeroDivisionError("broken")
        yield LlmResponse()

    def explain(error: Exception) -> Exception | None:
        return ConnectionError("explained") if isinstance(error, ZeroDivisionError) else None

    run = RetryPolicy(attempts=2).run(attempt, model="m", explain=explain)
    with pytest.raises(ConnectionError, match="explained") as caught:
        await anext(run)
    assert len(time.waits) == 1
    assert isinstance(caught.value.__context__, ZeroDivisionError)
    assert caught.value.__suppress_context__
