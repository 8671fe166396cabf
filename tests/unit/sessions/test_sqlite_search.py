"""The search of the embedded store: files of earlier versions, and files never searched."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ostinato.sessions.sqlite.sqlite_schema import FORMAT
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from tests.unit.sessions.talk import OWNER, said


async def test_a_file_of_an_earlier_version_is_listed_and_searched(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for migration in FORMAT.migrations[:2]:
            db.executescript(migration)
        db.execute("PRAGMA user_version=2")
        db.execute(
            "INSERT INTO sessions(app, user, id, created, updated, revision) "
            "VALUES('app', 'ann', 'old', 1, 2, 1)"
        )
        db.execute(
            "INSERT INTO events(pos, sid, id, invocation_id, author, timestamp, data) "
            "SELECT sid << 32 | 1, sid, 'e', 'i', 'user', 2, "
            '\'{"content":{"parts":[{"text":"ancient words"}]}}\' FROM sessions'
        )
    store = SqliteSessionService(path)
    listed = await store.list_sessions(app_name="app", page_size=5)
    assert [one.id for one in listed.sessions] == ["old"]
    found = await store.search_sessions(app_name="app", text="ancient")
    assert ([one.id for one in found.sessions], found.complete) == (["old"], True)
    await store.close()


async def test_a_file_that_is_never_searched_has_no_index(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteSessionService(path)
    session = await store.create_session(**OWNER)
    await store.append_event(session, said("words"))
    await store.close()
    with closing(sqlite3.connect(path)) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    assert not {name for name in names if "search" in name or "words" in name}


async def test_two_services_index_one_file(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    one, other = SqliteSessionService(path), SqliteSessionService(path)
    first = await one.create_session(**OWNER, session_id="s1")
    await one.append_event(first, said("alpha"))
    assert len((await other.search_sessions(app_name="app", text="alpha")).sessions) == 1
    await one.append_event(first, said("beta"))
    assert len((await other.search_sessions(app_name="app", text="alpha beta")).sessions) == 1
    await other.delete_session(**OWNER, session_id="s1")
    assert (await one.search_sessions(app_name="app", text="alpha")).sessions == []
    await one.close()
    await other.close()
