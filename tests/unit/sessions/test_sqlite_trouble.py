"""The SQLite store in trouble: files that go, are replaced, damaged, locked or full; many writers;
forked processes. Every error is a StoreError that names the file only, and nothing is half stored.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import OstinatoError, StoreError
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite import sqlite_file as _sqlite_file
from ostinato.sessions.sqlite.sqlite_file import SqliteFile
from ostinato.sessions.sqlite.sqlite_schema import FORMAT
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.durable_store import Claim, Place
from tests.unit.sessions.talk import OWNER, reloaded, said, texts

pytestmark = pytest.mark.long

KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.fixture
async def service(path: Path) -> AsyncIterator[SqliteSessionService]:
    made = SqliteSessionService(path, synchronous="NORMAL")
    yield made
    await made.close()


async def refused(service: SqliteSessionService, session: Session, match: str) -> None:
    """Check that nothing works any more, and that the messages tell no folder."""
    before = texts(session)
    claim = Claim("me", "p", 30.0, "e-1", "d")
    for call in (
        service.append_event(session, said("lost", {"lost": 1})),
        service.append(session, [said("lost")], claim=claim),
        service.get_session(**KEY),
        service.open_session(**KEY, complete=False),
        service.list_sessions(**OWNER),
        service.lease(Place("app", "ann", "s1")),
        service.create_session(**OWNER),
    ):
        with pytest.raises(StoreError, match=match) as caught:
            await call
        assert "'s.db'" in str(caught.value)
        assert os.sep not in str(caught.value)
    assert texts(session) == before


async def test_a_file_that_goes_and_returns(
    path: Path, service: SqliteSessionService, tmp_path: Path
) -> None:
    session = await service.create_session(**KEY)
    await service.append_event(session, said("before"))
    os.rename(path, tmp_path / "away.db")
    await refused(service, session, "is no longer there since it was opened; put the file back")
    assert "s.db" not in os.listdir(tmp_path)
    os.rename(tmp_path / "away.db", path)
    await service.append_event(session, said("after"))
    assert texts(await reloaded(service, session)) == ["before", "after"]


async def test_a_file_that_is_replaced_and_returns(
    path: Path, service: SqliteSessionService, tmp_path: Path
) -> None:
    session = await service.create_session(**KEY)
    await service.append_event(session, said("before"))
    other = SqliteSessionService(tmp_path / "other.db", synchronous="NORMAL")
    await other.create_session(**KEY, state={"other": 1})
    await other.close()
    os.rename(path, tmp_path / "away.db")
    shutil.copy(tmp_path / "other.db", path)
    await refused(service, session, "was replaced by another file")
    os.rename(tmp_path / "away.db", path)
    await service.append_event(session, said("after"))
    assert texts(await reloaded(service, session)) == ["before", "after"]


async def test_a_folder_that_goes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    service = SqliteSessionService(folder / "s.db", synchronous="NORMAL")
    session = await service.create_session(**KEY)
    shutil.rmtree(folder)
    await refused(service, session, "is no longer there")
    await service.close()


async def look(path: Path) -> None:
    """Read and write whatever there is, as a program would."""
    service = SqliteSessionService(path, synchronous="NORMAL")
    try:
        found = (await service.list_sessions(**OWNER)).sessions
        await service.open_leases()
        session = await service.open_session(**KEY, complete=False)
        if session is not None:
            _ = session.events  # builds them all
            await service.append_event(session, said("more", {"n": len(found)}))
        await service.fork_session(**KEY)
    finally:
        await service.close()


def spoil(path: Path, damaged: Path, chance: random.Random) -> None:
    """Write a copy of a file with some bits the other way round."""
    spoiled = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 4, 40))):
        spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
    for beside in ("-wal", "-shm"):
        Path(f"{damaged}{beside}").unlink(missing_ok=True)
    damaged.write_bytes(spoiled)


async def test_flipped_bytes(path: Path, service: SqliteSessionService, tmp_path: Path) -> None:
    session = await service.create_session(**KEY, state={"deep": {"list": [1, 2, 3]}})
    for n in range(40):
        await service.append_event(session, said(f"m{n}" * 30, {"n": n, "user:u": "ö" * n}))
    await service.close()
    damaged = tmp_path / "damaged.db"
    chance, errors = random.Random(7), 0
    for _ in range(120):
        spoil(path, damaged, chance)
        try:
            await look(damaged)
        except OstinatoError as error:
            assert str(tmp_path) not in str(error)
            errors += 1
    assert errors > 10


def run(script: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
    )


LIMITED = """
import asyncio, resource, sys
from ostinato.errors import StoreError
from ostinato.events.event import Event
from ostinato.sessions.sqlite_session_service import SqliteSessionService

async def main(path):
    service = SqliteSessionService(path, synchronous="NORMAL")
    session = await service.create_session(app_name="app", user_id="ann", session_id="s1")
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    stored = 0
    try:
        while True:
            event = Event(author="user", custom_metadata={"text": "x" * 20_000})
            event.actions.state_delta = {"n": stored + 1}
            await service.append_event(session, event)
            stored += 1
    except StoreError as error:
        print(stored, len(session.events), session.state["n"], error, sep="|")
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await service.append_event(session, Event(author="user"))
    again = await service.get_session(app_name="app", user_id="ann", session_id="s1")
    print(len(again.events), again.state["n"])
    await service.close()

