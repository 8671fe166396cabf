"""Memories found by meaning: what is embedded, how rankings join, and what fails softly."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.memory import SqliteMemoryService
from ostinato.memory._vector_index import fuse_ranks
from ostinato.models.embedder import Embedder
from ostinato.sessions.session import Session
from ostinato.types import Content, Part
from tests.support.word_embedder import WordEmbedder
from tests.unit.memory.conftest import Make

OWNER: dict[str, Any] = {"app_name": "app", "user_id": "ann"}


def said(text: str) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    return Event(author="user", id=text, timestamp=1.0, content=content)


def session(*texts: str, **fields: Any) -> Session:
    return Session(**{"id": "s1", **OWNER, "events": [said(text) for text in texts], **fields})


async def found(service: SqliteMemoryService, query: str, **owner: str) -> list[str | None]:
    response = await service.search_memory(**{**OWNER, **owner}, query=query)
    return [(memory.content.parts or [])[0].text for memory in response.memories]


def count_vectors(path: Path) -> list[Any]:
    db = sqlite3.connect(path)
    try:
        sql = "SELECT embedder, count(*) FROM memory_vectors GROUP BY embedder ORDER BY embedder"
        return db.execute(sql).fetchall()
    finally:
        db.close()


def test_the_fake_is_an_embedder() -> None:
    assert isinstance(WordEmbedder(), Embedder)


async def test_a_memory_is_found_that_shares_no_word_with_the_query(make: Make) -> None:
    embedder = WordEmbedder("m", {"car", "vehicle"}, {"fast", "quick"})
    service = make(embedder=embedder)
    texts = ["my vehicle is quick", "the sea is blue", "a vehicle", "car"]
    await service.add_session_to_memory(session(*texts))
    assert await found(service, "fast car") == ["car", "my vehicle is quick", "a vehicle"]
    assert await found(service, "?!") == [] and await found(service, "nothing") == []
    assert await found(service, "car", user_id="bob") == []
    await service.add_events_to_memory(app_name="app", user_id="bob", events=[said("bus, car")])
    assert await found(service, "vehicle", user_id="bob") == ["bus, car"]


async def test_the_least_similarity_bounds_what_meaning_finds(make: Make) -> None:
    embedder = WordEmbedder("m", {"car", "vehicle"})
    texts = ["vehicle", "my vehicle stands in front of the house", "car park by the sea"]
    await make(embedder=embedder).add_session_to_memory(session(*texts))
    assert await found(make(embedder=embedder, min_similarity=0.9), "car") == [texts[0], texts[2]]
    assert await found(make(embedder=embedder, min_similarity=-1), "car") == [
        texts[2],
        texts[0],
        texts[1],
    ]
    assert await found(make(embedder=embedder, max_results=1), "car") == [texts[2]]
    with pytest.raises(InputValidationError, match="min_similarity"):
        make(embedder=embedder, min_similarity=1.5)


def test_what_is_high_in_both_rankings_comes_first() -> None:
    assert fuse_ranks([1, 2, 3], [9, 2, 1]) == [1, 2, 9, 3]
    assert fuse_ranks([], [4, 3]) == [4, 3]


async def test_texts_are_embedded_once_in_batches(make: Make, path: Path) -> None:
    embedder = WordEmbedder()
    service = make(embedder=embedder)
    texts = [f"fox {n}" for n in range(250)]
    await service.add_session_to_memory(session(*texts))
    assert [len(request) for request in embedder.requests] == [100, 100, 50]
    assert sorted(text for request in embedder.requests for text in request) == sorted(texts)
    await service.add_session_to_memory(session(*texts[1:], "a new one"))
    assert embedder.requests[3:] == [["a new one"]]
    assert count_vectors(path) == [("words", 250)]
    assert (await found(service, "249"))[0] == "fox 249"
    assert embedder.requests[4:] == [["249"]]


async def test_another_embedder_makes_the_vectors_anew(make: Make, path: Path) -> None:
    await make(embedder=WordEmbedder("old")).add_session_to_memory(session("a vehicle", "sea"))
    await make().add_session_to_memory(session("added without one", id="s2"))
    new = WordEmbedder("new", {"car", "vehicle"})
    assert await found(make(embedder=new), "car") == ["a vehicle"]
    assert new.requests == [["added without one", "sea", "a vehicle"], ["car"]]
    assert count_vectors(path) == [("new", 3)]


class Wrong(WordEmbedder):
    """Answers with what is no vector for each text."""

    def __init__(self, answer: list[list[float]]) -> None:
        super().__init__()
        self.answer = answer

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ([[1.0]], "1 vectors came for 2"),
        ([[], []], "empty"),
        ([[1.0], [float("nan")]], "finite"),
        ([[1.0], [1.0, 0.0]], "different lengths"),
    ],
)
async def test_what_is_no_vector_is_not_stored(
    make: Make, path: Path, caplog: pytest.LogCaptureFixture, answer: Any, problem: str
) -> None:
    with caplog.at_level(logging.WARNING):
        await make(embedder=Wrong(answer)).add_session_to_memory(session("a fox", "a cat"))
    assert problem in caplog.text and count_vectors(path) == []


async def test_vectors_of_another_length_than_before_are_warned_of(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Wrong([[1.0, 0.0], [0.0, 1.0]])
    service = make(embedder=embedder)
    await service.add_session_to_memory(session("a fox", "a cat"))
    embedder.answer = [[1.0]]
    assert await found(service, "fox") == ["a fox"] and "another length" in caplog.text


async def test_a_failing_embedder_leaves_the_search_by_words(
    make: Make, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = WordEmbedder("m", {"car", "vehicle"})
    service = make(embedder=embedder)
    embedder.failure = RuntimeError("api_key=sk-abcdefghijklmnopqrstuvwxyz is wrong")
    with caplog.at_level(logging.WARNING):
        await service.add_session_to_memory(session("a vehicle", "a car"))
        assert await found(service, "car") == ["a car"]
    assert "embedder m failed" in caplog.text and "sk-abc" not in caplog.text
    embedder.failure = None
    assert await found(service, "car") == ["a car", "a vehicle"]


async def test_forgetting_a_user_forgets_the_vectors(make: Make, path: Path) -> None:
    service = make(embedder=WordEmbedder())
    await service.add_session_to_memory(session("a fox"))
    await service.add_events_to_memory(app_name="app", user_id="bob", events=[said("b fox")])
    await service.delete_user("app", "ann")
    assert count_vectors(path) == [("words", 1)]


async def test_a_file_of_the_first_version_gets_vectors(make: Make, path: Path) -> None:
    first = make()
    await first.add_session_to_memory(session("a vehicle"))
    await first.close()
    db = sqlite3.connect(path)
    db.executescript("DROP TABLE memory_vectors; PRAGMA user_version=1")
    db.close()
    service = make(embedder=WordEmbedder("m", {"car", "vehicle"}))
    assert await found(service, "car") == ["a vehicle"]
