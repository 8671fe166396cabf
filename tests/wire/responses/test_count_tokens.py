"""Tokens of a prompt, as the Responses API counts them."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import ModelAnswerError
from tests.wire.asking import offered, request
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.responses import script


async def test_the_prompt_is_counted_without_what_is_no_part_of_it() -> None:
    counted = Answer({"object": "response.input_tokens", "input_tokens": 11})
    async with FakeServer([counted]) as server:
        llm: Any = script.llm(server.url)
        wanted = request(system_instruction="Be brief.", tools=offered("a"), temperature=0.5)
        assert await llm.count_tokens(wanted) == 11
        await llm.aclose()
        (sent,) = server.requests
    assert sent.path == "/v1/responses/input_tokens"
    assert sent.json["instructions"] == "Be brief." and sent.json["tools"]
    assert not sent.json.keys() & {"temperature", "store", "stream", "include"}


async def test_an_answer_without_a_count() -> None:
    async with FakeServer([Answer({"object": "x", "input_tokens": "many"})]) as server:
        llm: Any = script.llm(server.url)
        with pytest.raises(ModelAnswerError, match="no count"):
            await llm.count_tokens(request())
        await llm.aclose()
