"""What only the SQLite store has to show: files, processes, threads, groups and broken disks."""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.errors import (
    InputValidationError,
    SessionNotFoundError,
    StoreError,
)
from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.sessions.session import Session, log_of
from ostinato.sessions.sqlite import sqlite_connection as _sqlite_connection
from ostinato.sessions.sqlite import sqlite_file as _sqlite_file
from ostinato.sessions.sqlite import sqlite_schema as _sqlite_schema
from ostinato.sessions.sqlite import sqlite_threads as _sqlite_worker
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Claim, Fence, InboxMessage, JournalRow, Place
from ostinato.types import Content, Part
from tests.unit.sessions.talk import trace_statements

OWNER: dict[str, Any] = {"app_name": "app", "user_id": "ann"}
KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
async def make(path: Path) -> AsyncIterator[Callable[..., SqliteSessionService]]:
    made: list[SqliteSessionService] = []

    def new(at: Any = path, **options: Any) -> SqliteSessionService:
        made.append(SqliteSessionService(at, **{"synchronous": "NORMAL", **options}))
        return made[-1]

    yield new
    for service in made:
        await service.close()


Make = Callable[..., SqliteSessionService]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that connections made from now on execute."""
    seen: list[str] = []
    trace_statements(monkeypatch, seen.append)
    return seen


def said(text: str, delta: dict[str, Any] | None = None) -> Event:
    return Event(
        author="user",
        invocation_id="e-1",
        content=Content(role="user", parts=[Part(text=text)]),
        actions=EventActions(state_delta=delta or {}),
    )


def texts(session: Session | None) -> list[str | None]:
    assert session is not None
    return [(e.content.parts or [])[0].text for e in session.events if e.content]


def run(script: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


WRITER = """
import asyncio, os, sys
from ostinato.events.event import Event
from ostinato.sessions.sqlite_session_service import SqliteSessionService

async def main(path, name, count, end):
    service = SqliteSessionService(path, synchronous="NORMAL")
    key = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
    session = await service.open_session(**key) or await service.create_session(**key)
    for n in range(int(count)):
        event = Event(author=name, id=f"{name}-{n}", invocation_id="e-1")
        event.actions.state_delta = {f"{name}-{n}": n, f"user:{name}": n}
        await service.append_event(session, event)
    print("stored", flush=True)
    if end == "die":
        os._exit(9)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_what_was_acknowledged_outlives_the_process(path: Path, make: Make) -> None:
    process = run(WRITER, path, "w", 5, "die")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (9, "stored\n", "")
    session = await make().get_session(**KEY)
    assert session is not None
    assert [e.id for e in session.events] == [f"w-{n}" for n in range(5)]
    assert session.state["w-4"] == session.state["user:w"] == 4


@pytest.mark.long
async def test_an_exit_without_close_is_clean(path: Path) -> None:
    process = run(WRITER, path, "w", 5, "end")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "stored\n", "")


