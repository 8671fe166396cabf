"""The rows of the embedded session store: every statement that reads or writes them.

Called in the threads of `sqlite_threads.py`, inside a transaction where a function writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ...errors import AlreadyExistsError, StaleSessionError
from ..base_session_service import GetSessionConfig, deleted_ids
from ..log.event_log import EventRecord
from ..store.durable_store import CallChanges, Claim, Fence, JournalRow, Place
from ..store.effect_ledger import EffectWriter, ledger_place, split_effects
from ..store.lease_rules import check_fence, find_clashes
from ..store.stored_rows import (
    STALE,
    Appended,
    Changes,
    Key,
    Known,
    Loaded,
    StateRow,
    decode_value,
    session_not_found,
)
from . import sqlite_leases as leases
from .sqlite_effects import write_effects
from .sqlite_events import SHIFT, insert_events, move_tail, read_events, read_summaries
from .sqlite_requests import apply_changes


def create_session(db: sqlite3.Connection, key: Key, changes: Changes, now: float) -> Loaded:
    """Insert a session.

    Raises:
      AlreadyExistsError: there is one with this id.
    """
    initial = [f"{json.dumps(name)}:{text}" for name, text in changes.own if text is not None]
    sid = insert_session(db, key, f"{{{','.join(initial)}}}" if initial else None, now)
    _write_state(db, sid, changes.own)
    _write_shared(db, key[0], key[1], changes.user)
    _write_shared(db, key[0], "", changes.app)
    loaded = load_session(db, key, lambda sid: None)
    assert loaded is not None
    return loaded


def insert_session(db: sqlite3.Connection, key: Key, initial: str | None, now: float) -> int:
    """Insert a session's row and return its number.

    Args:
      initial: its own state as JSON text.
      now: seconds since 1970.

    Raises:
      AlreadyExistsError: there is one with this id.
    """
    row = db.execute(
        "INSERT INTO sessions(app, user, id, created, updated, initial) VALUES(?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING RETURNING sid",
        (*key, now, now, initial),
    ).fetchone()
    if row is None:
        raise AlreadyExistsError(f"Session with id {key[2]} already exists.")
    return row[0]


def _write_state(db: sqlite3.Connection, sid: int, rows: Iterable[StateRow]) -> None:
    for name, text in rows:
        db.execute(
            "INSERT INTO session_state(sid, key, value) VALUES(?, ?, ?) "
            "ON CONFLICT DO UPDATE SET value = excluded.value",
            (sid, name, text),
        )


def _write_shared(db: sqlite3.Connection, app: str, user: str, rows: Sequence[StateRow]) -> int:
    """Write shared state; return its revision, 0 where there was nothing to write."""
    if not rows:
        return 0
    for name, text in rows:
        db.execute(
            "INSERT INTO shared_state(app, user, key, value) VALUES(?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET value = excluded.value",
            (app, user, name, text),
        )
    (revision,) = db.execute(
        "INSERT INTO scopes(app, user, revision) VALUES(?, ?, 1) "
        "ON CONFLICT DO UPDATE SET revision = revision + 1 RETURNING revision",
        (app, user),
    ).fetchone()
    return revision


@dataclass(slots=True)
class Batch:
    """What one append brings.

    Attributes:
      key: the session.
      events: events, each with its state changes; one that is already stored is skipped.
      rows: rows of the journal.
      fence, claim: as in `DurableStore.append`.
      revision: number of the newest event that the appender has seen.
      own: ids of newer ones that the appender wrote itself.
      snapshot_token: what the appender takes for stored without a query, or None.
      changes: what the append changes of the calls that wait for an answer; None for nothing.
      check_order: refuses events that would overwrite later writes of others, see `check_order`.
      effects: how the effects ledger is kept; None if it is not.
      sid: number of the session that a run writes to; 0 for any with the key.
    """

    key: Key
    events: Sequence[tuple[EventRecord, Changes | None]]
    rows: Sequence[JournalRow]
    fence: Fence | None
    claim: Claim | None
    revision: int
    own: Set[str]
    snapshot_token: Any = None
    changes: CallChanges | None = None
    check_order: Callable[[Sequence[EventRecord]], None] | None = None
    effects: EffectWriter | None = None
    sid: int = 0


# One query for all that an append depends on, because each statement costs.
_STANDING = (
    "SELECT s.sid, s.revision, s.updated, l.owner, l.token FROM sessions s "
    "LEFT JOIN ostinato_lease l ON l.sid = s.sid WHERE s.app = ? AND s.user = ? AND s.id = ?"
)
_REVISIONS = (
    "SELECT ifnull((SELECT revision FROM scopes WHERE app = ? AND user = ?), 0), "
    "ifnull((SELECT revision FROM scopes WHERE app = ? AND user = ''), 0)"
)


def append_batch(
    db: sqlite3.Connection, batch: Batch, known: Callable[[int], int | None]
) -> tuple[Appended, Fence | None]:
    """Insert events with the state they bring, and rows of the journal, if its rules allow it.

    Args:
      known: gives, for a session's number, the number of the newest event that the caller's log
        holds; None if the caller keeps no log of that session.

    Returns:
      What was stored, and the fence that a claim gave.

    Raises:
      SessionNotFoundError, LeaseLostError, SessionBusyError, StaleSessionError,
      CallAlreadyAnsweredError: see `DurableStore.append`.
      OverwrittenError: others wrote state of these events later.
    """
    key = batch.key
    row = db.execute(_STANDING, key).fetchone()
    if row is None:
        raise session_not_found(key)
    sid, revision, updated, owner, token = row
    if batch.snapshot_token is not None:
        app, user, _ = key
        stored = (sid, revision, *db.execute(_REVISIONS, (app, user, app)).fetchone(), None)
        if batch.snapshot_token != stored:
            raise StaleSessionError(STALE)
    fence = None
    if batch.claim is not None:
        if batch.claim.within is not None:
            _check_within(db, *batch.claim.within)
        fence = leases.claim_lease(db, sid, Place(*key), batch.claim, revision)
    elif batch.fence is not None:
        check_fence(batch.fence, owner, token or 0)
    if batch.sid not in (0, sid):
        raise session_not_found(key)  # the run's session was deleted, and this is a new one
    if batch.revision < revision:
        _check_outside(db, sid, batch, revision)
    seen = known(sid)
    missing = read_events(db, sid, seen + 1, revision) if seen is not None else []
    done = Appended(sid, revision + 1, revision, [], updated, (seen or 0) + 1, missing, [], [], [])
    for record, changes in batch.events:
        insert_events(db, done, record, changes)
    if done.records:
        done.updated = done.records[-1].timestamp
        db.execute(
            "UPDATE sessions SET revision = ?, updated = ? WHERE sid = ?",
            (done.revision, done.updated, sid),
        )
    if done.own or done.user or done.app:
        _write_state(db, sid, done.own)
        done.user_revision = _write_shared(db, key[0], key[1], done.user)
        done.app_revision = _write_shared(db, key[0], "", done.app)
    _write_rows(db, sid, batch, revision)
    move_tail(db, done)
    return done, fence


def _write_rows(db: sqlite3.Connection, sid: int, batch: Batch, revision: int) -> None:
    if batch.changes is not None:
        before = revision if batch.fence is None and batch.claim is None else None
        apply_changes(db, sid, Place(*batch.key), batch.changes, before)
    if not batch.rows:
        return
    rows, effects = split_effects(batch.rows)
    leases.write_journal(db, sid, rows)
    if effects and batch.effects is not None:
        place = Place(*batch.key)
        home = ledger_place(batch.key, batch.rows)
        row = None if home is None else db.execute(_STANDING, home).fetchone()
        if home is not None and row is not None:
            sid, place = row[0], home
        write_effects(db, sid, place, effects, batch.effects)


def _check_within(db: sqlite3.Connection, place: Place, fence: Fence) -> None:
    """Reject a claim on behalf of an owner that has lost the session it works for."""
    row = db.execute(_STANDING, place).fetchone()
    if row is None:
        raise session_not_found(place)
    check_fence(fence, row[3], row[4] or 0)


def _check_outside(db: sqlite3.Connection, sid: int, batch: Batch, revision: int) -> None:
    """Reject an append that would overwrite a value unseen by its caller.

    A run's append may overwrite values that are older than its own.
    """
    is_run = batch.fence is not None or batch.claim is not None
    if not any(changes is not None and (is_run or changes.own) for _, changes in batch.events):
        return
    newer = read_events(db, sid, batch.revision + 1, revision, "AND instr(data, '\"stateDelta\"')")
    if is_run:
        if batch.check_order is not None:
            batch.check_order(newer)
        return
    for record in find_clashes((record for record, _ in batch.events), newer, batch.own):
        stored = db.execute(
            "SELECT 1 FROM events WHERE sid = ? AND id = ?", (sid, record.id)
        ).fetchone()
        if stored is None:
            raise StaleSessionError(STALE)


def load_session(
    db: sqlite3.Connection,
    key: Key,
    known: Callable[[int], Known | None],
    config: GetSessionConfig | None = None,
    complete: bool = True,
) -> Loaded | None:
    """Read what the caller does not know of a session, or return None if it does not exist.

    What is known is of no use where it lacks events that are asked for; then all of those are read.

    Args:
      known: returns, for a session's number, what the caller holds; None if it holds nothing.
      config: which events to read; for a caller that holds nothing.
      complete: all events; otherwise the summaries in force and the tail will do.
    """
    row = db.execute(
        "SELECT sid, updated, revision, "
        "ifnull((SELECT revision FROM scopes WHERE app = s.app AND user = s.user), 0), "
        "ifnull((SELECT revision FROM scopes WHERE app = s.app AND user = ''), 0), tail "
        "FROM sessions s WHERE app = ? AND user = ? AND id = ?",
        key,
    ).fetchone()
    if row is None:
        return None
    loaded = Loaded(*row[:5])
    tail = 1 if complete else row[5]
    held = known(loaded.sid) or Known()
    loaded.first = held.seq + 1
    if config is not None and not held.seq:
        loaded.first = _first_wanted(db, loaded, config)
    elif config is None and (not held.seq or held.tail > tail):
        loaded.first = tail
        loaded.summaries = read_summaries(db, loaded.sid) if tail > 1 else []
    if loaded.first <= loaded.revision:
        loaded.records = read_events(db, loaded.sid, loaded.first, loaded.revision)
    if held.own < loaded.revision:
        loaded.own = db.execute(
            "SELECT key, value FROM session_state WHERE sid = ?", (loaded.sid,)
        ).fetchall()
    if held.user < loaded.user_revision:
        loaded.user = read_shared_state(db, key[0], key[1])
    if held.app < loaded.app_revision:
        loaded.app = read_shared_state(db, key[0], "")
    return loaded


def read_shared_state(db: sqlite3.Connection, app: str, user: str) -> list[StateRow]:
    """Return the state that a user's sessions share, or an app's for the user ''."""
    return db.execute(
        "SELECT key, value FROM shared_state WHERE app = ? AND user = ?", (app, user)
    ).fetchall()


def _first_wanted(db: sqlite3.Connection, loaded: Loaded, config: GetSessionConfig) -> int:
    """Number of the first event that `config` asks for."""
    first = 1
    if config.num_recent_events is not None:
        first = max(1, loaded.revision - config.num_recent_events + 1)
    if config.after_timestamp is not None:
        base = loaded.sid << SHIFT
        (pos,) = db.execute(
            "SELECT min(pos) FROM events WHERE pos BETWEEN ? AND ? AND timestamp >= ?",
            (base | first, base | loaded.revision, config.after_timestamp),
        ).fetchone()
        first = loaded.revision + 1 if pos is None else pos - base
    return first


def read_initial_state(db: sqlite3.Connection, key: Key) -> dict[str, Any]:
    """Return the state a session was created with.

    Raises:
      SessionNotFoundError: no such session.
    """
    row = db.execute(
        "SELECT initial FROM sessions WHERE app = ? AND user = ? AND id = ?", key
    ).fetchone()
    if row is None:
        raise session_not_found(key)
    return {} if row[0] is None else decode_value(row[0])


def delete_session(db: sqlite3.Connection, key: Key) -> None:
    """Delete a session with all its rows, and what ends with it."""
    for one in deleted_ids(key[2]):
        db.execute(
            "DELETE FROM sessions WHERE app = ? AND user = ? AND id = ?", (key[0], key[1], one)
        )
