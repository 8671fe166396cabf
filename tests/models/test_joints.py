"""What adapters are built on: converted contents, clients per loop, the bound of answers."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import httpx2
import pytest

from ostinato import types
from ostinato.errors import ModelAnswerError
from ostinato.models import response_bound
from ostinato.models.client_per_loop import ClientPerLoop
from ostinato.models.converted import Converted
from ostinato.models.response_bound import bound_response
from tests.wire.fake_server import Answer, FakeServer, sse


def content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def test_a_content_is_converted_once_for_as_long_as_it_lives() -> None:
    converted: Converted[dict[str, Any]] = Converted()
    made: list[str] = []

    def convert(content: types.Content) -> dict[str, Any]:
        made.append(content.parts[0].text)
        return {"text": content.parts[0].text}

    history = [content(str(n)) for n in range(10)]
    first = [converted.of(c, convert) for c in history]
    history.append(content("new"))
    second = [converted.of(c, convert) for c in history]
    assert len(made) == 11
    assert all(a is b for a, b in zip(first, second, strict=False))
    assert converted.of(history[0].model_copy(), convert) is not first[0]
    del history
    gc.collect()
    assert len(converted) == 0


def test_contents_with_the_same_words_are_not_taken_for_each_other() -> None:
    converted: Converted[object] = Converted()
    one, two = content("same"), content("same")
    assert converted.of(one, lambda c: [c]) is not converted.of(two, lambda c: [c])


class Client:
    def __init__(self) -> None:
        self.closed = False

    async def close(self) -> None:
        self.closed = True


def test_each_loop_has_a_client_of_its_own_for_its_life() -> None:
    clients: list[Client] = []

    def make() -> Client:
        clients.append(Client())
        return clients[-1]

    per_loop = ClientPerLoop(make, Client.close)

    async def use() -> Client:
        assert per_loop.get() is per_loop.get()
        return per_loop.get()

    assert asyncio.run(use()) is not asyncio.run(use())
    assert len(clients) == 2


async def test_a_closed_client_is_replaced_by_the_next_use() -> None:
    per_loop = ClientPerLoop(Client, Client.close)
    await per_loop.aclose()
    client = per_loop.get()
    await per_loop.aclose()
    assert client.closed
    assert per_loop.get() is not client and not per_loop.get().closed


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_bound, "MAX_RESPONSE_BYTES", 100)


async def read(answer: Answer) -> bytes:
    hooks = {"response": [bound_response]}
    async with FakeServer([answer]) as server, httpx2.AsyncClient(event_hooks=hooks) as client:
        async with client.stream("GET", server.url) as response:
            return b"".join([chunk async for chunk in response.aiter_bytes()])


@pytest.mark.usefixtures("small")
async def test_an_answer_within_the_limit_is_read_as_it_is() -> None:
    assert await read(Answer(b"x" * 100)) == b"x" * 100


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("answer", [Answer(b"x" * 101), Answer(sse([{"n": n} for n in range(20)]))])
async def test_an_answer_over_the_limit_fails(answer: Answer) -> None:
    with pytest.raises(ModelAnswerError, match="larger than") as caught:
        await read(answer)
    assert not caught.value.retryable
    assert "httpx2" in sys.modules
