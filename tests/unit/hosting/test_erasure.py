"""A user is erased from real services: no byte of theirs is left in a file or a table."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ostinato.artifacts.base_artifact_service import BaseArtifactService
from ostinato.artifacts.file_artifact_service import FileArtifactService
from ostinato.artifacts.in_memory_artifact_service import InMemoryArtifactService
from ostinato.errors import InputValidationError
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.hosting.erasure import ErasureReport, erase_user
from ostinato.memory.in_memory_memory_service import InMemoryMemoryService
from ostinato.memory.sqlite_memory_service import SqliteMemoryService
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.in_memory_session_service import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Claim, InboxMessage, JournalRow, Place
from ostinato.telemetry.recorder import SpanRecord
from ostinato.telemetry.span_store import SqliteSpanStore
from ostinato.types import Content, Part
from tests.support.databases import execute, new_database

pytestmark = pytest.mark.long

MARK = "Zitronenfalter"  # occurs in every piece of data of the user who is erased


@dataclass
class Kept:
    """The services of a host."""

    sessions: Any
    artifacts: Any
    memories: Any
    spans: Any

    async def close(self) -> None:
        for one in (self.sessions, self.memories, self.spans):
            if hasattr(one, "close"):
                await one.close()


def kept_in(folder: Path, sessions: Any) -> Kept:
    return Kept(
        sessions,
        FileArtifactService(folder / "artifacts"),
        SqliteMemoryService(folder / "memories.db"),
        SqliteSpanStore(folder / "traces.db", wants_content=True),
    )


async def keep(kept: Kept, app: str, user: str, word: str) -> None:
    """Have services keep something of a user everywhere they can."""
    state = {"k": word, "user:u": word, "__session_metadata__": {"displayName": word}}
    for number in range(119):
        await kept.sessions.create_session(
            app_name=app, user_id=user, session_id=f"{word}-{number}", state=state
        )
    session = await kept.sessions.create_session(
        app_name=app, user_id=user, session_id=f"{word}-last", state=state
    )
    place = Place(app, user, session.id)
    event = Event(
        author="user",
        invocation_id=word,
        content=Content(role="user", parts=[Part(text=f"{word} {word * 2000}")]),
        actions=EventActions(state_delta={"k": word, "user:u": f"{word}2"}),
    )
    claim = Claim(word, word, 30.0, word, word)
    rows = [JournalRow(word, word, "finished", word, word)]
    await kept.sessions.append(session, [event], rows, None, claim)
    await kept.sessions.put_message(place, InboxMessage(f"{word}2", word, word, word), 30.0)
    while await kept.sessions.index_sessions():
        pass
    names = {"app_name": app, "user_id": user}
    for name in ("note.txt", "user:note.txt"):
        await kept.artifacts.save_artifact(
            **names, session_id=session.id, filename=name, artifact=Part.from_text(text=word)
        )
    await kept.memories.add_session_to_memory(session)
    kept.spans.on_end(
        SpanRecord(
            id=f"{app}-{word}",
            trace_id="t",
            parent_id=None,
            name=word,
            operation="chat",
            start=1.0,
            end=2.0,
            place=place,
            invocation_id=word,
            error=word,
            attributes={"a": word},
            contents=[word * 50],
            texts={"t": word * 60},
        )
    )
    await kept.spans.flush()


def files_with(folder: Path, word: str) -> list[str]:
    """Return the files that hold a word in any spelling, or have it in their path."""
    found: list[str] = []
    for path in folder.rglob("*"):
        data = path.read_bytes().lower() if path.is_file() else b""
        if word.lower().encode() in data or word in str(path):
            found.append(str(path.relative_to(folder)))
    return found


STORES = {
    "file": lambda folder: SqliteSessionService(folder / "s.db"),
    "sql file": lambda folder: DatabaseSessionService(f"sqlite+aiosqlite:///{folder / 's.db'}"),
}


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("app", ["app", None])
async def test_no_byte_of_a_user_is_left_in_files(
    tmp_path: Path, name: str, app: str | None
) -> None:
    kept = kept_in(tmp_path, STORES[name](tmp_path))
    await keep(kept, "app", "ann", MARK)
    await keep(kept, "app", "bob", "Admiral")
    if app is None:
        await keep(kept, "other", "ann", f"{MARK}s")
    assert files_with(tmp_path, MARK)
    apps = 1 if app else 2
    report = await erase_user(kept, app, "ann")
    assert report == ErasureReport(120 * apps, 2 * apps, apps, apps)
    assert await erase_user(kept, app, "ann") == ErasureReport()
    await kept.close()
    assert files_with(tmp_path, MARK) == []
    assert files_with(tmp_path, "Admiral")
    kept = kept_in(tmp_path, STORES[name](tmp_path))
    found = await kept.sessions.search_sessions(app_name="app", text="admiral")
    assert len(found.sessions) == 50
    await kept.close()


@pytest.mark.service
@pytest.mark.parametrize("server", ["postgres", "mariadb"])
async def test_no_row_of_a_user_is_left_in_a_database(tmp_path: Path, server: str) -> None:
    with new_database(server) as url:
        kept = kept_in(tmp_path, DatabaseSessionService(url))
        await keep(kept, "app", "ann", MARK)
        await keep(kept, "app", "bob", "Admiral")
        assert "ostinato_search" in await tables_with(url, server, MARK)
        report = await erase_user(kept, "app", "ann")
        assert report.sessions == 120
        await kept.close()
        assert await tables_with(url, server, MARK) == []
        assert "sessions" in await tables_with(url, server, "Admiral")


async def tables_with(url: str, server: str, word: str) -> list[str]:
    """Return the tables that hold a word in any column."""
    which = "table_schema = 'public'" if server == "postgres" else "table_schema = database()"
    tables = await asyncio.to_thread(
        execute, url, f"SELECT table_name FROM information_schema.tables WHERE {which}"
    )
    found: list[str] = []
    for (table,) in tables:
        rows = await asyncio.to_thread(execute, url, f"SELECT * FROM {table}")
        if word.lower() in str(rows).lower():
            found.append(table)
    return found


async def test_services_in_memory_are_erased() -> None:
    spans = SqliteSpanStore(":memory:")
    kept = Kept(InMemorySessionService(), InMemoryArtifactService(), InMemoryMemoryService(), spans)
    await keep(kept, "app", "ann", MARK)
    await keep(kept, "app", "bob", "Admiral")
    assert await erase_user(kept, None, "ann") == ErasureReport(120, 2, 1, 1)
    assert await erase_user(kept, None, "ann") == ErasureReport()
    assert len((await kept.sessions.list_sessions(app_name="app")).sessions) == 120
    await spans.close()


class Foreign(BaseArtifactService):
    """An artifact service of a user's own, which knows the port alone."""

    def __init__(self) -> None:
        self.kept = InMemoryArtifactService()

    async def save_artifact(self, **how: Any) -> int:
        return await self.kept.save_artifact(**how)

    async def load_artifact(self, **how: Any) -> Part | None:
        return await self.kept.load_artifact(**how)

    async def list_artifact_keys(self, **how: Any) -> list[str]:
        return await self.kept.list_artifact_keys(**how)

    async def delete_artifact(self, **how: Any) -> None:
        await self.kept.delete_artifact(**how)

    async def list_versions(self, **how: Any) -> list[int]:
        return await self.kept.list_versions(**how)

    async def list_artifact_versions(self, **how: Any) -> Any:
        return await self.kept.list_artifact_versions(**how)

    async def get_artifact_version(self, **how: Any) -> Any:
        return await self.kept.get_artifact_version(**how)


async def test_services_of_others_are_erased_by_their_port_or_named() -> None:
    spans = SqliteSpanStore(":memory:")
    kept = Kept(InMemorySessionService(), Foreign(), InMemoryMemoryService(), spans)
    await keep(kept, "app", "ann", MARK)
    assert (await erase_user(kept, None, "ann")).not_erased == ["Foreign"]
    await keep(kept, "app", "ann", MARK)
    report = await erase_user(kept, "app", "ann")
    assert (report.artifacts, report.not_erased) == (2, [])
    kept.memories = object()
    assert (await erase_user(kept, "app", "ann")).not_erased == ["object"]
    with pytest.raises(InputValidationError):
        await erase_user(kept, "app", "a/b")
    await spans.close()
