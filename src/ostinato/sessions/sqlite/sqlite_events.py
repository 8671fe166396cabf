"""The rows of events in the embedded session store, and where the tail of each session starts.

Called in the threads of `sqlite_threads.py`, inside a transaction where a function writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..log.event_log import COMPACTION, REWIND, EventRecord
from ..log.tail import answers_left_out_call, find_tail, has_user_answer
from ..store.stored_rows import Appended, Changes

SHIFT = 32  # pos = sid << SHIFT | seq
_EVENT = "e.pos, e.id, e.invocation_id, e.author, e.branch, e.timestamp, e.data"
_Row = tuple[int, str, str, str, str | None, float, str]


def insert_events(
    db: sqlite3.Connection, done: Appended, record: EventRecord, changes: Changes | None
) -> None:
    """Insert an event, unless it is stored already; note in `done` what it brings."""
    if not insert_event(db, done.sid, done.revision + 1, record):
        return
    done.revision += 1
    done.records.append(record)
    if changes is not None:
        done.own += changes.own
        done.user += changes.user
        done.app += changes.app


def insert_event(db: sqlite3.Connection, sid: int, seq: int, record: EventRecord) -> bool:
    """Insert an event under its number; return False where its id is stored already."""
    stored = db.execute(
        "INSERT INTO events(sid, pos, id, invocation_id, author, branch, timestamp, data) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(sid, id) DO NOTHING",
        (
            sid,
            sid << SHIFT | seq,
            record.id,
            record.invocation_id,
            record.author,
            record.branch,
            record.timestamp,
            record.data,
        ),
    )
    return stored.rowcount > 0


def read_events(
    db: sqlite3.Connection, sid: int, first: int, last: int, which: str = ""
) -> list[EventRecord]:
    """Read events by number, oldest first.

    Args:
      which: further condition, as SQL.
    """
    if first > last:
        return []
    base = sid << SHIFT
    return _read_records(
        db.execute(
            f"SELECT {_EVENT} FROM events e WHERE pos BETWEEN ? AND ? {which} ORDER BY pos",
            (base | first, base | last),
        )
    )


def read_first_event(db: sqlite3.Connection, sid: int, invocation_id: str) -> EventRecord | None:
    """Read the first event of an invocation; None if it has none."""
    rows = db.execute(
        f"SELECT {_EVENT} FROM events e WHERE e.sid = ? AND e.invocation_id = ? "
        "ORDER BY pos LIMIT 1",
        (sid, invocation_id),
    )
    return next(iter(_read_records(rows)), None)


def read_summaries(db: sqlite3.Connection, sid: int) -> list[EventRecord]:
    """Read the compactions that lie before the tail of a session and are needed with it."""
    return _read_records(
        db.execute(
            f"SELECT {_EVENT} FROM ostinato_summaries s JOIN events e "
            f"ON e.pos = (s.sid << {SHIFT} | s.seq) WHERE s.sid = ? ORDER BY s.seq",
            (sid,),
        )
    )


def _read_records(rows: Iterable[_Row]) -> list[EventRecord]:
    return [
        EventRecord.from_columns(
            id=row[1],
            invocation_id=row[2],
            author=row[3],
            branch=row[4],
            timestamp=row[5],
            data=row[6],
        )
        for row in rows
    ]


def move_tail(db: sqlite3.Connection, done: Appended) -> None:
    """Move the start of a session's tail after compactions, rewinds or answers were appended."""
    kinds = 0
    for record in done.records:
        kinds |= record.kinds
    answers = has_user_answer(done.records)
    if not kinds & (COMPACTION | REWIND) and not answers:
        return
    (tail,) = db.execute("SELECT tail FROM sessions WHERE sid = ?", (done.sid,)).fetchone()
    if kinds & REWIND and tail > 1 and any(_reaches_back(db, done, r, tail) for r in done.records):
        tail = _store_tail(db, done.sid, 1, ())
    if answers and tail > 1:
        if answers_left_out_call(done.records, read_events(db, done.sid, tail, done.revision)):
            tail = _store_tail(db, done.sid, 1, ())
    if kinds & COMPACTION:
        _advance_tail(db, done, tail)


def _reaches_back(db: sqlite3.Connection, done: Appended, record: EventRecord, tail: int) -> bool:
    """Return whether a rewind hides what the tail has left out, or a summary that stands for it."""
    if not record.kinds & REWIND:
        return False
    base = done.sid << SHIFT
    target = record.event().actions.rewind_before_invocation_id
    (start,) = db.execute(
        "SELECT min(pos) FROM events WHERE pos BETWEEN ? AND ? AND invocation_id = ?",
        (base, base | done.revision, target),
    ).fetchone()
    if start is None:
        return False
    if start < base | tail:
        return True
    hidden = read_events(
        db, done.sid, start - base, done.revision, "AND instr(data, '\"compaction\"')"
    )
    return any(one.kinds & COMPACTION for one in hidden)


def _advance_tail(db: sqlite3.Connection, done: Appended, tail: int) -> None:
    before = float("-inf")
    numbers: list[int] = []
    if tail > 1:
        row = db.execute(
            "SELECT timestamp FROM events WHERE pos = ?", (done.sid << SHIFT | tail - 1,)
        ).fetchone()
        before = before if row is None else row[0]
        numbers = [
            row[0]
            for row in db.execute(
                "SELECT seq FROM ostinato_summaries WHERE sid = ? ORDER BY seq", (done.sid,)
            )
        ]
    records = read_summaries(db, done.sid) + read_events(db, done.sid, tail, done.revision)
    first = len(numbers)
    numbers += range(tail, done.revision + 1)
    found = find_tail(records, first, len(records) - len(done.records), before)
    if len(records) < len(numbers):  # events were deleted from outside, so numbers do not tell
        found = None
    if found is None:
        _store_tail(db, done.sid, 1, ())
    elif found.start > first:
        _store_tail(db, done.sid, numbers[found.start], [numbers[i] for i in found.summaries])


def _store_tail(db: sqlite3.Connection, sid: int, tail: int, needed: Iterable[int]) -> int:
    db.execute("UPDATE sessions SET tail = ? WHERE sid = ?", (tail, sid))
    db.execute("DELETE FROM ostinato_summaries WHERE sid = ?", (sid,))
    db.executemany("INSERT INTO ostinato_summaries VALUES(?, ?)", [(sid, seq) for seq in needed])
    return tail