@pytest.mark.long
async def test_processes_write_one_session_together(path: Path, make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    processes = [run(WRITER, path, name, 20, "end") for name in ("a", "b")]
    for n in range(20):
        await service.append_event(session, said(f"own-{n}", {f"own-{n}": n}))
    for process in processes:
        out, err = await asyncio.to_thread(process.communicate, timeout=60)
        assert (process.returncode, out, err) == (0, "stored\n", "")
    seen = await service.get_session(**KEY)
    fresh = await make().get_session(**KEY)
    assert seen is not None and seen == fresh
    assert len({e.id for e in seen.events}) == len(seen.events) == 60
    for name in ("a", "b"):
        assert [e.id for e in seen.events if e.author == name] == [f"{name}-{n}" for n in range(20)]
    assert len(seen.state) == 62


async def test_a_cached_session_is_checked_by_one_statement(
    make: Make, statements: list[str]
) -> None:
    service = make()
    session = await service.create_session(**KEY, state={"a": 1})
    await service.append_event(session, said("hello", {"user:u": 1, "n": 2}))
    await service.get_session(**KEY)
    statements.clear()
    again = await service.open_session(**KEY)
    assert texts(again) == ["hello"]
    assert [s.split()[0] for s in statements] == ["BEGIN", "SELECT", "COMMIT"]


async def test_another_writers_events_and_state_are_caught_up(make: Make) -> None:
    ours, theirs = make(), make()
    mine = await ours.create_session(**KEY)
    await ours.append_event(mine, said("one", {"n": 1}))
    other = await theirs.open_session(**KEY)
    assert other is not None and texts(other) == ["one"]
    await theirs.append_event(other, said("two", {"n": 2, "gone": 1, "user:u": 1, "app:a": 1}))
    await theirs.append_event(other, said("three", {"gone": None}))
    log = log_of(mine)
    seen = await ours.open_session(**KEY)
    assert seen is not None and texts(seen) == ["one", "two", "three"]
    assert seen.state == {"n": 2, "user:u": 1, "app:a": 1}
    assert log_of(seen) is log


async def test_an_append_catches_up_with_another_writer(make: Make) -> None:
    ours, theirs = make(), make()
    mine = await ours.create_session(**KEY)
    other = await theirs.open_session(**KEY)
    assert other is not None
    await theirs.append_event(other, said("theirs", {"n": 1, "user:u": 1}))
    await ours.append_event(mine, said("ours", {"m": 1, "user:v": 1}))
    assert [r.author for r in log_of(mine).records] == ["user", "user"]
    seen = await ours.get_session(**KEY)
    assert seen is not None and texts(seen) == ["theirs", "ours"]
    assert seen.state == {"n": 1, "user:u": 1, "m": 1, "user:v": 1}
    assert seen == await theirs.get_session(**KEY)


async def test_another_writers_shared_state_is_seen(make: Make) -> None:
    ours, theirs = make(), make()
    await ours.create_session(**KEY)
    await theirs.create_session(**OWNER, state={"user:u": 1, "app:a": [1]})
    seen = await ours.get_session(**KEY)
    assert seen is not None and seen.state == {"user:u": 1, "app:a": [1]}


async def test_a_session_made_again_elsewhere_is_another_one(make: Make) -> None:
    ours, theirs = make(), make()
    mine = await ours.create_session(**KEY, state={"old": 1})
    await ours.append_event(mine, said("old"))
    await theirs.delete_session(**KEY)
    assert await ours.get_session(**KEY) is None
    made = await theirs.create_session(**KEY, state={"new": 1})
    await theirs.append_event(made, said("new"))
    seen = await ours.get_session(**KEY)
    assert texts(seen) == ["new"]
    assert seen is not None and seen.state == {"new": 1}


@pytest.mark.parametrize("cache_bytes", [0, 4000])
async def test_sessions_that_left_the_cache_come_back(make: Make, cache_bytes: int) -> None:
    service = make(cache_bytes=cache_bytes)
    sessions = [
        await service.create_session(**OWNER, session_id=f"s{n}", state={"n": n}) for n in range(8)
    ]
    for turn in range(3):
        for session in sessions:
            await service.append_event(session, said(f"{session.id} {turn}", {"t": turn}))
    for session in sessions:
        found = await service.get_session(**OWNER, session_id=session.id)
        assert texts(found) == texts(session) == [f"{session.id} {turn}" for turn in range(3)]
        assert found is not None and found.state == session.state


async def test_only_the_rows_asked_for_are_read(make: Make, statements: list[str]) -> None:
    session = await make().create_session(**KEY)
    for n in range(5):
        await make().append_event(session, said(f"m{n}"))
    service = make()
    for _ in range(2):
        statements.clear()
        part = await service.get_session(**KEY, config=GetSessionConfig(num_recent_events=2))
        assert texts(part) == ["m3", "m4"]
        (read,) = [s for s in statements if "FROM events" in s]
        assert f"BETWEEN {(1 << 32) + 4} AND {(1 << 32) + 5}" in read


async def test_appends_that_were_begun_together_never_clash_in_separate_commits(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sqlite_worker, "_GROUP", 1)
    service = make()
    session = await service.create_session(**OWNER, session_id="s")
    gates = [threading.Event() for _ in range(2)]
    tasks: list[asyncio.Task[Event]] = []
    for gate in gates:
        service._writer.post(lambda db, gate=gate: gate.wait())
        event = said("hi", {"k": len(tasks)})
        tasks.append(asyncio.create_task(service.append_event(session, event)))
        await asyncio.sleep(0)
    for gate, task in zip(gates, tasks, strict=True):
        gate.set()
        await task
    assert session.state == {"k": 1}


async def test_waiting_appends_share_a_commit_and_losers_stand_alone(
    path: Path, make: Make, statements: list[str]
) -> None:
    service = make()
    sessions = [await service.create_session(**OWNER, session_id=f"s{n}") for n in range(10)]
    sessions[4] = Session(id="ghost", **OWNER)
    statements.clear()
    with Locked(path):
        tasks = [
            asyncio.create_task(service.append_event(s, said("hi", {"user:n": s.id})))
            for s in sessions
        ]
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[4], SessionNotFoundError)
    assert [r for r in results if isinstance(r, BaseException)] == [results[4]]
    assert statements.count("COMMIT") <= 2
    for session in sessions[:4] + sessions[5:]:
        assert texts(await service.get_session(**OWNER, session_id=session.id)) == ["hi"]


