"""Embeddings of OpenAI's kind."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import ModelAnswerError, ModelAuthError
from ostinato.models.embedder import Embedder
from tests.wire.chat import script
from tests.wire.fake_server import Answer, FakeServer


def _answer(*vectors: Any, **fields: Any) -> Answer:
    data = [{"object": "embedding", "index": n, "embedding": v} for n, v in vectors]
    return Answer({"object": "list", "data": data, "model": "m", **fields})


async def test_vectors_come_in_the_order_of_the_texts() -> None:
    async with FakeServer([_answer((1, [0, 1.5]), (0, [2.0, 3]))]) as server:
        llm: Any = script.llm(server.url, model="embed-1")
        embedder: Embedder = llm
        assert isinstance(embedder, Embedder)
        assert await embedder.embed(["a", "b"]) == [[2.0, 3.0], [0.0, 1.5]]
        assert await embedder.embed([]) == []
        await llm.aclose()
        (sent,) = server.requests
    assert sent.path == "/v1/embeddings"
    assert sent.json == {"model": "embed-1", "input": ["a", "b"], "encoding_format": "float"}


@pytest.mark.parametrize(
    "answer",
    [
        _answer((0, [1.0])),
        _answer((0, [1.0]), (0, [1.0])),
        _answer((0, [1.0]), (1, ["x"])),
        _answer((0, [1.0]), (1, [])),
        _answer((0, [1.0]), ("1", [True])),
        Answer({"data": {}}),
        Answer("[]"),
    ],
)
async def test_what_is_not_one_vector_for_each_text(answer: Answer) -> None:
    async with FakeServer([answer]) as server:
        llm: Any = script.llm(server.url)
        with pytest.raises(ModelAnswerError):
            await llm.embed(["a", "b"])
        await llm.aclose()


async def test_a_refused_key() -> None:
    async with FakeServer([Answer({"error": {"message": "no"}}, status=401)]) as server:
        llm: Any = script.llm(server.url)
        with pytest.raises(ModelAuthError, match="Check "):
            await llm.embed(["a"])
        await llm.aclose()
