"""The rows of calls that wait for an answer, in the embedded session store.

Called in the threads of `sqlite_threads.py`, inside a transaction where a function writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence, Set
from typing import Any

from ... import _clock
from ..log.call_requests import is_answered_in
from ..log.confirmation_answers import may_add_row, may_claim
from ..log.event_log import EventRecord
from ..store.durable_store import (
    CallAnswer,
    CallChanges,
    CallRequest,
    OpenRequest,
    OpenRequests,
    Place,
)
from ..store.stored_rows import session_not_found

_REQUEST = "call_id, kind, name, invocation_id, event_id, author, asked, question"
_INSERT = (
    f"INSERT INTO ostinato_requests(sid, app, user, {_REQUEST}, answered, answer, answered_by) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(sid, call_id) DO UPDATE SET "
    "kind = excluded.kind, name = excluded.name, invocation_id = excluded.invocation_id, "
    "event_id = excluded.event_id, author = excluded.author, asked = excluded.asked, "
    "question = excluded.question, answered = excluded.answered, answer = excluded.answer, "
    "answered_by = excluded.answered_by WHERE event_id <> excluded.event_id"
)
_OPEN = "answered = NULL, answer = NULL, answered_by = NULL"
_OF_CALL = "WHERE sid = ? AND call_id = ?"


def apply_changes(
    db: sqlite3.Connection, sid: int, place: Place, changes: CallChanges, revision: int | None
) -> None:
    """Write what an append changes of the calls that wait; see `claim_answers`."""
    claim_answers(db, sid, place, changes.answers, revision)
    for request in changes.asked:
        db.execute(_INSERT, (sid, *place[:2], *_request_values(request), None, None, None))
    for call_id in changes.withdrawn:
        db.execute(f"DELETE FROM ostinato_requests {_OF_CALL}", (sid, call_id))
    for call_id in changes.reopened:
        db.execute(f"UPDATE ostinato_requests SET {_OPEN} {_OF_CALL}", (sid, call_id))
    for call_id in changes.lost:
        db.execute(
            f"DELETE FROM ostinato_requests {_OF_CALL} AND NOT EXISTS (SELECT 1 FROM events e "
            "WHERE e.sid = ostinato_requests.sid AND e.id = ostinato_requests.event_id)",
            (sid, call_id),
        )


def claim_answers(
    db: sqlite3.Connection,
    sid: int,
    place: Place,
    answers: Iterable[CallAnswer],
    revision: int | None,
) -> None:
    """Note answers at the calls that they answer.

    Args:
      revision: the session's before the answers; see `may_add_row`.

    Raises:
      CallAlreadyAnsweredError: another message has answered one of them.
      StaleSessionError: see `may_add_row`.
    """
    for answer in answers:
        row = db.execute(
            f"SELECT answered, answer, answered_by FROM ostinato_requests {_OF_CALL}",
            (sid, answer.call_id),
        ).fetchone()
        given = (_clock.now(), answer.answer, answer.message_id)
        if row is None:
            if answer.request is not None and may_add_row(answer, revision):
                db.execute(_INSERT, (sid, *place[:2], *_request_values(answer.request), *given))
        elif may_claim(answer, *row):
            db.execute(
                "UPDATE ostinato_requests SET answered = ?, answer = ?, answered_by = ? "
                f"{_OF_CALL}",
                (*given, sid, answer.call_id),
            )


def find_session(db: sqlite3.Connection, place: Place) -> tuple[int, int]:
    """Return the number and the revision of a session.

    Raises:
      SessionNotFoundError: no such session.
    """
    row = db.execute(
        "SELECT sid, revision FROM sessions WHERE app = ? AND user = ? AND id = ?", place
    ).fetchone()
    if row is None:
        raise session_not_found(place)
    return row


def release_answers(db: sqlite3.Connection, place: Place, message_id: str) -> None:
    """Open the calls again that a message had answered, unless its invocation has begun."""
    db.execute(
        f"UPDATE ostinato_requests SET {_OPEN} WHERE answered_by = ? AND sid = "
        "(SELECT sid FROM sessions WHERE app = ? AND user = ? AND id = ?) AND NOT EXISTS "
        "(SELECT 1 FROM events e WHERE e.sid = ostinato_requests.sid AND e.invocation_id = ?)",
        (message_id, *place, message_id),
    )


def copy_requests(
    db: sqlite3.Connection,
    sid: int,
    twin: int,
    place: Place,
    kept: Sequence[EventRecord],
    closed: Set[str | None],
) -> None:
    """Give a fork the requests of the events that it took over.

    Args:
      sid: number of the session that was copied.
      twin: number of the copy.
      place: the copy.
      kept: the events that it took over.
      closed: calls that are closed in it.
    """
    by_id = {record.id: record for record in kept}
    rows = db.execute(
        f"SELECT {_REQUEST}, answered, answer, answered_by FROM ostinato_requests WHERE sid = ? "
        "ORDER BY asked",
        (sid,),
    ).fetchall()
    for row in rows:
        record = by_id.get(row[4])
        if record is None or row[0] in closed:
            continue
        given = row[8:] if is_answered_in(kept, record, row[0]) else (None, None, None)
        db.execute(_INSERT, (twin, *place[:2], *row[:8], *given))


def open_requests(
    db: sqlite3.Connection, app_name: str, user_id: str | None, limit: int, after: int | None
) -> OpenRequests:
    """Read a page of the requests without an answer, newest first."""
    # Two statements rather than a condition with ifnull, which no index serves.
    index, of_user, values = "open_requests", "", (app_name,)
    if user_id is not None:
        index, of_user, values = "open_requests_of_user", "AND r.user = ? ", (app_name, user_id)
    rows: list[Any] = db.execute(
        f"SELECT pos, r.app, r.user, s.id, {_REQUEST} FROM ostinato_requests r "
        f"INDEXED BY {index} CROSS JOIN sessions s USING(sid) WHERE answered IS NULL "
        f"AND r.app = ? {of_user}AND pos < ? ORDER BY pos DESC LIMIT ?",
        (*values, 2**62 if after is None else after, limit + 1),
    ).fetchall()
    return page_of_requests(rows, limit)


def page_of_requests(rows: Sequence[Any], limit: int) -> OpenRequests:
    """Return rows of position, app, user, session and request as a page of this size."""
    found = [OpenRequest(Place(*row[1:4]), CallRequest(*row[4:])) for row in rows[:limit]]
    return OpenRequests(found, rows[limit - 1][0] if len(rows) > limit else None)


def _request_values(request: CallRequest) -> tuple[Any, ...]:
    return (
        request.call_id,
        request.kind,
        request.name,
        request.invocation_id,
        request.event_id,
        request.author,
        request.asked,
        request.question,
    )
