"""The contract of every memory service that takes sessions and events and searches by words."""

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.memory import BaseMemoryService, InMemoryMemoryService, SqliteMemoryService
from ostinato.memory.base_memory_service import SearchMemoryResponse
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.sessions.session import Session
from ostinato.types import Blob, Content, FunctionCall, Part
from tests.support.word_embedder import WordEmbedder


@pytest.fixture(params=["memory", "sqlite", "sqlite :memory:", "sqlite by meaning"])
async def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseMemoryService]:
    if request.param == "memory":
        yield InMemoryMemoryService()
    else:
        path = ":memory:" if request.param.endswith(":memory:") else tmp_path / "m.db"
        embedder = WordEmbedder() if request.param.endswith("meaning") else None
        sqlite = SqliteMemoryService(path, embedder=embedder)
        yield sqlite
        await sqlite.close()


def said(text: str, **fields: Any) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    return Event(**{"author": "user", "id": text, "content": content, **fields})


def session(*events: Event, **fields: Any) -> Session:
    owner: dict[str, Any] = {"id": "s1", "app_name": "app", "user_id": "ann"}
    return Session(**{**owner, "events": list(events), **fields})


async def found(
    service: BaseMemoryService, query: str, app_name: str = "app", user_id: str = "ann"
) -> list[str | None]:
    response = await service.search_memory(app_name=app_name, user_id=user_id, query=query)
    return [(memory.content.parts or [])[0].text for memory in response.memories]


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("fox", ["The quick brown Fox"]),
        ("FOX!", ["The quick brown Fox"]),
        ("fo", []),
        ("wide", ["Hello world-wide 42"]),
        ("4", []),
        ("42", ["Hello world-wide 42"]),
        ("under", []),
        ("under_score", ["café 你好 don't under_score"]),
        ("don", ["café 你好 don't under_score"]),
        ("café", ["café 你好 don't under_score"]),
        ("cafe", []),
        ("你好", ["café 你好 don't under_score"]),
        ("quick hello", ["The quick brown Fox", "Hello world-wide 42"]),
        ("absent", []),
        ("", []),
        ("?!", []),
    ],
)
async def test_whole_words_are_found_without_regard_to_case(
    service: BaseMemoryService, query: str, hits: list[str]
) -> None:
    texts = ["The quick brown Fox", "Hello world-wide 42", "café 你好 don't under_score"]
    await service.add_session_to_memory(session(*map(said, texts)))
    assert await found(service, query) == hits


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("绿茶", ["我最喜欢绿茶。"]),
        ("你喜欢什么茶", ["我最喜欢绿茶。"]),
        ("茶", ["我最喜欢绿茶。"]),
        ("茶绿", []),
        ("東京タワー", ["東京タワーに登った"]),
        ("タワー", ["東京タワーに登った"]),
        ("ﾀﾜｰ", ["東京タワーに登った"]),
        ("京都", []),
        ("서울", ["서울에서 만나요"]),
        ("กรุงเทพ", ["ฉันอยู่กรุงเทพฯ"]),
        ("ПРИВЕТ", ["Привет, мир"]),
        ("приве", []),
        ("καλησπέρα", ["Καλησπέρα"]),
        ("שלום", ["שלום עולם"]),
        ("strasse", ["Straße 12"]),
        ("ＳＴＲＡẞＥ", ["Straße 12"]),
        ("cafe\u0301", ["café"]),
        ("IPHONE15", ["iPhone15手机"]),
        ("手机", ["iPhone15手机"]),
        ("手", ["iPhone15手机"]),
    ],
)
async def test_any_script_is_found(service: BaseMemoryService, query: str, hits: list[str]) -> None:
    texts = ["我最喜欢绿茶。", "東京タワーに登った", "서울에서 만나요", "ฉันอยู่กรุงเทพฯ"]
    texts += ["Привет, мир", "Καλησπέρα", "שלום עולם", "Straße 12", "café", "iPhone15手机"]
    await service.add_session_to_memory(session(*map(said, texts)))
    assert await found(service, query) == hits