asyncio.run(main(sys.argv[1]))
"""


def test_a_file_that_may_not_grow(path: Path) -> None:
    done = run(LIMITED, path)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    stored, shown, state, message = first.split("|")
    assert int(stored) > 3
    assert shown == state == stored
    assert "'s.db'" in message and str(path.parent) not in message
    assert second == f"{int(stored) + 1} {stored}"


READ_ONLY = """
import asyncio, os, sys, tempfile
from ostinato.errors import StoreError
from ostinato.events.event import Event
from ostinato.sessions.database_session_service import DatabaseSessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService

KEY = {"app_name": "app", "user_id": "ann", "session_id": "s1"}

def sqlite(path):
    return SqliteSessionService(path, synchronous="NORMAL")

def database(path):
    return DatabaseSessionService(f"sqlite+aiosqlite:///{path}")

async def use(service):
    try:
        session = await service.get_session(**KEY) or await service.create_session(**KEY)
        await service.append_event(session, Event(author="user"))
        return "stored"
    except StoreError as error:
        return str(error)
    finally:
        await service.close()

async def main(make, what):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.db")
        await use(make(path))
        if what == "file":
            os.chmod(path, 0o444)
            os.chmod(folder, 0o777)
        else:
            os.unlink(path)
            os.chmod(folder, 0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # root may write anything
        print(await use(make(path)))
        if root:
            os.seteuid(0)
        os.chmod(folder, 0o700)

asyncio.run(main(globals()[sys.argv[1]], sys.argv[2]))
"""


@pytest.mark.parametrize("service", ["sqlite", "database"])
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("file", "The session store 's.db' cannot be written; "),
        ("folder", "The session store 's.db' cannot be opened; "),
    ],
)
def test_what_may_not_be_written(service: str, what: str, message: str) -> None:
    done = run(READ_ONLY, service, what)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(message)
    assert os.sep not in done.stdout


WRITER = """
import asyncio, sys
from ostinato.events.event import Event
from ostinato.sessions.sqlite_session_service import SqliteSessionService

async def main(path, name, several):
    service = SqliteSessionService(path, synchronous="NORMAL")
    for n in range(50):
        session_id = f"s{n % int(several)}"
        session = await service.open_session(app_name="app", user_id="ann", session_id=session_id)
        event = Event(author=name, id=f"{name}-{n}", invocation_id="e-1")
        event.actions.state_delta = {f"{name}-{n}": n, f"user:{name}": n}
        await service.append_event(session, event)
    await service.close()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("several", [pytest.param(1, marks=pytest.mark.service), 5])
async def test_four_processes_write_together(
    path: Path, service: SqliteSessionService, several: int
) -> None:
    for n in range(several):
        await service.create_session(**OWNER, session_id=f"s{n}")
    names = ("a", "b", "c", "d")
    done = await asyncio.gather(
        *(asyncio.to_thread(run, WRITER, path, name, several) for name in names)
    )
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 4
    for index in range(several):
        found = await service.get_session(**OWNER, session_id=f"s{index}")
        assert found is not None
        for name in names:
            mine = [e.id for e in found.events if e.author == name]
            assert mine == [f"{name}-{n}" for n in range(index, 50, several)]
            assert all(found.state[each] == int(each[2:]) for each in mine)
        assert len(found.events) == 200 // several
    assert await service.get_user_state(**OWNER) == dict.fromkeys(names, 49)


async def test_a_thousand_sessions_at_once(service: SqliteSessionService) -> None:
    async def turn(n: int) -> list[str | None]:
        session = await service.create_session(**OWNER, session_id=f"s{n}")
        claim = Claim(f"owner{n % 7}", "p", 30.0, f"e-{n}", "d", revision=0)
        fence = await service.append(session, [said(f"hello {n}")], claim=claim)
        assert fence is not None
        await service.append(session, [said("done", {"n": n})], fence=fence)
        await service.release(Place("app", "ann", f"s{n}"), fence)
        found = await service.open_session(**OWNER, session_id=f"s{n}", complete=False)
        assert found is not None and found.state == {"n": n}
        return texts(found)

    told = await asyncio.gather(*map(turn, range(1000)))
    assert told == [[f"hello {n}", "done"] for n in range(1000)]
    assert await service.open_leases() == []


FORKED = """
import asyncio, os, sys
from ostinato.errors import StoreError
from ostinato.sessions.sqlite_session_service import SqliteSessionService

KEY = {"app_name": "app", "user_id": "ann", "session_id": "s1"}
used = SqliteSessionService(sys.argv[1], synchronous="NORMAL")
fresh = SqliteSessionService(sys.argv[1], synchronous="NORMAL")

async def parent():
    return await used.get_session(**KEY) or await used.create_session(**KEY)

async def child():
    for call in (lambda: used.get_session(**KEY), lambda: used.flush()):
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


def test_a_forked_child_is_told_to_make_its_own(path: Path) -> None:
    done = run(FORKED, path)
    assert (done.returncode, done.stderr) == (0, "")
    told = (
        "The session store 's.db' was opened before this process was forked; make a new "
        "SqliteSessionService in each process."
    )
    assert done.stdout.splitlines() == [told, told, "s1", "0 s1"]


def test_two_who_open_a_new_file_at_once_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait where both want to switch the file to a write-ahead log."""
    path, connect = tmp_path / "new.db", sqlite3.connect
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            other.execute("ROLLBACK")

        def impatient(*where: Any, **options: Any) -> sqlite3.Connection:
            return connect(*where, **{**options, "timeout": 0})

        monkeypatch.setattr(_sqlite_file.time, "sleep", sleep)
        monkeypatch.setattr(_sqlite_file.sqlite3, "connect", impatient)
        with closing(_sqlite_file.connect(SqliteFile(str(path), FORMAT))) as mine:
            assert mine.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert len(waited) == 1
