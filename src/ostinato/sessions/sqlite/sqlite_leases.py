"""The rows of leases, inbox and journal in the embedded session store: every statement about them.

Called in the threads of `sqlite_threads.py`, inside a transaction where a function writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from ... import _clock
from ..store.durable_store import (
    CallAnswer,
    Claim,
    Fence,
    InboxMessage,
    JournalRow,
    Lease,
    Place,
    Renewal,
)
from ..store.keyed_requests import (
    RequestDigests,
    check_repeated,
    check_waiting,
    digests_of_payload,
    digests_of_record,
    is_keyed,
)
from ..store.lease_rules import HANDED_OVER, find_skipped_invocation, grant_lease
from .sqlite_events import read_first_event
from .sqlite_requests import claim_answers, find_session, release_answers

_LEASE = (
    "owner, ifnull(process, ''), token, expires, invocation_id, digest, attempts, stuck "
    "FROM ostinato_lease"
)
_MESSAGE = "id, owner, process, message, expires FROM ostinato_inbox"
_CLEAR = "DELETE FROM ostinato_journal WHERE sid = ? AND invocation_id = ?"
# Every row has its session. A LEFT JOIN, with a condition that takes it for one, keeps SQLite from
# beginning with all sessions of the app, in a loop or for a Bloom filter.
_SESSION = "LEFT JOIN sessions s ON s.sid = i.sid"
_SID = "(SELECT sid FROM sessions WHERE app = ? AND user = ? AND id = ?)"


def claim_lease(
    db: sqlite3.Connection, sid: int, place: Place, wish: Claim, revision: int
) -> Fence:
    """Grant a session's lease to a claim, and take the claim's message out of the inbox.

    Raises:
      SessionBusyError, StaleSessionError: see `grant_lease`.
      IdempotencyKeyReusedError: see `check_waiting`.
    """
    now = _clock.now()
    row = db.execute(f"SELECT {_LEASE} WHERE sid = ?", (sid,)).fetchone()
    first = None
    if not wish.jump:
        first = db.execute(
            f"SELECT {_MESSAGE} WHERE sid = ? ORDER BY seq LIMIT 1", (sid,)
        ).fetchone()
    if wish.request is not None and wish.message is not None:
        payload = _read_payload(db, sid, wish.message)
        if payload is not None:
            check_waiting(wish.message, payload, wish.request)
    held = None if row is None else _build_lease(place, row, now)
    new = grant_lease(
        place,
        held,
        None if first is None else _build_message(first, now),
        wish,
        revision,
    )
    db.execute(
        "INSERT INTO ostinato_lease(sid, owner, process, token, expires, invocation_id, digest, "
        "attempts, begun) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET owner = excluded.owner, process = excluded.process, "
        "token = excluded.token, expires = excluded.expires, digest = excluded.digest, "
        "begun = iif(invocation_id = excluded.invocation_id, begun, excluded.begun), "
        "cancelled = iif(invocation_id = excluded.invocation_id, cancelled, 0), "
        "invocation_id = excluded.invocation_id, attempts = excluded.attempts, stuck = ''",
        (
            sid,
            new.owner,
            new.process,
            new.token,
            now + new.left,
            new.invocation_id,
            new.digest,
            new.attempts,
            now,
        ),
    )
    passed = find_skipped_invocation(held, wish)
    if passed:
        db.execute(_CLEAR, (sid, passed))
    if not wish.keep_message and (wish.jump or first is not None):
        db.execute("DELETE FROM ostinato_inbox WHERE sid = ? AND id = ?", (sid, wish.message))
    return Fence(new.owner, new.token)


def write_journal(db: sqlite3.Connection, sid: int, rows: Sequence[JournalRow]) -> None:
    """Write rows of the journal; a `started` one never replaces a `finished` one."""
    for entry in rows:
        db.execute(
            "INSERT INTO ostinato_journal(sid, invocation_id, call_id, status, tool, result) "
            "VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET status = excluded.status, "
            "tool = excluded.tool, result = excluded.result "
            "WHERE excluded.status <> 'started' OR status <> 'finished'",
            (sid, entry.invocation_id, entry.call_id, entry.status, entry.tool, entry.result),
        )


def read_journal(db: sqlite3.Connection, place: Place, invocation_id: str) -> list[JournalRow]:
    """Read the rows of an invocation."""
    return [
        JournalRow(invocation_id, *row)
        for row in db.execute(
            "SELECT call_id, status, tool, result FROM ostinato_journal "
            f"WHERE sid = {_SID} AND invocation_id = ?",
            (*place, invocation_id),
        )
    ]


def read_lease(db: sqlite3.Connection, place: Place) -> Lease | None:
    """Read a session's lease."""
    row = db.execute(f"SELECT {_LEASE} WHERE sid = {_SID}", place).fetchone()
    return None if row is None else _build_lease(place, row, _clock.now())


