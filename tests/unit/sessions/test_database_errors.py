"""What DatabaseSessionService says when the database, its URL or what is stored is wrong."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from ostinato.errors import InputValidationError, MissingExtraError, StoreError
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sql.sql_errors import is_lost
from ostinato.sessions.sql.sql_url import target_of
from ostinato.sessions.store.durable_store import JournalRow
from tests.support.databases import SERVERS, execute, new_database, server_url
from tests.unit.sessions.talk import OWNER, claim, said, texts

KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}
SECRET = "hunter2-and-more"


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A new, empty database on a server."""
    with new_database(request.param) as made:
        yield made


async def refusal(url: str, error: type[Exception] = StoreError, **settings: Any) -> str:
    """Use a database that cannot be used; return what is said."""
    service = DatabaseSessionService(url, **settings)
    with pytest.raises(error) as caught:
        await service.create_session(**KEY)
    await service.close()
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("not a url", "is not a database URL"),
        (f"://x:{SECRET}@y", "is not a database URL"),
        (f"postgresql+asyncpg://x:{SECRET}@host:port/db", "is not a database URL"),
        ("", "is not a database URL"),
        (5, "must be a str, not int"),
        (f"oracle+oracledb://x:{SECRET}@y/z", "'oracle'; this store knows sqlite, postgresql"),
        (f"postgresql+psycopg2://x:{SECRET}@y/z", r"'psycopg2', .* write postgresql\+asyncpg://"),
        ("mysql+pymysql://y/z", r"'pymysql', .* write mysql\+aiomysql://.*ostinato\[mysql\]"),
        ("mariadb+pymysql://y/z", r"write mariadb\+aiomysql://"),
    ],
)
def test_wrong_urls(url: Any, says: str) -> None:
    with pytest.raises(InputValidationError, match=says) as caught:
        DatabaseSessionService(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        (f"postgresql://x:{SECRET}@y/z", "postgresql+asyncpg"),
        ("mysql://x@y/z", "mysql+aiomysql"),
        ("mariadb://y/z", "mariadb+aiomysql"),
        ("sqlite:///file.db", "sqlite+aiosqlite"),
        ("mysql+asyncmy://y/z", "mysql+asyncmy"),
    ],
)
def test_a_url_without_a_driver_gets_one(
    monkeypatch: pytest.MonkeyPatch, url: str, driver: str
) -> None:
    monkeypatch.setitem(sys.modules, driver.partition("+")[2], ModuleType("driver"))
    target = target_of(url)
    assert target.url.drivername == driver
    password = SECRET if SECRET in url else None
    assert target.url.password == password


def test_settings_that_sqlalchemy_refuses() -> None:
    with pytest.raises(InputValidationError, match="no_such"):
        DatabaseSessionService("sqlite+aiosqlite:///x.db", no_such=1)


