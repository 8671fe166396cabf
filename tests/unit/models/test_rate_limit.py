"""What may be asked of a model in a minute: in order, bounded, shared by the process."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import ValidationError

from ostinato.errors import ModelRateLimitError
from ostinato.models import RateLimit

from .conftest import Time
from .kit import Scripted, told, whole


async def test_requests_beyond_the_limit_wait_for_the_minute_to_pass(time: Time) -> None:
    limit = RateLimit(requests_per_minute=2)
    llm = Scripted.of(*["Hello"] * 5, rate_limit=limit)
    for _ in range(2):
        await told(llm)
        time.now += 10
    assert time.waits == []
    for _ in range(3):
        await told(llm)
    assert time.waits == [40.0, 10.0, 50.0]  # the first two began at 0 and 10 seconds


async def test_the_limit_is_that_of_the_model_in_the_whole_process(time: Time) -> None:
    limit = RateLimit(requests_per_minute=1)
    await told(Scripted.of("Hello", rate_limit=limit))
    await told(Scripted.of("Hello", rate_limit=limit, model="gpt-6"))
    await told(Scripted.of("Hello", rate_limit=limit, base_url="http://other"))
    assert time.waits == []
    await told(Scripted.of("Hello", rate_limit=limit))
    assert time.waits == [60.0]


async def test_tokens_count_once_the_answer_tells_them(time: Time) -> None:
    limit = RateLimit(tokens_per_minute=1000)
    llm = Scripted.of(*[whole("Hello", tokens=400)] * 4, rate_limit=limit)
    await told(llm)
    time.now += 20
    await told(llm)
    await told(llm)  # 800 were used, and it is taken to need 400
    assert time.waits == [40.0]


async def test_a_request_larger_than_the_limit_waits_for_an_empty_minute(time: Time) -> None:
    llm = Scripted.of(*[whole("Hello", tokens=5000)] * 2, rate_limit=RateLimit(tokens_per_minute=9))
    await told(llm)
    await told(llm)
    assert time.waits == [60.0]


async def test_a_wait_longer_than_allowed_fails_at_once_and_is_not_retried(time: Time) -> None:
    limit = RateLimit(requests_per_minute=1, max_wait=30)
    llm = Scripted.of("Hello", rate_limit=limit)
    await told(llm)
    with pytest.raises(ModelRateLimitError, match=r"1 requests a minute.*is 30 s") as caught:
        await told(llm)
    assert (caught.value.retry_after, caught.value.status, time.waits) == (60.0, 429, [])
    assert "gpt-5" in str(caught.value) and len(llm.asked) == 1


async def test_those_who_wait_go_in_the_order_they_came(time: Time) -> None:
    limit = RateLimit(requests_per_minute=1, max_wait=1000)
    turns = [await limit.take("key", model="m")]
    tasks = [asyncio.ensure_future(limit.take("key", model="m")) for _ in range(3)]
    turns += await asyncio.gather(*tasks)
    assert [turn.start - turns[0].start for turn in turns] == [0, 60, 120, 180]


async def test_one_that_is_cancelled_while_it_waits_leaves_its_place(time: Time) -> None:
    limit = RateLimit(requests_per_minute=1, max_wait=1000)
    await limit.take("key", model="m")
    waiting = asyncio.ensure_future(limit.take("key", model="m"))
    time.on_wait = lambda: waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    time.on_wait = lambda: None
    await limit.take("key", model="m")
    assert time.waits == [60.0, 60.0]


def test_a_limit_is_at_least_one() -> None:
    with pytest.raises(ValidationError):
        RateLimit(requests_per_minute=0)
