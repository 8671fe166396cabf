"""What only the SQLite file of memories has to keep: rank, bounds, processes, formats, erasure."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.errors import InputValidationError, StoreError
from ostinato.events.event import Event
from ostinato.memory import SqliteMemoryService
from ostinato.memory.memory_entry import MemoryEntry
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService, SqliteSessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite import sqlite_connection as _sqlite_connection
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools import load_memory, preload_memory
from ostinato.types import Content, Part
from tests.unit.memory.conftest import Make

OWNER: dict[str, Any] = {"app_name": "app", "user_id": "ann"}


def said(text: str, **fields: Any) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    return Event(**{"author": "user", "id": text, "content": content, **fields})


def session(*texts: str, **fields: Any) -> Session:
    events = [said(text) for text in texts]
    return Session(**{"id": "s1", **OWNER, "events": events, **fields})


async def found(service: SqliteMemoryService, query: str, **owner: str) -> list[str | None]:
    response = await service.search_memory(**{**OWNER, **owner}, query=query)
    return [(memory.content.parts or [])[0].text for memory in response.memories]


def query_file(path: Path, sql: str) -> list[Any]:
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


async def test_rare_words_and_short_texts_come_first(make: Make) -> None:
    service = make()
    texts = ["the tea is warm", "the house the house", "the old house by the sea", "tea"]
    await service.add_session_to_memory(session(*texts, *(f"the {n}" for n in range(10))))
    assert (await found(service, "the tea"))[:3] == [
        "tea",
        "the tea is warm",
        "the house the house",
    ]
    assert await found(service, "house") == ["the house the house", "the old house by the sea"]


async def test_a_search_gives_so_many_at_most_and_the_best_of_them(make: Make) -> None:
    texts = [f"fox {n} and many other words" for n in range(50)]
    service = make()
    await service.add_session_to_memory(session(*texts, "fox"))
    assert await found(service, "fox") == ["fox", *texts[:19]]
    assert await found(make(max_results=2), "fox") == ["fox", texts[0]]
    with pytest.raises(InputValidationError, match="max_results"):
        make(max_results=0)


async def test_memories_outlive_the_service(make: Make) -> None:
    first = make()
    await first.add_session_to_memory(session("a fox"))
    await first.close()
    second = make()
    assert await found(second, "fox") == ["a fox"]
    await second.add_session_to_memory(session("b fox"))
    assert await found(make(), "fox") == ["b fox"]


async def test_many_memories_of_others_neither_show_nor_crowd_out(make: Make) -> None:
    service = make()
    for user in ("bob", "cid"):
        texts = [f"fox {user} {n}" for n in range(100)]
        await service.add_session_to_memory(session(*texts, user_id=user))
    await service.add_session_to_memory(session("ann likes a fox"))
    assert await found(service, "fox") == ["ann likes a fox"]
    assert len(await found(service, "fox", user_id="bob")) == 20


async def test_ready_made_entries_come_back_as_they_were(make: Make) -> None:
    service = make()
    whole = MemoryEntry(
        id="mine",
        content=Content(role="model", parts=[Part(text="a fox")]),
        author="bot",
        timestamp="2026-01-02T03:04:05+01:00",
        custom_metadata={"topic": "animals", "deep": {"n": [1, None]}},
    )
    bare = MemoryEntry(content=Content(parts=[Part(text="b fox")]))
    await service.add_memory(**OWNER, memories=[whole, bare], custom_metadata={"topic": "other"})
    await service.add_memory(**OWNER, memories=[whole])
    memories = (await service.search_memory(**OWNER, query="fox")).memories
    assert memories == [whole, bare.model_copy(update={"custom_metadata": {"topic": "other"}})]


@pytest.mark.parametrize("bad", [{"k": object()}, {"k": {1, 2}}])
async def test_metadata_must_be_json(make: Make, bad: dict[str, Any]) -> None:
    service = make()
    with pytest.raises(InputValidationError, match="custom_metadata"):
        await service.add_events_to_memory(**OWNER, events=[said("fox")], custom_metadata=bad)
    with pytest.raises(InputValidationError, match="custom_metadata"):
        await service.add_memory(
            **OWNER,
            memories=[MemoryEntry(content=Content(parts=[Part(text="fox")]), custom_metadata=bad)],
        )
    assert await found(service, "fox") == []


async def test_half_characters_are_a_typed_error(make: Make) -> None:
    service = make()
    with pytest.raises(InputValidationError, match="JSON cannot carry"):
        await service.add_events_to_memory(**OWNER, events=[said("fox \ud800", id="e")])
    for owner in ({**OWNER, "user_id": "\ud800"}, {**OWNER, "app_name": "\udfff"}):
        with pytest.raises(InputValidationError, match="half a character"):
            await service.add_events_to_memory(**owner, events=[said("fox")])
        with pytest.raises(InputValidationError, match="half a character"):
            await service.search_memory(**owner, query="fox")
    assert await found(service, "fox") == []


async def test_a_user_is_forgotten_without_a_trace(make: Make, path: Path) -> None:
    service = make()
    secret = [f"zanzibar{n} 绿茶{n}" for n in range(200)]
    await service.add_session_to_memory(session(*secret))
    await service.add_events_to_memory(**OWNER, events=[said("zanzibar too")])
    await service.add_session_to_memory(session("a fox", user_id="bob"))
    await service.add_session_to_memory(session("c fox", app_name="other", user_id="cid"))
    await service.delete_user("app", "ann")
    await service.delete_user("app", "nobody")
    assert await found(service, "zanzibar7 too 绿茶") == []
    assert await found(service, "fox", user_id="bob") == ["a fox"]
    assert await found(service, "fox", app_name="other", user_id="cid") == ["c fox"]
    await service.close()
    assert [name for name in os.listdir(path.parent) if "wal" in name] == []
    data = await asyncio.to_thread(path.read_bytes)
    assert b"fox" in data
    for trace in (b"zanzibar", "绿茶".encode(), "绿茶".encode().hex().encode(), b"ann"):
        assert trace not in data
    again = make()
    await again.add_session_to_memory(session("new fox"))
    assert await found(again, "fox zanzibar7") == ["new fox"]


CHILD = """
import asyncio, json, sys
from ostinato.events.event import Event
from ostinato.memory import SqliteMemoryService
from ostinato.types import Content, Part