def renew_leases(
    db: sqlite3.Connection, held: Sequence[tuple[Place, Fence]], seconds: float
) -> list[Renewal]:
    """Prolong leases."""
    now = _clock.now()
    renewed: list[Renewal] = []
    for place, fence in held:
        row = db.execute(
            f"UPDATE ostinato_lease SET expires = ? WHERE sid = {_SID} AND token = ? "
            "AND owner = ? RETURNING cancelled",
            (now + seconds, *place, fence.token, fence.owner),
        ).fetchone()
        renewed.append(Renewal(place, fence.token, row is None, row is not None and bool(row[0])))
    return renewed


def release_lease(db: sqlite3.Connection, place: Place, fence: Fence, keep_rows: bool) -> None:
    """Release a lease, and delete its invocation's rows."""
    row = db.execute(
        f"SELECT sid, invocation_id FROM ostinato_lease WHERE sid = {_SID} AND token = ? "
        "AND owner = ?",
        (*place, fence.token, fence.owner),
    ).fetchone()
    if row is None:
        return
    if not keep_rows:
        db.execute(_CLEAR, row)
    db.execute(
        "UPDATE ostinato_lease SET owner = '', invocation_id = '', cancelled = 0 WHERE sid = ?",
        row[:1],
    )


def park_lease(db: sqlite3.Connection, place: Place, fence: Fence, reason: str) -> None:
    """Release a lease and mark its invocation as stuck."""
    db.execute(
        f"UPDATE ostinato_lease SET owner = '', stuck = ?, cancelled = 0 WHERE sid = {_SID} "
        "AND token = ? AND owner = ?",
        (reason, *place, fence.token, fence.owner),
    )


def hand_over(db: sqlite3.Connection, place: Place, fence: Fence, failed: bool) -> None:
    """End a lease whose invocation stays open."""
    db.execute(
        "UPDATE ostinato_lease SET owner = ?, process = '', token = token + 1, expires = 0, "
        f"attempts = max(attempts - ?, 0) WHERE sid = {_SID} AND token = ? AND owner = ?",
        (HANDED_OVER, not failed, *place, fence.token, fence.owner),
    )


def request_cancel(db: sqlite3.Connection, place: Place, invocation_id: str | None) -> bool:
    """Request that an invocation be cancelled; return whether an owner holds it."""
    done = db.execute(
        f"UPDATE ostinato_lease SET cancelled = 1 WHERE sid = {_SID} AND owner <> '' "
        "AND invocation_id <> '' AND invocation_id = ifnull(?, invocation_id)",
        (*place, invocation_id),
    )
    return done.rowcount > 0


def open_leases(
    db: sqlite3.Connection, app_name: str | None, stuck: bool, limit: int
) -> list[Lease]:
    """Read leases with an invocation that is open, oldest first."""
    now = _clock.now()
    rows = db.execute(
        f"SELECT app, user, s.id, {_LEASE} i {_SESSION} WHERE invocation_id <> '' "
        "AND (stuck <> '') = ? AND ifnull(app, '') = ifnull(?, app) ORDER BY begun, i.sid LIMIT ?",
        (stuck, app_name, limit),
    )
    return [_build_lease(Place(*row[:3]), row[3:], now) for row in rows]


def put_message(
    db: sqlite3.Connection,
    place: Place,
    message: InboxMessage,
    seconds: float,
    answers: Sequence[CallAnswer] = (),
) -> bool:
    """Store a message at the end of a session's inbox, and claim the calls that it answers.

    Returns:
      Whether it was stored; False if it waits, or the invocation of its key has begun.

    Raises:
      SessionNotFoundError: no such session.
      IdempotencyKeyReusedError: its key was used for another request.
      CallAlreadyAnsweredError: another message has answered one of the calls.
    """
    now, wanted = _clock.now(), message.invocation_id
    if is_keyed(wanted):
        stored = _find_digests(db, find_session(db, place)[0], wanted)
        if stored is not None:
            check_repeated(stored, digests_of_payload(wanted, message.payload))
            return False
    sid = claim_calls(db, place, answers)
    done = db.execute(
        "INSERT INTO ostinato_inbox(sid, seq, id, message, created, owner, process, expires) "
        "SELECT ?, ifnull(max(seq), 0) + 1, ?, ?, ?, ?, ?, ? FROM ostinato_inbox "
        "WHERE sid = ? ON CONFLICT(sid, id) DO NOTHING",
        (
            sid,
            message.invocation_id,
            message.payload,
            now,
            message.owner,
            message.process,
            now + seconds,
            sid,
        ),
    )
    return done.rowcount > 0