ODD_QUERIES = [
    *(
        '"',
        "'",
        '"fox',
        'fox" OR "',
        "AND",
        "OR",
        "NOT",
        "NEAR(x y)",
        "*",
        "fox*",
        "(",
        ")",
        "^fox",
    ),
    *(
        "owner:1",
        "words : fox",
        "-fox",
        "+",
        "{",
        "}",
        "\\",
        "%",
        "_",
        ";",
        "--",
        "fox; DROP TABLE x",
    ),
    *(
        "\0",
        "fo\0x",
        "\ud800",
        "🦊",
        "🦊fox",
        "\u202efox",
        "x" * 20_000,
        "fox " * 5_000,
        "你" * 20_000,
    ),
    *(" ", "\n\t", "." * 20_000, " ".join(f"w{n}" for n in range(4_000)), "é" * 300),
]


@pytest.mark.parametrize("query", ODD_QUERIES)
async def test_a_query_is_data(service: BaseMemoryService, query: str) -> None:
    """No query raises, and an operator or a quote finds what its words find, or nothing."""
    await service.add_session_to_memory(session(said("a fox"), said("a cat")))
    await service.add_events_to_memory(app_name="app", user_id="bob", events=[said("b fox drop")])
    has_fox = "fox" in query.replace("fox;", "fox ").replace("_", " ").replace("\u202e", " ")
    assert set(await found(service, query)) <= {"a fox", "a cat"}
    assert ("a fox" in await found(service, query)) == has_fox
    assert await found(service, "cat") == ["a cat"]


@pytest.mark.parametrize("query", [None, 5, b"fox"])
async def test_a_query_that_is_no_text_is_refused(service: BaseMemoryService, query: Any) -> None:
    with pytest.raises(InputValidationError, match="has to be a text"):
        await found(service, query)


@pytest.mark.parametrize("text", ODD_QUERIES)
async def test_a_text_is_data(service: BaseMemoryService, text: str) -> None:
    if "\ud800" in text:
        return
    await service.add_session_to_memory(session(said("key " + text)))
    assert await found(service, "key") == ["key " + text]


async def test_an_entry_says_who_and_when(service: BaseMemoryService) -> None:
    stamp = 1700000001.5
    await service.add_session_to_memory(session(said("a fox", author="agent", timestamp=stamp)))
    response = await service.search_memory(app_name="app", user_id="ann", query="fox")
    assert response == SearchMemoryResponse(
        memories=[
            MemoryEntry(
                content=Content(role="user", parts=[Part(text="a fox")]),
                author="agent",
                timestamp=datetime.fromtimestamp(stamp).isoformat(),
            )
        ]
    )


async def test_all_text_parts_count_and_the_content_comes_whole(
    service: BaseMemoryService,
) -> None:
    picture = Part(inline_data=Blob(data=b"x", mime_type="image/png"))
    content = Content(role="user", parts=[Part(text="first"), picture, Part(text="second")])
    await service.add_session_to_memory(session(Event(author="user", content=content)))
    response = await service.search_memory(app_name="app", user_id="ann", query="second")
    assert [memory.content for memory in response.memories] == [content]


async def test_events_without_text_are_passed_over(service: BaseMemoryService) -> None:
    call = Part(function_call=FunctionCall(name="fox", args={"fox": "fox"}))
    await service.add_session_to_memory(
        session(
            Event(author="agent", content=Content(role="model", parts=[call])),
            Event(author="agent"),
            Event(author="agent", content=Content(role="model")),
        )
    )
    assert await found(service, "fox") == []


