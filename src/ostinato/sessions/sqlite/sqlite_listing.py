"""Statements of the embedded session store about many sessions: listing, deleting, copying.

Called in the threads of `sqlite_threads.py`, inside a transaction where a function writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _clock
from ..base_session_service import HIDDEN_PREFIX
from ..log.event_log import EventRecord
from ..log.fork import answer_open_calls, closed_calls, fold_state, kept_records
from ..store.durable_store import Place
from ..store.listing_page import Page, token_of
from ..store.stored_rows import Key, StateRow, encode_value, session_not_found
from .sqlite_events import SHIFT, insert_event
from .sqlite_requests import copy_requests
from .sqlite_rows import insert_session, read_initial_state, read_shared_state

_CHUNK = 100  # sessions deleted in one go, so that appends get their turn
_PARAMETERS = 500  # of one statement; SQLite allows 999 at least
_LATEST = 1e300  # later than any time
VISIBLE = f"substr(id, 1, {len(HIDDEN_PREFIX)}) <> '{HIDDEN_PREFIX}'"
_Row = tuple[int, str, str, str, float, int]  # sid, app, user, id, updated, revision


@dataclass(slots=True)
class Listing:
    """Sessions without their events.

    Attributes:
      sessions: key, time of the last change, revision and state rows of each, newest first.
      shared: shared state rows by app and user; those of the app itself under the user ''.
      next: token of the next page, or None if this is the last one.
    """

    sessions: list[tuple[Key, float, int, list[StateRow]]]
    shared: dict[tuple[str, str], list[StateRow]] = field(
        default_factory=dict[tuple[str, str], list[StateRow]]
    )
    next: str | None = None


def read_page(db: sqlite3.Connection, app: str | None, user: str | None, page: Page) -> Listing:
    """Read a page of the sessions of an app and a user, of all for None; without hidden ones."""
    size = -1 if page.size is None else page.size + 1  # the extra row shows that a page follows
    rows: list[_Row] = []
    for each in [app] if app is not None else read_apps(db):
        rows += _read_newest(db, each, user, page, size)
    if app is None:
        rows.sort(key=lambda row: (row[4], row[0]), reverse=True)
        rows = rows if page.size is None else rows[:size]
    shown = rows[: page.size]
    found = read_sessions(db, shown)
    if len(shown) < len(rows):
        found.next = token_of(shown[-1][4], shown[-1][0])
    return found


def read_apps(db: sqlite3.Connection) -> list[str]:
    """Read the names of the apps that have sessions, with one look into an index for each."""
    rows = db.execute(
        "WITH RECURSIVE found(app) AS (SELECT min(app) FROM sessions UNION ALL "
        "SELECT (SELECT min(s.app) FROM sessions s WHERE s.app > found.app) FROM found "
        "WHERE found.app IS NOT NULL) SELECT app FROM found WHERE app IS NOT NULL"
    )
    return [row[0] for row in rows]


def apps_with_state(db: sqlite3.Connection) -> list[str]:
    """Read the names of the apps that have sessions or shared state."""
    rows = db.execute("SELECT DISTINCT app FROM scopes")
    return sorted({*read_apps(db), *(row[0] for row in rows)})


def _read_newest(
    db: sqlite3.Connection, app: str, user: str | None, page: Page, size: int
) -> list[_Row]:
    """Read sessions of one app behind the end of the page before, newest first."""
    of_user = "" if user is None else "AND user = :user"
    return db.execute(
        f"SELECT sid, app, user, id, updated, revision FROM sessions WHERE app = :app {of_user} "
        f"AND {VISIBLE} AND (updated, sid) < (:updated, :number) "
        "ORDER BY updated DESC, sid DESC LIMIT :size",
        {**page_parameters(app, user, page), "size": size},
    ).fetchall()


def page_parameters(app: str, user: str | None, page: Page) -> dict[str, Any]:
    """Return the parameters of a statement that reads sessions from a place in a listing on."""
    updated = _LATEST if page.updated is None else page.updated
    return {"app": app, "user": user, "updated": updated, "number": page.number}


def read_sessions(db: sqlite3.Connection, rows: Sequence[_Row]) -> Listing:
    """Read the state of sessions that are listed."""
    state: dict[int, list[StateRow]] = {row[0]: [] for row in rows}
    for some in in_chunks(list(state)):
        marks = ",".join("?" * len(some))
        for sid, name, text in db.execute(
            f"SELECT sid, key, value FROM session_state WHERE sid IN ({marks})", some
        ):
            state[sid].append((name, text))
    found = Listing([((row[1], row[2], row[3]), *row[4:], state[row[0]]) for row in rows])
    for place in {place for row in rows for place in ((row[1], row[2]), (row[1], ""))}:
        found.shared[place] = read_shared_state(db, *place)
    return found


def in_chunks(numbers: list[int]) -> Iterator[list[int]]:
    """Yield parts of a list that are short enough for the parameters of one statement."""
    for start in range(0, len(numbers), _PARAMETERS):
        yield numbers[start : start + _PARAMETERS]


def delete_of_user(db: sqlite3.Connection, app: str, user: str) -> tuple[list[Key], bool]:
    """Delete some sessions of a user, and with the last of them the state that they shared.

    Their place in the file is overwritten. The count of writes to that state stays and rises, so
    that no cache keeps old values.

    Returns:
      Their names, and whether more may be left.
    """
    (before,) = db.execute("PRAGMA secure_delete").fetchone()
    db.execute("PRAGMA secure_delete=ON")
    try:
        return _delete_of_user(db, app, user)
    finally:
        db.execute(f"PRAGMA secure_delete={before}")


def _delete_of_user(db: sqlite3.Connection, app: str, user: str) -> tuple[list[Key], bool]:
    gone = db.execute(
        "DELETE FROM sessions WHERE sid IN (SELECT sid FROM sessions WHERE app = ? AND user = ? "
        "LIMIT ?) RETURNING app, user, id",
        (app, user, _CHUNK),
    ).fetchall()
    if len(gone) == _CHUNK:
        return gone, True
    db.execute("DELETE FROM shared_state WHERE app = ? AND user = ?", (app, user))
    db.execute("UPDATE scopes SET revision = revision + 1 WHERE app = ? AND user = ?", (app, user))
    return gone, False


def delete_before(db: sqlite3.Connection, app: str, timestamp: float) -> list[Key]:
    """Delete some sessions that were last changed before a time; return what they were.

    Those with a lease that lasts stay.
    """
    return db.execute(
        "DELETE FROM sessions WHERE sid IN (SELECT sid FROM sessions s WHERE app = ? "
        "AND updated < ? AND NOT EXISTS (SELECT 1 FROM ostinato_lease l WHERE l.sid = s.sid "
        "AND owner <> '' AND expires > ?) ORDER BY updated LIMIT ?) RETURNING app, user, id",
        (app, timestamp, _clock.now(), _CHUNK),
    ).fetchall()


def fork_session(
    db: sqlite3.Connection, key: Key, at_event: str | None, new: Key, close_requests: bool
) -> None:
    """Copy a session with its events up to one; events and shared state are not touched.

    Args:
      close_requests: close requests that wait, but for questions.

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
    kept = kept_records(_read_outlines(db, sid, revision), at_event, key[2])
    closing = answer_open_calls(kept, close_requests=close_requests)
    sealing = [EventRecord.of(event) for event in closing]
    state = fold_state(read_initial_state(db, key), kept)
    now = _clock.now()
    twin = insert_session(db, new, text, now)
    db.execute(
        "INSERT INTO events(pos, sid, id, invocation_id, author, branch, timestamp, data) "
        "SELECT pos + ?, ?, id, invocation_id, author, branch, timestamp, data "
        "FROM events WHERE pos BETWEEN ? AND ?",
        ((twin - sid) << SHIFT, twin, sid << SHIFT, sid << SHIFT | len(kept)),
    )
    for number, one in enumerate(sealing, len(kept) + 1):
        insert_event(db, twin, number, one)
    copy_requests(db, sid, twin, Place(*new), kept, closed_calls(closing))
    db.execute("UPDATE sessions SET revision = ? WHERE sid = ?", (len(kept) + len(sealing), twin))
    db.executemany(
        "INSERT INTO session_state(sid, key, value) VALUES(?, ?, ?)",
        [(twin, name, encode_value(name, value)) for name, value in state.items()],
    )


def _read_outlines(db: sqlite3.Connection, sid: int, revision: int) -> list[EventRecord]:
    """Read a session's events without the text that a fork need not look at."""
    base = sid << SHIFT
    rows: Any = db.execute(
        "SELECT id, invocation_id, author, branch, timestamp, "
        "iif(instr(data, '\"function') OR instr(data, '\"actions\"'), data, '{}') "
        "FROM events WHERE pos BETWEEN ? AND ? ORDER BY pos",
        (base | 1, base | revision),
    )
    names = ("id", "invocation_id", "author", "branch", "timestamp", "data")
    return [EventRecord.from_columns(**dict(zip(names, row, strict=True))) for row in rows]
