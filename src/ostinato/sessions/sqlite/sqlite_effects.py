"""The rows of the effects ledger in the embedded session store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from ..store.durable_store import Place
from ..store.effect_ledger import (
    EffectCursor,
    EffectFilter,
    EffectMark,
    EffectWriter,
    OrphanedRows,
    StoredEffect,
    chain_hash,
    continue_ledger,
    seed_hash,
)
from ..store.effect_row import decode_text

# A number that was changed to a text sorts above every number.
_LAST = (
    "SELECT n, finished, hash FROM ostinato_effects WHERE sid = ? AND n <= 2147483647 "
    "ORDER BY n DESC LIMIT 1"
)
_INSERT = "INSERT INTO ostinato_effects(sid, n, finished, data, hash) VALUES(?, ?, ?, ?, ?)"
_MARK = "SELECT n, finished, hash FROM ostinato_effect_marks WHERE sid = ?"
_OLD = (
    "FROM ostinato_effects WHERE (sid, n) IN (SELECT sid, n FROM ostinato_effects "
    "WHERE finished < ? ORDER BY finished, sid, n LIMIT ?)"
)
# SQLite takes `finished` and `hash` from the row that has the maximum.
_KEEP_MARKS = (
    "INSERT OR REPLACE INTO ostinato_effect_marks(sid, n, finished, hash) "
    f"SELECT sid, max(n), finished, hash {_OLD} AND sid IN (SELECT sid FROM sessions) GROUP BY sid"
)
_TRIM = f"DELETE {_OLD}"
_ROWS = (
    "SELECT s.app, s.user, s.id, e.sid, e.n, e.finished, e.data, e.hash "
    "FROM ostinato_effects e CROSS JOIN sessions s ON s.sid = e.sid"
)
_LEDGER = (
    f"{_ROWS} LEFT JOIN ostinato_effect_marks m ON m.sid = e.sid AND m.n >= e.n - 1 "
    "WHERE (e.sid, e.n) > (?, ?) ORDER BY e.sid, e.n LIMIT ?"
).replace("e.hash ", "e.hash, m.n, m.hash ", 1)
_MARKS = (
    "SELECT s.app, s.user, s.id, m.n, m.finished, m.hash FROM ostinato_effect_marks m "
    "JOIN sessions s ON s.sid = m.sid"
)
_ORPHANS = (
    "SELECT sid, sum(is_row), sum(1 - is_row) FROM (SELECT sid, 1 AS is_row FROM ostinato_effects "
    "UNION ALL SELECT sid, 0 FROM ostinato_effect_marks) "
    "WHERE sid NOT IN (SELECT sid FROM sessions) GROUP BY sid ORDER BY sid"
)


def write_effects(
    db: sqlite3.Connection, sid: int, place: Place, texts: Sequence[str], writer: EffectWriter
) -> None:
    """Append effects to a session's ledger; sometimes delete old ones of any session."""
    row = db.execute(_LAST, (sid,)).fetchone() or db.execute(_MARK, (sid,)).fetchone()
    number, finished, previous = continue_ledger(row)
    for text in texts:
        number += 1
        if writer.chained:
            previous = chain_hash(previous or seed_hash(place), number, finished, text)
        db.execute(_INSERT, (sid, number, finished, text, previous if writer.chained else None))
    before = writer.count(len(texts))
    if before is not None:
        trim_effects(db, before, 4096)


def trim_effects(db: sqlite3.Connection, before: int, limit: int) -> int:
    """Delete effects that finished before a time in milliseconds; return how many.

    The last one of each session is noted, so that rows deleted otherwise are noticed.
    """
    db.execute(_KEEP_MARKS, (before, limit))
    return db.execute(_TRIM, (before, limit)).rowcount


def read_effects(
    db: sqlite3.Connection, which: EffectFilter, limit: int, after: EffectCursor | None
) -> list[StoredEffect]:
    """Read effects of sessions and of a time, newest first, whatever their tool."""
    conditions, values = ["1"], list[object]()
    names = (which.app_name, which.user_id, which.session_id)
    for column, value in zip(("s.app", "s.user", "s.id"), names, strict=True):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if which.since is not None:
        conditions.append("e.finished >= ?")
        values.append(int(which.since * 1000))
    if after is not None:
        conditions.append("(e.finished, e.sid, e.n) < (?, ?, ?)")
        values += after
    text = _ROWS
    if which.session_id is not None:  # the session comes first then, with its rows by the key
        text = text.replace("ostinato_effects e CROSS JOIN sessions s", "sessions s CROSS JOIN e")
        text = text.replace("CROSS JOIN e", "CROSS JOIN ostinato_effects e")
    sql = f"{text} WHERE {' AND '.join(conditions)} ORDER BY e.finished DESC, e.sid DESC, e.n DESC"
    return [StoredEffect(*row) for row in _fetch_rows(db, f"{sql} LIMIT ?", (*values, limit))]


def read_ledger(db: sqlite3.Connection, sid: int, number: int, limit: int) -> list[StoredEffect]:
    """Read the next rows behind one, session by session, each in the order of its numbers."""
    return [StoredEffect(*row) for row in _fetch_rows(db, _LEDGER, (sid, number, limit))]


def read_marks(db: sqlite3.Connection) -> list[EffectMark]:
    """Read how far the ledger of each session was pruned."""
    return [EffectMark(*row) for row in _fetch_rows(db, _MARKS, ())]


def read_orphans(db: sqlite3.Connection) -> list[OrphanedRows]:
    """Count the rows and marks of sessions that do not exist."""
    return [OrphanedRows(*row) for row in db.execute(_ORPHANS)]


def _fetch_rows(db: sqlite3.Connection, sql: str, values: Sequence[object]) -> list[Any]:
    """Read rows; bytes of a text that are no UTF-8 become surrogates, as of damaged rows."""
    try:
        return db.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    usual = db.text_factory
    db.text_factory = decode_text
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.text_factory = usual