class Locked:
    """Holds the file's write lock for the length of a `with` block."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._db.execute("ROLLBACK")
        self._db.close()


async def test_a_cancelled_append_shows_what_it_stored(path: Path, make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    with Locked(path):
        task = asyncio.create_task(service.append_event(session, said("hello", {"n": 1})))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await service.flush()
    assert texts(session) == texts(await service.get_session(**KEY)) == ["hello"]
    assert session.state == {"n": 1}


def test_loops_of_several_threads_use_one_service(path: Path) -> None:
    service = SqliteSessionService(path, synchronous="NORMAL")
    failures: list[BaseException] = []

    async def talk(name: str) -> None:
        mine = await service.create_session(**OWNER, session_id=name)
        shared = await service.open_session(**KEY)
        assert shared is not None
        for n in range(20):
            await service.append_event(mine, said(f"{name}{n}"))
            await service.append_event(shared, said(f"{name}{n}", {f"{name}{n}": n}))
        assert len(mine.events) == 20

    def thread(name: str) -> None:
        try:
            asyncio.run(talk(name))
        except BaseException as error:
            failures.append(error)

    async def make_shared() -> None:
        await service.create_session(**KEY)

    async def check() -> None:
        seen = await service.get_session(**KEY)
        other = SqliteSessionService(path)
        assert seen is not None and seen == await other.get_session(**KEY)
        for name in ("a", "b", "c"):
            own = [t for t in texts(seen) if t and t.startswith(name)]
            assert own == [f"{name}{n}" for n in range(20)]
        assert len(seen.state) == 60
        await other.close()
        await service.close()

    asyncio.run(make_shared())
    threads = [threading.Thread(target=thread, args=(name,)) for name in ("a", "b", "c")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []
    asyncio.run(check())


def test_a_loop_that_ended_early_does_not_hold_others(path: Path) -> None:
    service = SqliteSessionService(path, synchronous="NORMAL")

    async def start() -> Session:
        return await service.create_session(**KEY)

    async def leave() -> None:
        tasks = [
            asyncio.create_task(service.append_event(session, said(f"m{n}"))) for n in range(3)
        ]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)

    async def stay() -> None:
        await service.flush()
        again = await service.open_session(**KEY)
        assert again is not None
        await service.append_event(again, said("after"))
        assert texts(again) == ["m0", "m1", "m2", "after"]
        await service.close()

    session = asyncio.run(start())
    with Locked(path):
        asyncio.run(leave())  # cancels the tasks and closes the loop while the writer waits
    asyncio.run(stay())


async def test_after_close(make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    pending = asyncio.create_task(service.append_event(session, said("last")))
    await asyncio.sleep(0)
    await service.close()
    await pending
    await service.close()
    for call in (
        service.get_session(**KEY),
        service.create_session(**OWNER),
        service.append_event(session, said("late")),
        service.flush(),
    ):
        with pytest.raises(StoreError, match=r"'s\.db' has been closed; make a new"):
            await call
    assert texts(await make().get_session(**KEY)) == ["last"]


async def test_close_ends_the_threads(make: Make) -> None:
    before = set(threading.enumerate())
    service = make()
    await service.create_session(**KEY)
    await service.get_session(**KEY)
    mine = [t for t in threading.enumerate() if t not in before and "sqlite" in t.name]
    assert len(mine) == 3 and all(t.daemon for t in mine)
    await service.close()
    assert not any(t.is_alive() for t in mine)


async def test_a_forgotten_service_ends_its_threads(path: Path) -> None:
    before = set(threading.enumerate())
    service = SqliteSessionService(path)
    await service.create_session(**KEY)
    mine = [t for t in threading.enumerate() if t not in before and "sqlite" in t.name]
    assert mine
    del service
    for thread in mine:
        await asyncio.to_thread(thread.join, 60)
        assert not thread.is_alive()


async def test_memory_is_each_services_own(make: Make) -> None:
    one, two = make(":memory:"), make(":memory:")
    session = await one.create_session(**KEY)
    with pytest.raises(SessionNotFoundError):
        await two.append_event(session, said("hi"))
    await one.append_event(session, said("hi"))
    assert texts(await one.get_session(**KEY)) == ["hi"]


async def test_a_path_may_be_given_as_a_url(path: Path, make: Make) -> None:
    await make(f"sqlite:///{path}").create_session(**KEY)
    assert await make(f"sqlite+aiosqlite:///{path}").get_session(**KEY) is not None
    assert await make(path).get_session(**KEY) is not None


@pytest.mark.parametrize("prefix", ["sqlite:///", "sqlite+aiosqlite:///", "file:"])
async def test_the_parameters_of_a_url_reach_sqlite(
    prefix: str, tmp_path: Path, make: Make
) -> None:
    path = tmp_path / "a #1 50%.db"  # what a URI would read otherwise
    written = make(path)
    session = await written.create_session(**KEY)
    await written.append_event(session, said("hi"))

    copy = make(f"{prefix}{path}?mode=ro")
    found = await copy.get_session(**KEY)
    assert found is not None and texts(found) == ["hi"]
    with pytest.raises(StoreError, match=r"'a #1 50%\.db' cannot be written"):
        await copy.append_event(found, said("more"))
    assert texts(await written.get_session(**KEY)) == ["hi"]

    absent = make(f"{prefix}{tmp_path / 'absent.db'}?mode=rw")
    with pytest.raises(StoreError, match="cannot be opened"):
        await absent.create_session(**KEY)


@pytest.mark.parametrize("query", ["mode=ro", "immutable=1", "mode=ro&immutable=1"])
async def test_a_copy_without_a_write_ahead_log_is_read(
    query: str, tmp_path: Path, make: Make
) -> None:
    source = make(tmp_path / "s.db")
    await source.create_session(**KEY)
    await source.close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        db.execute("VACUUM INTO ?", [str(tmp_path / "copy.db")])
    copy = make(f"sqlite:///{tmp_path / 'copy.db'}?{query}")
    assert await copy.get_session(**KEY) is not None
    with pytest.raises(StoreError, match="cannot be written"):
        await copy.create_session(**{**KEY, "session_id": "other"})


async def test_a_question_mark_in_a_plain_path_is_part_of_the_name(
    tmp_path: Path, make: Make
) -> None:
    await make(tmp_path / "s.db?mode=ro").create_session(**KEY)
    assert (tmp_path / "s.db?mode=ro").exists()


@pytest.mark.parametrize("bad", ["sqlite:///s.db?mode=memory", "file:s.db?vfs=memdb&mode=memory"])
def test_a_url_of_memory_is_refused(bad: str) -> None:
    with pytest.raises(InputValidationError, match="':memory:'"):
        SqliteSessionService(bad)


@pytest.mark.parametrize("bad", ["", "  ", "a\0b", None, 5])
def test_paths_that_are_refused(bad: Any) -> None:
    with pytest.raises(InputValidationError, match="db_path"):
        SqliteSessionService(bad)


def test_other_levels_of_synchronous_are_refused(path: Path) -> None:
    with pytest.raises(InputValidationError, match="'OFF'"):
        SqliteSessionService(path, synchronous="OFF")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("level", ["FULL", "NORMAL"])
async def test_the_file_is_in_wal_mode_with_the_level_asked_for(
    path: Path, make: Make, level: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    inner = _sqlite_connection.connect

    def spy(*args: Any) -> sqlite3.Connection:
        connection = inner(*args)
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "user_version", "busy_timeout")
        found.append([connection.execute(f"PRAGMA {p}").fetchone()[0] for p in pragmas])
        return connection

    monkeypatch.setattr(_sqlite_connection, "connect", spy)
    await make(synchronous=level).create_session(**KEY)
    assert found == [["wal", {"FULL": 2, "NORMAL": 1}[level], 1, _sqlite_schema.VERSION, 10_000]]


def test_a_file_that_another_thread_makes_meanwhile_is_not_missed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _sqlite_connection.FileIdentity(
        _sqlite_file.SqliteFile(str(path), _sqlite_schema.FORMAT)
    )
    real = os.stat

    def stat(name: str) -> os.stat_result:
        """Look before the file is there, and come back after it was made and found."""
        monkeypatch.setattr(os, "stat", real)
        path.touch()
        found.check()
        raise FileNotFoundError(name)

    monkeypatch.setattr(os, "stat", stat)
    found.check()
    path.unlink()
    with pytest.raises(StoreError, match="is no longer there"):
        found.check()


class Recovering:
    """A connection to a file whose log another one is recovering."""

    def __init__(self) -> None:
        self.asked = 0

    def execute(self, statement: str) -> Any:
        if statement.endswith("=WAL"):
            self.asked += 1
            if self.asked < 3:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
                raise error
        return SimpleNamespace(fetchone=lambda: ("wal" if self.asked > 2 else "",))


def test_a_file_whose_log_is_being_recovered_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_sqlite_file, "_PAUSE_SECONDS", 0)
    connection: Any = Recovering()
    _sqlite_file._use_wal(connection)
    assert connection.asked == 3


def text_file(path: Path) -> None:
    path.write_text("this is not a database, though it is long enough to look at\n" * 100)


def newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version=99")
    db.close()


def foreign(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE events(id)")
    db.close()


def directory(path: Path) -> None:
    path.mkdir()


def nothing(path: Path) -> None:
    path.parent.rmdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (text_file, "is not an SQLite database"),
        (newer, f"has version 99, this program knows versions up to {_sqlite_schema.VERSION}"),
        (foreign, "holds the tables of another program"),
        (directory, "cannot be opened"),
        (nothing, "cannot be opened; it has to be a file in an existing folder"),
    ],
)
async def test_files_that_cannot_be_used(
    tmp_path: Path, make: Make, spoil: Callable[[Path], None], message: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "s.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    service = make(path)
    for call in (service.create_session(**KEY), service.get_session(**KEY), service.flush()):
        with pytest.raises(StoreError, match=message) as caught:
            await call
        assert "s.db" in str(caught.value)
        assert str(tmp_path) not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


async def test_a_file_that_can_be_opened_at_last(tmp_path: Path, make: Make) -> None:
    service = make(tmp_path / "later" / "s.db")
    with pytest.raises(StoreError):
        await service.create_session(**KEY)
    (tmp_path / "later").mkdir()
    session = await service.create_session(**KEY)
    await service.append_event(session, said("hello"))
    assert texts(await service.get_session(**KEY)) == ["hello"]


def overwrite(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


async def test_a_damaged_file(path: Path, make: Make) -> None:
    first = make()
    session = await first.create_session(**KEY)
    for n in range(200):
        await first.append_event(session, said(f"m{n}" * 20))
    await first.close()
    overwrite(path)
    with pytest.raises(StoreError, match=r"'s\.db' is damaged"):
        await make().get_session(**KEY)


async def test_a_file_that_is_read_only(
    path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await make().create_session(**KEY)

    def read_only(file: _sqlite_file.SqliteFile) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{file.path}?mode=ro", uri=True, isolation_level=None)

    monkeypatch.setattr(_sqlite_connection, "connect", read_only)
    service = make()
    with pytest.raises(StoreError, match=r"'s\.db' cannot be written"):
        await service.append_event(session, said("hello"))
    assert session.events == []
    assert texts(await service.get_session(**KEY)) == []


async def test_a_full_disk_takes_nothing_by_halves(
    path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = _sqlite_connection.connect
    pages = [0]

    def small(*args: Any) -> sqlite3.Connection:
        connection = inner(*args)
        if pages[0]:
            connection.execute(f"PRAGMA max_page_count={pages[0]}")
        return connection

    session = await make().create_session(**KEY, state={"n": 0})
    monkeypatch.setattr(_sqlite_connection, "connect", small)
    pages[0] = 30
    service = make()
    await service.append_event(session, said("fits", {"n": 1}))
    with pytest.raises(StoreError, match="the disk or the quota is full"):
        await service.append(session, [said("small", {"n": 2}), said("x" * 500_000, {"n": 3})])
    assert texts(session) == texts(await make().get_session(**KEY)) == ["fits"]
    assert session.state == {"n": 1}
    pages[0] = 0
    await service.append_event(session, said("x" * 500_000, {"n": 3}))
    found = await make().get_session(**KEY)
    assert found is not None and found == await service.get_session(**KEY)
    assert found.state == {"n": 3}


async def test_a_file_that_stays_locked(
    path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sqlite_file, "_BUSY_SECONDS", 0.0)
    service = make()
    session = await service.create_session(**KEY)
    with Locked(path), pytest.raises(StoreError, match="stayed locked by another program"):
        await service.append_event(session, said("hello"))
    await service.append_event(session, said("then"))
    assert texts(session) == texts(await service.get_session(**KEY)) == ["then"]


def ring() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "bad", [object(), math.nan, [math.inf], {"deep": {1, 2}}, ring(), "\ud800", b"bytes"]
)
@pytest.mark.parametrize("prefix", ["", "app:", "user:"])
async def test_state_that_is_not_json(make: Make, bad: Any, prefix: str) -> None:
    service = make()
    session = await service.create_session(**KEY)
    key = f"{prefix}bad"
    with pytest.raises(InputValidationError, match=f"State key '{key}'"):
        await service.append(session, [said("one", {"n": 1}), said("two", {"ok": 1, key: bad})])
    with pytest.raises(InputValidationError, match=f"State key '{key}'"):
        await service.create_session(**OWNER, state={"app:ok": 1, key: bad})
    found = await service.get_session(**KEY)
    assert found is not None and found == session
    assert (found.state, found.events) == ({}, [])
    assert len((await service.list_sessions(**OWNER)).sessions) == 1


async def test_an_event_that_is_not_json(make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    event = said("hello")
    event.custom_metadata = {"bad": object()}
    with pytest.raises(InputValidationError, match="The event by 'user'"):
        await service.append_event(session, event)
    assert session.events == []


@pytest.mark.parametrize("field", ["id", "author", "branch", "invocation_id", "row"])
async def test_text_that_is_not_unicode(path: Path, make: Make, field: str) -> None:
    service = make()
    session = await service.create_session(**KEY)
    bad = said("bad", {"n": 1})
    row = JournalRow("e-1", "c1", "finished", "pay", "\ud800" if field == "row" else None)
    if field != "row":
        setattr(bad, field, "\ud800")
    with Locked(path):  # so that they share a commit
        first = asyncio.create_task(service.append(session, [said("good")]))
        second = asyncio.create_task(service.append(session, [said("half", {"n": 2}), bad], [row]))
        third = asyncio.create_task(service.append(session, [said("fine")]))
        await asyncio.sleep(0)
    await first
    with pytest.raises(InputValidationError, match="not valid Unicode"):
        await second
    await third
    assert texts(session) == texts(await make().get_session(**KEY)) == ["good", "fine"]
    assert session.state == {}


async def test_json_comes_back_as_it_was_stored(make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    await service.append_event(session, said("x", {"t": (1, 2), "e": "ö\u2028😀", "i": 2**70}))
    cached = await service.get_session(**KEY)
    read = await make().get_session(**KEY)
    assert cached is not None and read is not None
    assert cached.state == read.state == {"t": [1, 2], "e": "ö\u2028😀", "i": 2**70}


def rows(path: Path, query: str) -> list[Any]:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


async def test_a_deleted_session_leaves_no_rows(path: Path, make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    place = Place("app", "ann", "s1")
    await service.append(
        session,
        [said("call")],
        [JournalRow("e-1", "c1", "started", "pay")],
        claim=Claim("me", "p", 30.0, "e-1", "d"),
    )
    await service.put_message(place, InboxMessage("e-2", "me", "p", "{}"), 30.0)
    tables = ("events", "ostinato_journal", "ostinato_lease", "ostinato_inbox")
    assert [len(rows(path, f"SELECT * FROM {table}")) for table in tables] == [1, 1, 1, 1]
    await service.delete_session(**KEY)
    assert [len(rows(path, f"SELECT * FROM {table}")) for table in tables] == [0, 0, 0, 0]


async def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path, make: Make) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in _sqlite_schema._MIGRATIONS[0].split(";"):
        db.execute(statement)
    db.execute("INSERT INTO sessions VALUES(1, 'app', 'ann', 's1', 1.0, 1.0, 0, NULL)")
    db.execute("INSERT INTO ostinato_lease VALUES(1, 'other', 7, 0.0, NULL)")
    db.execute("PRAGMA user_version=1")
    db.close()
    service = make()
    session = await service.get_session(**KEY)
    assert session is not None
    claim = Claim("me", "p", 30.0, "e-1", "d")
    assert await service.append(session, [said("new")], claim=claim) == Fence("me", 8)
    assert rows(path, "PRAGMA user_version") == [(_sqlite_schema.VERSION,)]


async def test_a_release_need_not_be_waited_for(make: Make) -> None:
    service = make()
    session = await service.create_session(**KEY)
    fence = await service.append(session, [], claim=Claim("me", "p", 30.0, "e-1", "d"))
    assert fence is not None
    place = Place("app", "ann", "s1")
    task = asyncio.create_task(service.release(place, fence))
    await asyncio.sleep(0)
    task.cancel()
    await service.flush()
    lease = await service.lease(place)
    assert lease is not None and lease.owner == ""


@pytest.mark.parametrize("count", [0, 1])
async def test_a_part_that_is_loaded_again_knows_what_others_wrote_meanwhile(
    tmp_path: Path, count: int
) -> None:
    one, other = (SqliteSessionService(tmp_path / "s.db") for _ in range(2))
    place: dict[str, Any] = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    made = await one.create_session(**place)
    await one.append_event(made, note("first"))
    for text in ("second", "third"):
        theirs = await other.get_session(**place)
        assert theirs is not None
        await other.append_event(theirs, note(text))
    config = GetSessionConfig(num_recent_events=count)
    mine = await one.get_session(**place, config=config)
    assert mine is not None and mine.state == {"note": "third"} and len(mine.events) == count
    await one.append_event(mine, note("fourth"))
    whole = await one.get_session(**place)
    assert whole is not None and len(whole.events) == 4
    await one.close()
    await other.close()


def note(text: str) -> Event:
    return Event(author="ann", actions=EventActions(state_delta={"note": text}))
