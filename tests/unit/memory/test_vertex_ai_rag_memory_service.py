"""The RAG memory: the files it uploads, and how it joins the texts that are found."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import google.auth
import pytest
from google.oauth2.credentials import Credentials

from ostinato import _google_rest
from ostinato._google_rest import GoogleApiError
from ostinato.errors import AgentConfigError
from ostinato.events.event import Event
from ostinato.memory import VertexAiRagMemoryService
from ostinato.sessions.session import Session
from ostinato.types import Content, FunctionCall, Part
from tests.wire.fake_server import Answer, FakeServer

PARENT = "projects/p/locations/us-central1"
CORPUS = f"{PARENT}/ragCorpora/1"
# As google-adk 2.3.0 names the file of app "app.x", user "u/1" and session "s.1".
NAME = "adk-memory-v1.YXBwLng.dS8x.cy4x"
UPLOADED = {"ragFile": {"name": f"{CORPUS}/ragFiles/2", "displayName": NAME}}


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeServer]:
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials(token="t-1"), "p"))
    monkeypatch.setattr(_google_rest, "pause", lambda seconds: None)
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    answers: dict[str, Any] = {
        f"/upload/v1beta1/{CORPUS}/ragFiles:upload": Answer(UPLOADED),
        f"/v1/{PARENT}:retrieveContexts": lambda _: Answer({"contexts": {"contexts": FOUND}}),
    }
    async with FakeServer(paths=answers) as server:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        FOUND.clear()
        yield server


FOUND: list[dict[str, Any]] = []


def said(*texts: str, **fields: Any) -> Event:
    content = Content(role="user", parts=[Part(text=text) for text in texts])
    return Event(**{"author": "user", "timestamp": 1.5, "content": content, **fields})


def session(*events: Event) -> Session:
    return Session(id="s.1", app_name="app.x", user_id="u/1", events=list(events))


def found(name: str, *lines: tuple[str, float, str] | str) -> None:
    texts = [
        line
        if isinstance(line, str)
        else json.dumps(dict(zip(("author", "timestamp", "text"), line, strict=True)))
        for line in lines
    ]
    FOUND.append({"sourceDisplayName": name, "text": "\n".join(texts), "score": 0.5})


async def search(service: VertexAiRagMemoryService, **owner: str) -> list[tuple[str | None, Any]]:
    owner = {"app_name": "app.x", "user_id": "u/1", **owner}
    try:
        response = await service.search_memory(**owner, query="tea")
    finally:
        await service.close()
    return [(one.author, (one.content.parts or [])[0].text) for one in response.memories]


async def test_a_session_becomes_a_file_as_google_adk_writes_it(server: FakeServer) -> None:
    service = VertexAiRagMemoryService(CORPUS)
    call = Content(parts=[Part(function_call=FunctionCall(name="f"))])
    events = [said("hello\nworld"), said("a", "b", author="agent", timestamp=2.0)]
    await service.add_session_to_memory(session(*events, Event(author="x", content=call), said("")))
    await service.close()
    (request,) = server.requests
    assert request.path == f"/upload/v1beta1/{CORPUS}/ragFiles:upload"
    assert request.headers["x-goog-upload-protocol"] == "multipart"
    assert request.headers["authorization"] == "Bearer t-1"
    parts = re.findall(rb'name="(\w+)".*?\r\n\r\n(.*?)\r\n--', request.body, re.DOTALL)
    assert [name for name, _ in parts] == [b"metadata", b"file"]
    assert json.loads(parts[0][1]) == {"rag_file": {"display_name": NAME}}
    assert parts[1][1].decode() == (
        '{"author": "user", "timestamp": 1.5, "text": "hello world"}\n'
        '{"author": "agent", "timestamp": 2.0, "text": "a.b"}'
    )


async def test_a_session_without_text_is_not_uploaded(server: FakeServer) -> None:
    service = VertexAiRagMemoryService(CORPUS)
    await service.add_session_to_memory(session())
    await service.close()
    assert server.requests == []


async def test_a_search_asks_for_the_corpus_with_its_bounds(server: FakeServer) -> None:
    found(NAME, ("user", 1.5, "tea"))
    service = VertexAiRagMemoryService(CORPUS, similarity_top_k=3, vector_distance_threshold=0.5)
    response = await service.search_memory(app_name="app.x", user_id="u/1", query="tea")
    await service.close()
    assert server.requests[0].json == {
        "vertexRagStore": {"ragResources": [{"ragCorpus": CORPUS, "ragFileIds": []}]},
        "query": {
            "text": "tea",
            "ragRetrievalConfig": {"topK": 3, "filter": {"vectorDistanceThreshold": 0.5}},
        },
    }
    (memory,) = response.memories
    assert memory.timestamp == datetime.fromtimestamp(1.5).isoformat()
    assert memory.content == Content(parts=[Part(text="tea")])


async def test_texts_of_a_session_are_joined_where_they_overlap(server: FakeServer) -> None:
    other = "adk-memory-v1.YXBwLng.dS8x.czI"
    found(NAME, ("user", 1.5, "one"), ("agent", 2.5, "two"), "cut off {", "[1]", "")
    found(other, ("agent", 2.5, "elsewhere"))
    found(NAME, ("user", 0.5, "first"), ("user", 1.5, "one"))
    found(NAME, ("user", 9.0, "apart"))
    assert await search(VertexAiRagMemoryService(CORPUS)) == [
        ("user", "first"),
        ("user", "one"),
        ("agent", "two"),
        ("user", "apart"),
        ("agent", "elsewhere"),
    ]


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("app.ann.s1", True),  # the names of older versions of google-adk
        ("app.ann.s.1", False),
        ("app.bob.s1", False),
        ("adk-memory-v1.YXBw.YW5u.czE", True),
        ("adk-memory-v1.YXBw.Ym9i.czE", False),
        ("adk-memory-v1.YXBw", False),
        ("adk-memory-v1.a.b.c", False),
        ("", False),
    ],
)
async def test_only_files_of_the_user_count(server: FakeServer, name: str, is_found: bool) -> None:
    found(name, ("user", 1.0, "tea"))
    service = VertexAiRagMemoryService(CORPUS)
    memories = await search(service, app_name="app", user_id="ann")
    assert memories == ([("user", "tea")] if is_found else [])


async def test_a_short_name_needs_a_project(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AgentConfigError, match=r"VertexAiRagMemoryService: the corpus '1'"):
        await search(VertexAiRagMemoryService("1"))
    with pytest.raises(AgentConfigError, match=r"the corpus ''"):
        await VertexAiRagMemoryService().add_session_to_memory(session(said("a")))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-central1")
    found(NAME, ("user", 1.0, "tea"))
    assert await search(VertexAiRagMemoryService("1")) == [("user", "tea")]
    resources = server.requests[0].json["vertexRagStore"]["ragResources"]
    assert resources == [{"ragCorpus": CORPUS, "ragFileIds": []}]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer({"error": {"code": 3, "message": "Bad file."}}), "did not take a file: Bad file"),
        (Answer({"error": {"message": "No t-1-token."}}, status=403), "answered 403: No"),
        (Answer({"error": {"message": "No key=AIzaSyA123456789."}}), r"file: No key=\[redacted"),
        (Answer({}), "did not take a file: it gives no reason"),
        (Answer("null"), "RAG Engine answered with JSON of another shape"),
        (Answer("[1, 2]"), "RAG Engine answered with JSON of another shape"),
        (Answer({"ragFile": 5}), "ragFile: it is not an object"),
        (Answer({"error": 5}), "error: it is not an object"),
    ],
)
async def test_a_refused_upload_is_an_error(
    monkeypatch: pytest.MonkeyPatch, server: FakeServer, answer: Answer, problem: str
) -> None:
    async with FakeServer([answer]) as refusing:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", refusing.url)
        service = VertexAiRagMemoryService(CORPUS)
        with pytest.raises(GoogleApiError, match=problem):
            await service.add_session_to_memory(session(said("a")))
        await service.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("null", "the whole: it is not an object"),
        ("[1, 2]", "the whole: it is not an object"),
        ("<html>", "not JSON"),
        ({"contexts": 5}, "contexts: it is not an object"),
        ({"contexts": {"contexts": [1]}}, r"contexts\.contexts\.0: it is not an object"),
        (
            {"contexts": {"contexts": [{"text": 5}]}},
            r"contexts\.contexts\.0\.text: Input should be",
        ),
    ],
)
async def test_a_search_refuses_an_answer_of_another_shape(
    monkeypatch: pytest.MonkeyPatch, server: FakeServer, answer: Any, problem: str
) -> None:
    async with FakeServer([Answer(answer)]) as wrong:
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", wrong.url)
        with pytest.raises(GoogleApiError, match=f"Vertex AI RAG Engine .*{problem}"):
            await search(VertexAiRagMemoryService(CORPUS))


async def test_lines_of_a_file_that_are_no_events_are_left_out(server: FakeServer) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    found(NAME, ("user", 1e300, "far"), ("user", float("nan"), "none"), deep, ("user", 1.0, "tea"))
    assert await search(VertexAiRagMemoryService(CORPUS)) == [("user", "tea")]