async def test_adding_a_session_again_replaces_it(service: BaseMemoryService) -> None:
    await service.add_session_to_memory(session(said("one fox"), said("two fox")))
    await service.add_session_to_memory(session(said("two fox"), said("three fox")))
    assert await found(service, "fox") == ["two fox", "three fox"]
    await service.add_session_to_memory(session(said("other fox"), id="s2"))
    assert await found(service, "fox") == ["two fox", "three fox", "other fox"]


async def test_events_are_added_once(service: BaseMemoryService) -> None:
    owner: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
    await service.add_session_to_memory(session(said("one fox")))
    await service.add_events_to_memory(events=[said("one fox"), said("two fox")], **owner)
    await service.add_events_to_memory(events=[said("two fox")], **owner)
    assert await found(service, "fox") == ["one fox", "two fox"]


async def test_events_without_a_session_have_a_place_of_their_own(
    service: BaseMemoryService,
) -> None:
    owner: dict[str, Any] = {"app_name": "app", "user_id": "ann"}
    await service.add_events_to_memory(events=[said("one fox")], **owner)
    await service.add_events_to_memory(events=[said("one fox")], **owner)
    await service.add_session_to_memory(session(said("two fox")))
    assert await found(service, "fox") == ["one fox", "two fox"]


async def test_custom_metadata_comes_back(service: BaseMemoryService) -> None:
    await service.add_events_to_memory(
        app_name="app", user_id="ann", events=[said("a fox")], custom_metadata={"topic": "animals"}
    )
    response = await service.search_memory(app_name="app", user_id="ann", query="fox")
    assert [memory.custom_metadata for memory in response.memories] == [{"topic": "animals"}]


async def test_owners_are_apart(service: BaseMemoryService) -> None:
    await service.add_session_to_memory(session(said("a fox")))
    await service.add_session_to_memory(session(said("b fox"), app_name="app/ann", user_id="x"))
    assert await found(service, "fox", user_id="bob") == []
    assert await found(service, "fox", app_name="other") == []
    assert await found(service, "fox", app_name="app", user_id="ann/x") == []
    assert await found(service, "fox") == ["a fox"]


async def test_later_changes_do_not_reach_what_is_remembered(service: BaseMemoryService) -> None:
    event = said("a fox")
    await service.add_session_to_memory(session(event))
    assert event.content is not None
    assert event.content.parts is not None
    event.content.parts[0].text = "changed"
    response = await service.search_memory(app_name="app", user_id="ann", query="fox")
    parts = response.memories[0].content.parts
    assert parts is not None
    parts[0].text = "changed"
    assert await found(service, "fox") == ["a fox"]


async def test_ready_made_entries_are_refused_with_the_way_out() -> None:
    entry = MemoryEntry(content=Content(parts=[Part(text="fox")]))
    with pytest.raises(NotImplementedError, match="add_session_to_memory"):
        await InMemoryMemoryService().add_memory(app_name="app", user_id="ann", memories=[entry])


async def test_a_service_may_take_whole_sessions_only() -> None:
    class SessionsOnly(BaseMemoryService):
        async def add_session_to_memory(self, session: Session) -> None: ...

        async def search_memory(
            self, *, app_name: str, user_id: str, query: str
        ) -> SearchMemoryResponse:
            return SearchMemoryResponse()

    with pytest.raises(NotImplementedError, match="SessionsOnly"):
        await SessionsOnly().add_events_to_memory(app_name="app", user_id="ann", events=[])


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_threads_may_add_and_search_at_once(kind: str, tmp_path: Path) -> None:
    service, wrong = InMemoryMemoryService(), list[str]()
    if kind == "sqlite":
        service = SqliteMemoryService(tmp_path / "m.db", max_results=100)

    def work(name: str) -> None:
        for number in range(50):
            event = said(f"{name} {number}")
            add = service.add_events_to_memory(app_name="app", user_id="ann", events=[event])
            asyncio.run(add)
            if len(asyncio.run(found(service, name))) != number + 1:
                wrong.append(f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if isinstance(service, SqliteMemoryService):
        asyncio.run(service.close())
    assert wrong == []