@pytest.mark.parametrize(
    ("module", "url", "extra"),
    [
        ("sqlalchemy.engine", "sqlite+aiosqlite:///x.db", "sql"),
        ("aiosqlite", "sqlite+aiosqlite:///x.db", "sql"),
        ("asyncpg", "postgresql+asyncpg://y/z", "postgres"),
        ("aiomysql", "mysql+aiomysql://y/z", "mysql"),
        ("asyncmy", "mariadb+asyncmy://y/z", "mysql"),
    ],
)
def test_missing_drivers(
    monkeypatch: pytest.MonkeyPatch, module: str, url: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'ostinato\[{extra}\]'"):
        DatabaseSessionService(url)


async def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    said = await refusal(f"sqlite+aiosqlite:///{tmp_path}/no/folder/s.db")
    assert "'s.db' cannot be opened" in said and str(tmp_path) not in said
    (tmp_path / "text.db").write_text("this is no database at all, whatever its name says" * 50)
    assert "not an SQLite database" in await refusal(f"sqlite+aiosqlite:///{tmp_path}/text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE events(pos INTEGER, data TEXT)")
    other.close()
    assert "another program" in await refusal(f"sqlite+aiosqlite:///{tmp_path}/other.db")


async def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    url = f"sqlite+aiosqlite:///{path}"
    service = DatabaseSessionService(url)
    await service.create_session(**KEY)
    await service.close()
    for table, column in (("ostinato_metadata", "name"), ("adk_internal_metadata", "key")):
        db = sqlite3.connect(path)
        db.execute(f"UPDATE {table} SET value = '9' WHERE {column} = 'schema_version'")
        db.commit()
        assert f"has version 9 in {table}" in await refusal(url)
        db.execute(f"UPDATE {table} SET value = '1' WHERE {column} = 'schema_version'")
        db.commit()
        db.close()


async def test_rows_that_are_damaged(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 's.db'}"
    service = DatabaseSessionService(url)
    session = await service.create_session(**KEY, state={"k": 1})
    await service.append_event(session, said("x", id="e1"))
    for broken in ("UPDATE events SET event_data = '{'", "UPDATE events SET event_data = '[1]'"):
        execute(url, broken)
        again = DatabaseSessionService(url)
        with pytest.raises(StoreError, match="event 'e1' is damaged"):
            await again.get_session(**KEY)
        await again.close()
    execute(url, "DELETE FROM events", "UPDATE sessions SET state = '{'")
    again = DatabaseSessionService(url)
    with pytest.raises(StoreError, match="state is damaged"):
        await again.get_session(**KEY)
    with pytest.raises(StoreError, match="state is damaged"):
        await again.append_event(session, said("y", {"k": 2}))
    await again.close()
    await service.close()


async def test_a_closed_service(tmp_path: Path) -> None:
    service = DatabaseSessionService(f"sqlite+aiosqlite:///{tmp_path / 's.db'}")
    await service.create_session(**KEY)
    await service.close()
    await service.close()
    with pytest.raises(StoreError, match=r"'s\.db' has been closed"):
        await service.get_session(**KEY)


async def test_state_and_events_that_json_cannot_carry() -> None:
    service = DatabaseSessionService("sqlite+aiosqlite:///:memory:")
    with pytest.raises(InputValidationError, match="'bad'"):
        await service.create_session(**KEY, state={"bad": object()})
    session = await service.create_session(**KEY)
    for value in (object(), float("nan"), "\ud800"):
        with pytest.raises(InputValidationError):
            await service.append_event(session, said("x", {"bad": value}))
    with pytest.raises(InputValidationError, match="is not a time"):
        await service.append_event(session, said("x", timestamp=1e20))
    assert session.events == []
    assert (await service.list_sessions(**OWNER)).sessions[0].state == {}
    await service.close()


@pytest.mark.service
@pytest.mark.parametrize("server", SERVERS)
async def test_servers_that_cannot_be_used(server: str) -> None:
    base = make_url(server_url(server))

    def other(**parts: Any) -> str:
        return base.set(**parts).render_as_string(hide_password=False)

    assert "cannot be reached" in await refusal(other(port=1, password=SECRET))
    assert "does not exist" in await refusal(other(database="no_such_database"))
    if server == "mariadb":
        told = await refusal(other(username="nobody", password=SECRET))
        assert "refuses the user or the password" in told


@pytest.mark.service
async def test_a_user_who_may_only_read(url: str) -> None:
    base = make_url(url)
    service = DatabaseSessionService(url)
    session = await service.create_session(**KEY)
    await service.append_event(session, said("hello"))
    await service.close()
    name = f"reader_{base.database}"[:60]
    if base.drivername.startswith("postgresql"):
        grants = [
            f"CREATE ROLE {name} LOGIN",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}",
        ]
        revokes = [f"DROP OWNED BY {name}", f"DROP ROLE {name}"]
    else:
        grants = [
            f"CREATE USER {name}@'%' IDENTIFIED BY '{SECRET}'",
            f"GRANT SELECT ON {base.database}.* TO {name}@'%'",
        ]
        revokes = [f"DROP USER {name}@'%'"]
    execute(url, *grants)
    reader = DatabaseSessionService(
        base.set(username=name, password=SECRET).render_as_string(hide_password=False)
    )
    try:
        found = await reader.get_session(**KEY)
        assert found is not None and texts(found) == ["hello"]
        with pytest.raises(StoreError, match="may not be changed by this user") as caught:
            await reader.append_event(found, said("x"))
        assert SECRET not in str(caught.value)
        assert texts(found) == ["hello"]
        with pytest.raises(StoreError, match="may not be changed by this user"):
            await reader.create_session(**OWNER)
    finally:
        await reader.close()
        execute(url, *revokes)


