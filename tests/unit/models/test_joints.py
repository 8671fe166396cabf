"""What adapters are built on: converted contents, clients per loop."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

from ostinato import types
from ostinato.models.client_per_loop import ClientPerLoop
from ostinato.models.converted import Converted
from tests.support.optionals import parts_of, present


def content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def test_a_content_is_converted_once_for_as_long_as_it_lives() -> None:
    converted: Converted[dict[str, Any]] = Converted()
    made: list[str] = []

    def convert(content: types.Content) -> dict[str, Any]:
        made.append(present(parts_of(content)[0].text))
        return {"text": parts_of(content)[0].text}

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


def test_a_loop_that_shuts_down_closes_its_client() -> None:
    per_loop = ClientPerLoop(Client, Client.close)

    async def use() -> Client:
        return per_loop.get()

    assert asyncio.run(use()).closed


def test_the_client_of_a_loop_without_a_shutdown_is_forgotten() -> None:
    per_loop = ClientPerLoop(Client, Client.close)

    async def use() -> weakref.ref[Client]:
        return weakref.ref(per_loop.get())

    loop = asyncio.new_event_loop()
    first = loop.run_until_complete(use())
    loop.close()
    assert first() is not None
    asyncio.run(use())
    gc.collect()
    assert first() is None
