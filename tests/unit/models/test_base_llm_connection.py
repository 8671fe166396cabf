"""BaseLlmConnection: what a connection of a program has to implement."""

from collections.abc import AsyncGenerator

import pytest

from ostinato import types
from ostinato.models import LlmResponse
from ostinato.models.base_llm_connection import BaseLlmConnection


class TextConnection(BaseLlmConnection):
    """Answers each message with its text; takes neither history nor sound."""

    def __init__(self) -> None:
        self.sent: list[types.Content] = []

    async def send_content(self, content: types.Content) -> None:
        self.sent.append(content)

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        for content in self.sent:
            yield LlmResponse(content=content)

    async def close(self) -> None:
        self.sent.clear()


async def test_history_and_sound_are_optional() -> None:
    connection, content = TextConnection(), types.UserContent("Hi")
    await connection.send_history([content])
    await connection.send_realtime(types.Blob(data=b"x", mime_type="audio/pcm"))
    await connection.send_content(content)
    assert [one.content async for one in connection.receive()] == [content]


def test_the_others_are_not() -> None:
    with pytest.raises(TypeError, match=r"close.*receive.*send_content"):
        BaseLlmConnection()  # pyright: ignore[reportAbstractUsage]