def _find_digests(db: sqlite3.Connection, sid: int, invocation_id: str) -> RequestDigests | None:
    """Return the digests of the request that waits or has begun under a key, or None."""
    payload = _read_payload(db, sid, invocation_id)
    if payload is not None:
        return digests_of_payload(invocation_id, payload)
    record = read_first_event(db, sid, invocation_id)
    return None if record is None else digests_of_record(record)


def _read_payload(db: sqlite3.Connection, sid: int, message_id: str) -> str | None:
    row = db.execute(
        "SELECT message FROM ostinato_inbox WHERE sid = ? AND id = ?", (sid, message_id)
    ).fetchone()
    return None if row is None else row[0]


def claim_calls(db: sqlite3.Connection, place: Place, answers: Sequence[CallAnswer]) -> int:
    """Claim calls for a message that waits; return the number of their session.

    Raises:
      SessionNotFoundError: no such session.
      CallAlreadyAnsweredError: another message has answered one of the calls.
    """
    sid, revision = find_session(db, place)
    claim_answers(db, sid, place, answers, revision)
    return sid


def read_messages(db: sqlite3.Connection, place: Place) -> list[InboxMessage]:
    """Read a session's inbox, first come first."""
    now = _clock.now()
    rows = db.execute(f"SELECT {_MESSAGE} WHERE sid = {_SID} ORDER BY seq", place)
    return [_build_message(row, now) for row in rows]


def take_messages(
    db: sqlite3.Connection, app_name: str, owner: str, process: str, seconds: float, limit: int
) -> list[tuple[Place, str]]:
    """Claim for an owner the first messages of free sessions that no caller waits for."""
    now = _clock.now()
    rows = db.execute(
        f"SELECT app, user, s.id, i.id, i.sid, i.seq FROM ostinato_inbox i {_SESSION} "
        "LEFT JOIN ostinato_lease l ON l.sid = i.sid "
        "WHERE ifnull(app, '') = ? AND ifnull(l.owner, '') = '' "
        "AND (i.owner = '' OR i.expires <= ?) AND i.seq = (SELECT min(seq) FROM "
        "ostinato_inbox f WHERE f.sid = i.sid) ORDER BY i.created, i.sid LIMIT ?",
        (app_name, now, limit),
    ).fetchall()
    db.executemany(
        "UPDATE ostinato_inbox SET owner = ?, process = ?, expires = ? WHERE sid = ? AND seq = ?",
        [(owner, process, now + seconds, *row[4:]) for row in rows],
    )
    return [(Place(*row[:3]), row[3]) for row in rows]


def renew_messages(db: sqlite3.Connection, owner: str, seconds: float) -> None:
    """Prolong the time of an owner's messages."""
    db.execute(
        "UPDATE ostinato_inbox SET expires = ? WHERE owner = ?", (_clock.now() + seconds, owner)
    )


def leave_message(
    db: sqlite3.Connection, place: Place, invocation_id: str, keep: bool, owner: str | None = None
) -> None:
    """Note that a message's caller is gone, or take the message out."""
    do = (
        "UPDATE ostinato_inbox SET owner = '', expires = 0"
        if keep
        else ("DELETE FROM ostinato_inbox")
    )
    done = db.execute(
        f"{do} WHERE sid = {_SID} AND id = ? AND owner = ifnull(?, owner)",
        (*place, invocation_id, owner),
    )
    if not keep and done.rowcount > 0:
        release_answers(db, place, invocation_id)


def waiting_places(db: sqlite3.Connection, app_name: str | None, limit: int) -> list[Place]:
    """Read which sessions have messages, longest waiting first."""
    rows = db.execute(
        f"SELECT app, user, s.id FROM ostinato_inbox i {_SESSION} "
        "WHERE ifnull(app, '') = ifnull(?, app) AND i.seq = (SELECT min(seq) FROM ostinato_inbox f "
        "WHERE f.sid = i.sid) ORDER BY i.created, i.sid LIMIT ?",
        (app_name, limit),
    )
    return [Place(*row) for row in rows]


_LeaseRow = tuple[str, str, int, float, str, str, int, str]


def _build_lease(place: Place, row: _LeaseRow, now: float) -> Lease:
    return Lease(place, *row[:3], row[3] - now, *row[4:])


def _build_message(row: tuple[str, str, str, str, float], now: float) -> InboxMessage:
    *rest, expires = row
    return InboxMessage(*rest, left=expires - now)