async def main(path, name):
    service = SqliteMemoryService(path)
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(20):
        content = Content(parts=[Part(text=f"{name} word{n}")])
        event = Event(id=f"{name}-{n}", author=name, content=content)
        await service.add_events_to_memory(app_name="app", user_id="ann", events=[event])
        found = await service.search_memory(app_name="app", user_id="ann", query=f"word{n}")
        assert name in [memory.author for memory in found.memories]
    await service.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.long
async def test_several_processes_make_and_use_one_file(make: Make, path: Path) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CHILD, str(path)]
    processes = [
        subprocess.Popen([*command, name], stdin=pipe, stdout=pipe, text=True)  # noqa: ASYNC220
        for name in ("p1", "p2", "p3")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    service = make(max_results=100)
    for n in range(20):
        assert len(await found(service, f"word{n}")) == 3
    assert len(await found(service, "p2")) == 20


async def test_the_event_loop_runs_on_while_the_file_is_locked(make: Make, path: Path) -> None:
    service = make()
    await service.add_session_to_memory(session("a fox"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    task = asyncio.create_task(service.add_session_to_memory(session("b fox")))
    assert await found(service, "fox") == ["a fox"]
    assert not task.done()
    other.execute("ROLLBACK")
    other.close()
    await task
    assert await found(service, "fox") == ["b fox"]


async def test_words_are_taken_in_another_thread(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ostinato.memory import _sqlite_memories

    threads: set[str] = set()
    for name in ("words", "asked_words"):
        inner = getattr(_sqlite_memories, name)

        def noting(text: str, inner: Any = inner) -> Any:
            threads.add(threading.current_thread().name.rstrip("-0123456789"))
            return inner(text)

        monkeypatch.setattr(_sqlite_memories, name, noting)
    service = make()
    await service.add_session_to_memory(session("a fox"))
    await found(service, "fox")
    assert threads == {"ostinato-sqlite-writer", "ostinato-sqlite-reader"}


async def test_the_version_is_kept_in_the_file(make: Make, path: Path) -> None:
    await make().add_session_to_memory(session("a fox"))
    assert query_file(path, "PRAGMA user_version") == [(2,)]
    query_file(path, "PRAGMA user_version=9")
    with pytest.raises(StoreError, match=r"memory store 'm\.db' has version 9") as caught:
        await found(make(), "fox")
    assert str(path.parent) not in str(caught.value)


async def test_files_of_other_stores_and_programs_are_refused(make: Make, path: Path) -> None:
    sessions = SqliteSessionService(path)
    await sessions.create_session(app_name="app", user_id="ann", session_id="s1")
    await sessions.close()
    before = query_file(path, "SELECT sql FROM sqlite_master")
    with pytest.raises(StoreError, match="holds what another store keeps"):
        await make().add_session_to_memory(session("a fox"))
    assert query_file(path, "SELECT sql FROM sqlite_master") == before
    os.remove(path)
    query_file(path, "CREATE TABLE theirs(x)")
    with pytest.raises(StoreError, match="tables of another program"):
        await found(make(), "fox")
    os.remove(path)
    await make().add_session_to_memory(session("a fox"))
    with pytest.raises(StoreError, match="holds what another store keeps"):
        await sessions_of(path)


async def sessions_of(path: Path) -> None:
    sessions = SqliteSessionService(path)
    try:
        await sessions.list_sessions(app_name="app")
    finally:
        await sessions.close()


async def test_an_sqlite_without_full_text_search_is_named(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(file: Any) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:")
        with pytest.raises(sqlite3.OperationalError) as caught:
            db.execute("CREATE VIRTUAL TABLE x USING nosuch(y)")
        db.close()
        raise sqlite3.OperationalError(str(caught.value).replace("nosuch", "fts5"))

    monkeypatch.setattr(_sqlite_connection, "connect", without)
    with pytest.raises(StoreError, match=r"'m\.db' needs an SQLite with the module fts5"):
        await found(make(), "fox")


async def test_a_closed_service_says_so(make: Make) -> None:
    service = make()
    await service.close()
    with pytest.raises(StoreError, match=r"closed; make a new SqliteMemoryService"):
        await found(service, "fox")


async def test_a_path_that_is_none_is_refused() -> None:
    for bad in ("", "a\0b", 3):
        with pytest.raises(InputValidationError, match="db_path"):
            SqliteMemoryService(bad)  # type: ignore[arg-type]


def talk_of(agent: LlmAgent, memory: SqliteMemoryService, at: str) -> Conversation:
    runner = Runner(
        app=App(name="app", root_agent=agent),
        session_service=InMemorySessionService(),
        memory_service=memory,
    )
    return Conversation(runner, user_id="ann", session_id=at)


@pytest.mark.spec(198, 199)
async def test_tools_find_what_an_earlier_program_remembered(make: Make) -> None:
    """A talk is remembered, the program ends, another one's tools find it: asked and unasked."""
    first = make()
    talk = talk_of(LlmAgent(name="clerk", model=ScriptedModel(["Noted."])), first, "one")
    await talk.say("I only drink green tea, 我喜欢绿茶")
    await first.add_session_to_memory(await talk.session())
    await first.close()

    second = make()
    model = ScriptedModel([call("load_memory", query="tea?"), "Green tea."])
    agent = LlmAgent(name="clerk", model=model, tools=[load_memory, preload_memory])
    talk = talk_of(agent, second, "two")
    await talk.say("喜欢什么茶")
    assert talk.text == "Green tea."
    asked, answered = model.requests
    assert "user: I only drink green tea" in asked.instruction
    result = (answered.function_responses[0].response or {})["result"]
    (memory,) = result["memories"]
    assert memory["author"] == "user"
    assert memory["content"]["parts"] == [{"text": "I only drink green tea, 我喜欢绿茶"}]
    assert json.dumps(result)
    other = ScriptedModel(["Who knows."])
    agent = LlmAgent(name="clerk", model=other, tools=[preload_memory])
    runner = talk_of(agent, second, "three").runner
    await Conversation(runner, user_id="bob", session_id="three").say("tea")
    assert "PAST" not in other.requests[0].instruction