def kill_connections(url: str) -> None:
    """End every other connection to a database."""
    base = make_url(url)
    if base.drivername.startswith("postgresql"):
        execute(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        return
    listed = execute(
        url,
        "SELECT id FROM information_schema.processlist "
        "WHERE db = database() AND id <> connection_id()",
    )
    for (number,) in listed:
        with suppress(OperationalError):  # it has ended meanwhile
            execute(url, f"KILL {number}")


@pytest.mark.service
async def test_a_database_that_goes_and_comes_back(url: str) -> None:
    service = DatabaseSessionService(url, pool_size=2)
    session = await service.create_session(**KEY)
    fence = await service.append(session, [said("a")], claim=claim())
    for name in ("b", "c"):
        await asyncio.to_thread(kill_connections, url)
        await service.append(session, [said(name)], fence=fence)  # the pool notices by itself
    assert texts(session) == ["a", "b", "c"]
    await service.close()


@pytest.mark.service
async def test_a_database_that_goes_in_the_middle_of_appends(url: str) -> None:
    service = DatabaseSessionService(url, pool_size=3)
    session = await service.create_session(**KEY, state={"n": 0})
    stored = 0
    for number in range(1, 31):
        event = said(f"m{number}", {"n": number, "user:n": number})
        rows = [JournalRow("e-1", f"c{number}", "started", "pay")]
        append = asyncio.create_task(service.append(session, [event], rows))
        await asyncio.to_thread(kill_connections, url)
        try:
            await append
        except StoreError as error:
            assert "cannot be reached" in str(error) or "failed" in str(error)
            await service.append(session, [event], rows)  # the next one works, and stores it once
        stored += 1
    fresh = DatabaseSessionService(url)
    found = await fresh.get_session(**KEY)
    assert found is not None
    assert texts(found) == [f"m{n}" for n in range(1, stored + 1)]
    assert found.state == {"n": stored, "user:n": stored}
    assert execute(url, "SELECT count(*) FROM ostinato_journal") == [(stored,)]
    await fresh.close()
    await service.close()


@pytest.mark.service
async def test_texts_that_the_database_cannot_hold(url: str) -> None:
    service = DatabaseSessionService(url)
    session = await service.create_session(**KEY)
    with pytest.raises(InputValidationError, match="128 characters"):
        await service.create_session(**OWNER, session_id="x" * 129)
    with pytest.raises(InputValidationError):
        await service.append_event(session, said("x", id="x" * 200))
    with pytest.raises(InputValidationError):
        await service.append_event(session, said("x", invocation_id="x" * 300))
    if url.startswith("postgresql"):
        for event in (said("a\0b"), said("x", id="a\0b"), said("x", {"k\0": 1})):
            with pytest.raises(InputValidationError):
                await service.append_event(session, event)
    else:
        with pytest.raises((InputValidationError, StoreError), match="max_allowed_packet"):
            await service.append_event(session, said("x" * 17_000_000))
    assert session.events == []
    await service.append_event(session, said("fine"))
    found = await service.get_session(**KEY)
    assert found is not None and texts(found) == ["fine"]
    assert await service.get_session(**OWNER, session_id="a\0b") is None
    await service.close()


FORKED = """
import asyncio, os, sys
from ostinato.errors import StoreError
from ostinato.sessions.database_session_service import DatabaseSessionService

KEY = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
URL = f"sqlite+aiosqlite:///{sys.argv[1]}"
used, fresh = DatabaseSessionService(URL), DatabaseSessionService(URL)

async def parent():
    found = await used.get_session(**KEY) or await used.create_session(**KEY)
    return found

async def child():
    for call in (lambda: used.get_session(**KEY), lambda: used.create_session(**KEY)):
        try:
            await call()
        except StoreError as error:
            print(error)
    await used.close()
    print((await fresh.get_session(**KEY)).id)
    await fresh.close()

asyncio.run(parent())
number = os.fork()
if number == 0:
    asyncio.run(child())
    sys.exit(0)
_, status = os.waitpid(number, 0)
print(status, asyncio.run(parent()).id)
"""


@pytest.mark.long
def test_a_forked_child_is_told_to_make_its_own(tmp_path: Path) -> None:
    # From Python 3.12 on, os.fork() warns that a driver's thread runs.
    quiet = ("-W", "ignore:This process:DeprecationWarning")
    command = [sys.executable, *quiet, "-c", FORKED, str(tmp_path / "s.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = (
        "The session store 's.db' was opened before this process was forked; make a new "
        "DatabaseSessionService in each process."
    )
    assert done.stdout.splitlines() == [told, told, "s1", "0 s1"]


def test_a_connection_that_its_driver_has_closed_is_lost() -> None:
    reader: Any = None
    with pytest.raises(AttributeError) as caught:
        reader.readexactly(4)
    assert is_lost(caught.value)
    with pytest.raises(AttributeError) as other:
        reader.value()
    assert not is_lost(other.value)
