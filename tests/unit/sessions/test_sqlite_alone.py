"""With synchronous=NORMAL a commit waits for no disk, so a loop that is alone makes it itself."""

from __future__ import annotations

import asyncio
import math
import signal
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.errors import StoreError
from ostinato.events.event import Event
from ostinato.sessions import SqliteSessionService
from ostinato.sessions.session import Session
from ostinato.sessions.sqlite import sqlite_connection as _sqlite_connection
from ostinato.types import Content, Part
from tests.unit.sessions.talk import trace_statements

KEY: dict[str, Any] = {"app_name": "app", "user_id": "user", "session_id": "s"}


def said(text: str) -> Event:
    content = Content(role="user", parts=[Part(text=text)])
    return Event(author="user", invocation_id="e-1", content=content)


def texts(session: Session | None) -> list[str | None]:
    assert session is not None
    return [event.content.parts[0].text for event in session.events if event.content]  # type: ignore[index]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[[Any], SqliteSessionService]]:
    made: list[SqliteSessionService] = []

    def one(level: Any) -> SqliteSessionService:
        made.append(SqliteSessionService(tmp_path / "s.db", synchronous=level))
        return made[-1]

    yield one
    for service in made:
        await service.close()


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that began transactions which write, by their id."""
    threads: list[int] = []

    def note(statement: str) -> None:
        if statement == "BEGIN IMMEDIATE":
            threads.append(threading.get_ident())

    trace_statements(monkeypatch, note)
    # Who makes a commit must not hang on how long the last one took.
    monkeypatch.setattr(_sqlite_connection, "_LONG_SECONDS", math.inf)
    return threads


Make = Callable[[Any], SqliteSessionService]


@pytest.mark.parametrize(("level", "here"), [("NORMAL", True), ("FULL", False)])
async def test_who_commits(make: Make, begun: list[int], level: str, here: bool) -> None:
    service = make(level)
    session = await service.create_session(**KEY)  # which opens the file, in the thread
    del begun[:]
    for n in range(3):
        await service.append_event(session, said(str(n)))
    assert [thread == threading.get_ident() for thread in begun] == [here] * 3
    assert texts(session) == texts(await make(level).get_session(**KEY)) == ["0", "1", "2"]


async def test_what_takes_long_is_the_threads(make: Make, begun: list[int]) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)
    del begun[:]
    await service.append(session, [said(str(n)) for n in range(17)])
    await service.fork_session(**KEY, new_session_id="t")
    await service.delete_session(**KEY)
    await service.delete_user("app", "user")
    assert len(begun) == 4 and threading.get_ident() not in begun


async def test_a_checkpoint_that_fails_takes_back_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)

    def full(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(_sqlite_connection, "_BETWEEN_CHECKPOINTS", 2)
    monkeypatch.setattr(_sqlite_connection, "checkpoint_wal", full)
    for n in range(6):
        await service.append_event(session, said(str(n)))
    assert texts(session) == texts(await make("NORMAL").get_session(**KEY)) == list("012345")


async def test_a_job_waits_for_those_before_it(make: Make, begun: list[int]) -> None:
    service = make("NORMAL")
    await service.create_session(**KEY)
    del begun[:]
    writer, line = service._writer, service._writer._connections[0]
    runs, shown = threading.Event(), list[str]()
    with line.lock:  # as the thread does while it empties the log
        first = writer.submit(lambda db: runs.set(), lambda _: shown.append("first"))
    assert runs.wait(60)
    with line.lock:  # by now it is committed, but this loop did not hear of it yet
        pass
    second = writer.submit(lambda db: None, lambda _: shown.append("second"), brief=True)
    await asyncio.gather(first, second)
    assert shown == ["first", "second"]
    assert threading.get_ident() not in begun
    await writer.submit(lambda db: None, lambda _: shown.append("third"), brief=True)
    assert begun[-1] == threading.get_ident()


async def test_a_program_that_holds_the_file_holds_up_no_loop(
    make: Make, tmp_path: Path, begun: list[int]
) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(service.append_event(session, said("late")))
    for _ in range(3):  # the loop goes on
        await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    await waiting
    assert begun[-1] != threading.get_ident()
    assert texts(await make("NORMAL").get_session(**KEY)) == ["late"]


async def test_the_thread_empties_the_log(make: Make, tmp_path: Path, begun: list[int]) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)
    connection = service._writer._connections[0]._connection
    assert connection is not None
    assert connection.execute("PRAGMA wal_autocheckpoint").fetchone() == (20_000,)
    sizes: list[int] = []
    for n in range(4):
        for _ in range(_sqlite_connection._BETWEEN_CHECKPOINTS):
            await service.append_event(session, said(str(n) * 1000))
        sizes.append((tmp_path / "s.db-wal").stat().st_size)
    assert sizes[3] < 1.5 * sizes[0]
    elsewhere = [thread for thread in begun if thread != threading.get_ident()]
    assert 4 <= len(elsewhere) <= 6
    assert len(texts(await make("NORMAL").get_session(**KEY))) == 4 * 256


async def test_after_a_long_commit_the_thread_makes_them(
    make: Make, begun: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make("NORMAL")
    await service.create_session(**KEY)
    clock = SimpleNamespace(now=0.0, spent=0.0)
    monkeypatch.setattr(
        _sqlite_connection,
        "time",
        SimpleNamespace(monotonic=lambda: clock.now, thread_time=lambda: clock.spent),
    )
    monkeypatch.setattr(_sqlite_connection, "_LONG_SECONDS", 0.005)
    monkeypatch.setattr(_sqlite_connection, "_PAUSE", 2)
    here = threading.get_ident()

    async def write(seconds: float, cpu: float = 0.0) -> bool:
        """Make a commit that takes so long; return whether it was made here."""

        def work(_: sqlite3.Connection) -> None:
            clock.now, clock.spent = clock.now + seconds, clock.spent + cpu

        del begun[:]
        await service._writer.submit(work, lambda _: None, brief=True)
        return begun == [here]

    assert await write(0.004)
    assert await write(0.006)
    assert [await write(0.0) for _ in range(4)] == [False, False, True, True]
    assert await write(0.050, cpu=0.048), "the collector ran meanwhile"
    assert await write(0.050, cpu=0.044)
    assert not await write(0.0)


async def test_what_a_job_raises_takes_back_its_changes(make: Make) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)
    writer = service._writer

    def spoil(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM sessions")
        raise StoreError("no")

    def broken(db: sqlite3.Connection) -> None:
        db.execute("SELECT nonsense FROM nowhere")

    with pytest.raises(StoreError, match="no"):
        await writer.submit(spoil, lambda _: None, brief=True)
    with pytest.raises(StoreError, match=r"'s\.db' failed: no such table: nowhere"):
        await writer.submit(broken, lambda _: None, brief=True)
    await service.append_event(session, said("on"))
    assert texts(await make("NORMAL").get_session(**KEY)) == ["on"]


async def test_what_nobody_waits_for_is_logged(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    service = make("NORMAL")
    await service.create_session(**KEY)
    service._writer.post(lambda db: db.execute("SELECT nonsense FROM nowhere"), brief=True)
    assert "A write that no caller waited for failed" in caplog.text


async def test_a_signal_in_a_commit_leaves_no_transaction_open(make: Make) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)

    def interrupted(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM sessions")
        signal.default_int_handler(signal.SIGINT, None)

    with pytest.raises(KeyboardInterrupt):
        service._writer.submit(interrupted, lambda _: None, brief=True)
    await service.append_event(session, said("on"))
    assert texts(await make("NORMAL").get_session(**KEY)) == ["on"]


async def test_a_file_that_is_gone_and_a_store_that_is_closed(make: Make, tmp_path: Path) -> None:
    service = make("NORMAL")
    session = await service.create_session(**KEY)
    await service.append_event(session, said("one"))
    (tmp_path / "s.db").rename(tmp_path / "t.db")
    with pytest.raises(StoreError, match="is no longer there"):
        await service.append_event(session, said("two"))
    (tmp_path / "t.db").rename(tmp_path / "s.db")
    await service.append_event(session, said("two"))
    await service.close()
    with pytest.raises(StoreError, match="has been closed"):
        await service.append_event(session, said("three"))
    assert texts(session) == ["one", "two"]
