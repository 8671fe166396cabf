"""Files that DatabaseSessionService or google-adk wrote: named, and copied."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ostinato.hosting.setup_error import SetupError
from ostinato.hosting.store_address import parse_store
from ostinato.hosting.stores import has_database_tables, open_sessions, open_store
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService


async def _write_database(file: Path) -> None:
    store = DatabaseSessionService(f"sqlite+aiosqlite:///{file}")
    await store.create_session(app_name="desk", user_id="ann", session_id="first")
    await store.close()


async def test_a_file_of_a_database_service_is_refused_with_the_command_that_copies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await _write_database(tmp_path / "adk.db")
    for db in ("adk.db", "sqlite:///adk.db"):
        with pytest.raises(SetupError) as caught:
            open_sessions(db)
        assert caught.value.message == (
            "'adk.db' was written by DatabaseSessionService or google-adk. Copy it: "
            "`ostinato migrate --from adk.db --to sessions.db`, and use --db sessions.db."
        )


async def test_the_copy_never_has_the_name_of_the_file(tmp_path: Path) -> None:
    await _write_database(tmp_path / "sessions.db")
    with pytest.raises(SetupError, match=r"--to copy\.db"):
        open_store(parse_store(str(tmp_path / "sessions.db")))


async def test_other_files_are_left_to_their_store(tmp_path: Path) -> None:
    own = SqliteSessionService(str(tmp_path / "own.db"))
    await own.create_session(app_name="desk", user_id="ann")
    await own.close()
    (tmp_path / "text.db").write_text("no database " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE sessions(a)")
    for name in ("own.db", "text.db", "other.db", "missing.db"):
        assert not has_database_tables(tmp_path / name)
