"""What opening a session costs does not depend on how long it is, where a run needs little of it.

Counted in steps of SQLite's machine and in records built, never in time.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ostinato.events.event import Event
from ostinato.events.event_actions import EventActions, EventCompaction
from ostinato.sessions.base_session_service import GetSessionConfig
from ostinato.sessions.log.event_log import EventRecord
from ostinato.sessions.session import log_of, revision_of
from ostinato.sessions.sqlite import sqlite_connection as _sqlite_connection
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.types import Content, Part
from tests.unit.sessions.talk import OWNER, said

LONG = 20_000
KEY: dict[str, Any] = {**OWNER, "session_id": "s1"}


class Meter:
    """Counts what connections made from now on do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        self.statements: list[str] = []
        inner = _sqlite_connection.connect

        def metered(*args: Any) -> sqlite3.Connection:
            connection = inner(*args)
            connection.set_progress_handler(self._step, 10)
            connection.set_trace_callback(self.statements.append)
            return connection

        monkeypatch.setattr(_sqlite_connection, "connect", metered)

    def _step(self) -> int:
        self.steps += 1
        return 0


def fill(path: Path, count: int) -> None:
    """Give the only session in a file `count` events, two in each invocation."""
    record = EventRecord.of(said("x"))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN")
    db.executemany(
        "INSERT INTO events VALUES(?, 1, ?, ?, ?, NULL, ?, ?)",
        (
            (1 << 32 | n, f"id{n}", f"inv{n // 2}", ("bot", "user")[n % 2], float(n), record.data)
            for n in range(1, count + 1)
        ),
    )
    db.execute("UPDATE sessions SET revision = ?", (count,))
    db.execute("COMMIT")
    db.close()


def summary(end: int) -> Event:
    words = Content(role="model", parts=[Part(text="the story so far")])
    compaction = EventCompaction(start_timestamp=1, end_timestamp=end, compacted_content=words)
    return Event(
        author="user",
        timestamp=float(end + 100),
        invocation_id="compaction",
        actions=EventActions(compaction=compaction),
    )


async def make(path: Path, count: int) -> None:
    """Make a file with a session of `count` events, of which all but ten are summarised."""
    maker = SqliteSessionService(path, synchronous="NORMAL")
    await maker.create_session(**KEY, state={"k": 1})
    fill(path, count)
    listed = (await maker.list_sessions(**OWNER)).sessions[0]
    await maker.append_event(listed, summary(count - 10))
    await maker.close()


async def cost(path: Path, monkeypatch: pytest.MonkeyPatch, count: int, **how: Any) -> list[int]:
    """Open that session afresh; return statements, steps and records."""
    with monkeypatch.context() as patch:
        meter = Meter(patch)
        service = SqliteSessionService(path, synchronous="NORMAL")
        session = await service.open_session(**KEY, **how)
        await service.close()
    assert session is not None
    assert revision_of(session) == count + 1
    assert log_of(session).offset + len(log_of(session)) == count + 1
    return [len(meter.statements), meter.steps, len(log_of(session))]


async def test_a_long_session_opens_like_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {100: tmp_path / "short.db", LONG: tmp_path / "long.db"}
    for count, path in paths.items():
        await make(path, count)
    for how in ({"complete": False}, {"config": GetSessionConfig(num_recent_events=20)}):
        short, long = [await cost(path, monkeypatch, count, **how) for count, path in paths.items()]
        assert short[2] <= 21
        assert short[1] > 0
        assert (long[0], long[2]) == (short[0], short[2])
        assert long[1] <= short[1] + 5


async def test_the_meter_sees_what_reading_everything_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await make(tmp_path / "short.db", 100)
    await make(tmp_path / "long.db", 1000)
    short = await cost(tmp_path / "short.db", monkeypatch, 100)
    long = await cost(tmp_path / "long.db", monkeypatch, 1000)
    assert long[2] == 1001
    assert long[1] > 5 * short[1]


async def test_a_partial_log_grows_and_becomes_whole_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await make(path, 100)
    service = SqliteSessionService(path, synchronous="NORMAL")
    part = await service.open_session(**KEY, complete=False)
    again = await service.open_session(**KEY, complete=False)
    assert part is not None and again is not None
    assert log_of(part) is log_of(again)
    spared = log_of(part).offset
    assert spared > 80
    await service.append_event(part, said("new"))
    assert len(log_of(again)) == 102 - spared
    limited = await service.get_session(**KEY, config=GetSessionConfig(num_recent_events=30))
    assert limited is not None and len(limited.events) == 30
    whole = await service.get_session(**KEY)
    assert whole is not None and len(whole.events) == 102
    assert log_of(whole).offset == 0 and revision_of(whole) == 102
    await service.append_event(whole, said("newer"))
    last = await service.open_session(**KEY, complete=False)
    assert last is not None
    assert log_of(last) is log_of(whole)
    await service.append_event(part, said("newest"))  # its own partial log goes on
    assert log_of(part).records[-1].id == log_of(whole).records[-1].id
    await service.close()


async def test_a_rewind_makes_a_cached_partial_log_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await make(path, 100)
    service = SqliteSessionService(path, synchronous="NORMAL")
    part = await service.open_session(**KEY, complete=False)
    assert part is not None and log_of(part).offset > 0
    other = SqliteSessionService(path, synchronous="NORMAL")
    theirs = await other.get_session(**KEY)
    assert theirs is not None
    actions = EventActions(rewind_before_invocation_id="inv10")
    await other.append_event(theirs, Event(author="user", invocation_id="r", actions=actions))
    await other.close()
    again = await service.open_session(**KEY, complete=False)
    assert again is not None and log_of(again).offset == 0 and len(log_of(again)) == 102
    await service.close()
