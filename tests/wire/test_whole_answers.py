"""Whole answers that are none: the same would come again, so they are asked for once."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import ModelAnswerError
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.anthropic import script as anthropic
from tests.wire.asking import fails, request
from tests.wire.chat import script as chat
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.gemini import script as gemini
from tests.wire.responses import script as responses

SCRIPTS = [anthropic, chat, gemini, responses]
WRONG = '{"choices": 5, "output": 5, "error": 5, "content": 5, "candidates": 5}'


async def count_requests(script: Any, answer: Answer, *, stream: bool) -> int:
    """Ask with retries; return how often the server was asked."""
    policy = RetryPolicy(attempts=3, initial_delay=0)
    async with FakeServer([answer] * 3) as server:
        llm = script.llm(server.url, retry_policy=policy)
        found = await fails(llm, request(), stream=stream)
        assert isinstance(found, ModelAnswerError) and "HTTP" not in str(found)
        return len(server.requests)


@pytest.mark.parametrize("body", ["[]", "hello", "{", WRONG])
@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_whole_answer_that_is_none_is_asked_for_once(script: Any, body: str) -> None:
    headers = {"content-length": str(len(body))}
    assert await count_requests(script, Answer(body, headers=headers), stream=False) == 1


@pytest.mark.parametrize("script", SCRIPTS)
async def test_an_answer_that_is_cut_is_asked_for_again(script: Any) -> None:
    assert await count_requests(script, Answer("{}", cut_after=1), stream=False) == 3


@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_whole_event_that_is_none_is_asked_for_once(script: Any) -> None:
    stream = {"content-type": "text/event-stream"}
    assert await count_requests(script, Answer([b"data: {\n\n"], headers=stream), stream=True) == 1
    assert await count_requests(script, Answer([b"data: {"], headers=stream), stream=True) == 3
