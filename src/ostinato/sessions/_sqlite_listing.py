"""Statements of the embedded session store about many sessions: listing, deleting, copying.

Called in the threads of `_sqlite_worker.py`, inside a transaction where a function writes.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any

from .. import _clock
from ._fork import answers, folded, kept_records
from ._page import Page, token_of
from ._sqlite_events import SHIFT, put
from ._sqlite_rows import initial, insert_session
from ._stored_rows import Key, StateRow, encode, session_not_found
from .base_session_service import HIDDEN_PREFIX
from .event_log import EventRecord

_CHUNK = 100  # sessions deleted in one go, so that appends get their turn


@dataclass(slots=True)
class Listing:
    """Sessions without their events.

    Attributes:
      sessions: key, time of the last change, revision and state rows of each, newest first.
      shared: shared state rows by app and user; those of the app itself under the user ''.
      next: token of the page that follows; None where there is none.
    """

    sessions: list[tuple[Key, float, int, list[StateRow]]]
    shared: dict[tuple[str, str], list[StateRow]] = field(
        default_factory=dict[tuple[str, str], list[StateRow]]
    )
    next: str | None = None


def listing(db: sqlite3.Connection, app: str | None, user: str | None, page: Page) -> Listing:
    """Read a page of the sessions of an app and a user, of all for None; without hidden ones."""
    chosen = (
        "SELECT sid, app, user, id, updated, revision FROM sessions "
        "WHERE app = ifnull(?1, app) AND user = ifnull(?2, user) AND substr(id, 1, ?3) <> ?4 "
        "AND (?5 IS NULL OR (updated, sid) < (?5, ?6)) ORDER BY updated DESC, sid DESC LIMIT ?7"
    )
    size = -1 if page.size is None else page.size + 1  # one more tells whether a page follows
    values = (app, user, len(HIDDEN_PREFIX), HIDDEN_PREFIX, page.updated, page.number, size)
    rows = db.execute(chosen, values).fetchall()
    state: dict[int, list[StateRow]] = {row[0]: [] for row in rows}
    for sid, name, text in db.execute(
        f"SELECT sid, key, value FROM session_state WHERE sid IN (SELECT sid FROM ({chosen}))",
        values,
    ):
        state[sid].append((name, text))
    shown = rows[: page.size]
    found = Listing([((row[1], row[2], row[3]), *row[4:], state[row[0]]) for row in shown])
    for of_app, of_user, name, text in db.execute(
        "SELECT app, user, key, value FROM shared_state WHERE (app, user) IN "
        f"(SELECT app, user FROM ({chosen}) UNION SELECT app, '' FROM ({chosen}))",
        values,
    ):
        found.shared.setdefault((of_app, of_user), []).append((name, text))
    if len(shown) < len(rows):
        found.next = token_of(shown[-1][4], shown[-1][0])
    return found


def delete_user(db: sqlite3.Connection, app: str, user: str) -> list[Key]:
    """Delete a user's sessions and shared state; return what the sessions were.

    The count of writes to that state stays and rises, so that no cache goes on with old values.
    """
    gone = db.execute(
        "DELETE FROM sessions WHERE app = ? AND user = ? RETURNING app, user, id", (app, user)
    ).fetchall()
    db.execute("DELETE FROM shared_state WHERE app = ? AND user = ?", (app, user))
    db.execute("UPDATE scopes SET revision = revision + 1 WHERE app = ? AND user = ?", (app, user))
    return gone


def delete_before(db: sqlite3.Connection, app: str, timestamp: float) -> list[Key]:
    """Delete some sessions that were last changed before a time; return what they were.

    Those with a lease that lasts stay.
    """
    return db.execute(
        "DELETE FROM sessions WHERE sid IN (SELECT sid FROM sessions s WHERE app = ? "
        "AND updated < ? AND NOT EXISTS (SELECT 1 FROM ostinato_lease l WHERE l.sid = s.sid "
        "AND owner <> '' AND expires > ?) LIMIT ?) RETURNING app, user, id",
        (app, timestamp, _clock.now(), _CHUNK),
    ).fetchall()


def fork(db: sqlite3.Connection, key: Key, at_event: str | None, new: Key) -> None:
    """Copy a session with its events up to one; events and shared state are not touched.

    Raises:
      SessionNotFoundError, NotFoundError: no such session, or event.
      AlreadyExistsError: there is a session under the new key.
    """
    row = db.execute(
        "SELECT sid, revision, initial FROM sessions WHERE app = ? AND user = ? AND id = ?", key
    ).fetchone()
    if row is None:
        raise session_not_found(key)
    sid, revision, text = row
    kept = kept_records(_outlines(db, sid, revision), at_event, key[2])
    sealing = [EventRecord.of(event) for event in answers(kept)]
    state = folded(initial(db, key), kept)
    now = _clock.now()
    twin = insert_session(db, new, text, now)
    db.execute(
        "INSERT INTO events(pos, sid, id, invocation_id, author, branch, timestamp, data) "
        "SELECT pos - ?1 + ?2, ?3, id, invocation_id, author, branch, timestamp, data "
        "FROM events WHERE pos BETWEEN ?1 AND ?1 | ?4",
        (sid << SHIFT, twin << SHIFT, twin, len(kept)),
    )
    for number, one in enumerate(sealing, len(kept) + 1):
        put(db, twin, number, one)
    db.execute("UPDATE sessions SET revision = ? WHERE sid = ?", (len(kept) + len(sealing), twin))
    db.executemany(
        "INSERT INTO session_state(sid, key, value) VALUES(?, ?, ?)",
        [(twin, name, encode(name, value)) for name, value in state.items()],
    )


def _outlines(db: sqlite3.Connection, sid: int, revision: int) -> list[EventRecord]:
    """Read a session's events without the text that a fork need not look at."""
    base = sid << SHIFT
    rows: Any = db.execute(
        "SELECT id, invocation_id, author, branch, timestamp, "
        "iif(instr(data, '\"function') OR instr(data, '\"actions\"'), data, '{}') "
        "FROM events WHERE pos BETWEEN ? AND ? ORDER BY pos",
        (base | 1, base | revision),
    )
    names = ("id", "invocation_id", "author", "branch", "timestamp", "data")
    return [EventRecord.stored(**dict(zip(names, row, strict=True))) for row in rows]
