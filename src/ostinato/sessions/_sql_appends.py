"""Appends to sessions in a SQL database: one transaction with as few statements as it takes.

The session's row is locked first, always, so that appends to one session follow one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _clock
from .._optional import need
from ..errors import StaleSessionError
from ._adk_events import event_data
from ._durable_store import Claim, Fence, InboxMessage, JournalRow, Lease, Place
from ._lease_rules import check_fence, clashes, grant
from ._sql_dialects import Dialect, micros, micros_of
from ._sql_rows import SqlRows, changed_state, identity, parameters
from ._stored_rows import STALE, Appended, Changes, Key, session_not_found
from .event_log import EventRecord

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection


class Batch(NamedTuple):
    """What one append brings.

    Attributes:
      key: the session.
      events: events, each with its state changes; one that is stored already is passed over.
      rows: rows of the journal.
      fence, claim: as in `DurableStore.append`.
    """

    key: Key
    events: Sequence[tuple[EventRecord, Changes | None]] = ()
    rows: Sequence[JournalRow] = ()
    fence: Fence | None = None
    claim: Claim | None = None


class _Locked(NamedTuple):
    """The row of a session that is locked; `sid` and what follows is None where it has none of
    ours.
    """

    update_time: Any
    state: str | None
    waiting: int | None
    sid: int
    generation: int
    revision: int
    last_micros: int
    update_micros: int
    updated: float
    owner: str
    process: str
    token: int
    left: float
    invocation_id: str
    digest: str
    attempts: int
    stuck: str


class SqlAppends:
    """Statements of appends in the words of one database.

    Args:
      dialect: the database.
      rows: the statements about sessions.
    """

    def __init__(self, dialect: Dialect, rows: SqlRows) -> None:
        text = need("sqlalchemy", extra="sql").text
        self._dialect = dialect
        self._rows = rows
        same = dialect.same
        of_session = " AND ".join(
            (same("s.app_name", "app"), same("s.user_id", "user"), same("s.id", "id"))
        )
        of_events = " AND ".join(
            (same("app_name", "app"), same("user_id", "user"), same("session_id", "id"))
        )
        first = "(SELECT min(i.pos) FROM ostinato_inbox i WHERE i.sid = o.sid)"
        self._lock = {
            (state, waiting): text(
                f"SELECT s.update_time, {dialect.json_of('s.state') if state else 'NULL'}, "
                f"{first if waiting else 'NULL'}, o.sid, o.generation, o.revision, o.last_micros, "
                "o.update_micros, o.updated, o.owner, o.process, o.token, "
                f"o.expires - {dialect.now}, o.invocation_id, o.digest, o.attempts, o.stuck "
                "FROM sessions s LEFT JOIN ostinato_sessions o ON o.app_name = s.app_name "
                "AND o.user_id = s.user_id AND o.session_id = s.id "
                f"WHERE {of_session} {dialect.lock}"
            )
            for state in (False, True)
            for waiting in (False, True)
        }
        self._extent = text(f"SELECT count(*), max(timestamp) FROM events WHERE {of_events}")
        self._before = text(f"SELECT count(*) FROM events WHERE {of_events} AND timestamp <= :last")
        self._adopt = text(
            "INSERT INTO ostinato_sessions (app_name, user_id, session_id, generation, revision, "
            "last_micros, update_micros, updated, tail, owner, process, token, expires, "
            "invocation_id, digest, attempts, stuck, cancelled) VALUES (:app, :user, :id, 0, "
            ":revision, :last, :update, :updated, 1, '', '', 0, 0, '', '', 0, '', 0)"
        )
        self._adopt_again = text(
            "UPDATE ostinato_sessions SET generation = :generation, revision = :revision, "
            "last_micros = :last, update_micros = :update, updated = :updated, tail = 1 "
            "WHERE sid = :sid"
        )
        self._stored = text(f"SELECT id FROM events WHERE {of_events} AND id = :event")
        self._insert = text(
            "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, "
            "event_data) VALUES (:event, :app, :user, :id, :invocation, :time, "
            f"{dialect.as_json('data')})"
        )
        where = f"WHERE {of_session.replace('s.', '')}"
        self._touch = text(f"UPDATE sessions SET update_time = :time {where}")
        self._touch_state = text(
            f"UPDATE sessions SET state = {dialect.as_json('state')}, update_time = :time {where}"
        )
        advance = (
            "revision = :revision, last_micros = :last, update_micros = :update, "
            "updated = :updated WHERE sid = :sid"
        )
        self._advance = text(f"UPDATE ostinato_sessions SET {advance}")
        # `begun` first: MySQL reads what it has just written.
        self._advance_claimed = text(
            "UPDATE ostinato_sessions SET begun = CASE WHEN invocation_id = :invocation AND "
            f"begun IS NOT NULL THEN begun ELSE {dialect.now} END, owner = :owner, "
            f"process = :process, token = :token, expires = {dialect.now} + :seconds, "
            "invocation_id = :invocation, digest = :digest, attempts = :attempts, stuck = '', "
            f"cancelled = 0, {advance}"
        )
        self._message = text(
            f"SELECT invocation_id, owner, process, payload, expires - {dialect.now} "
            "FROM ostinato_inbox WHERE pos = :pos"
        )
        self._take_message = text(
            "DELETE FROM ostinato_inbox WHERE sid = :sid AND invocation_id = :invocation"
        )
        self._journal = text(
            "INSERT INTO ostinato_journal (sid, invocation_id, call_id, status, tool, result) "
            "VALUES (:sid, :invocation, :call, :status, :tool, :result) "
            + dialect.upsert(
                "sid, invocation_id, call_id",
                "tool",
                "result",
                "status",  # last: MySQL reads what it has just written
                unless="new.status = 'started' AND ostinato_journal.status = 'finished'",
            )
        )

    async def append(
        self,
        db: AsyncConnection,
        batch: Batch,
        known: Callable[[int], int | None],
        standing: Callable[[], tuple[int, Set[str]]],
        *,
        repeated: bool,
    ) -> tuple[Appended, Fence | None]:
        """Insert events with the state they bring, and rows of the journal, if its rules allow it.

        Args:
          known: gives, for a session's number, the number of the newest event that the caller's
            log holds; None where it keeps no log of that session.
          standing: gives the number of the newest event that the appender has seen, and the ids
            of newer ones that are the appender's all the same.
          repeated: whether some of the events may be stored already.

        Returns:
          What was stored, and the fence that a claim gave.

        Raises:
          SessionNotFoundError, LeaseLostError, SessionBusyError, StaleSessionError: see
            `DurableStore.append`.
          sqlalchemy.exc.IntegrityError: an event is stored already and `repeated` is false.
        """
        names = {**parameters(batch.key), "now": _clock.now()}
        changes = _changes(batch)
        wants = (bool(changes.own), batch.claim is not None and not batch.claim.jump)
        locked = await self._locked(db, batch, wants, names)
        lease = await self._admit(db, batch, locked, standing, names)
        events = list(batch.events)
        if repeated:
            events = [each for each in events if not await self._is_stored(db, names, each[0].id)]
            events = list({record.id: (record, one) for record, one in reversed(events)}.values())
            events.reverse()
            changes = _changes(Batch(batch.key, events))
        done = await self._outcome(db, batch, locked, known, names)
        done.records = [record for record, _ in events]
        done.revision += len(events)
        done.own = changes.own
        last = await self._insert_events(db, done.records, locked.last_micros, names)
        update = locked.update_micros
        if events:
            done.updated = done.records[-1].timestamp
            update = max(last, update + 1)  # google-adk notices by it
            time = {**names, "time": self._dialect.stamp(update)}
            if changes.own:
                time["state"] = changed_state(locked.state, changes.own)
                await db.execute(self._touch_state, time)
            else:
                await db.execute(self._touch, time)
        advanced = {
            "sid": locked.sid,
            "revision": done.revision,
            "last": last,
            "update": update,
            "updated": done.updated,
        }
        if lease is not None:
            await self._grant(
                db, lease, {**names, **advanced}, locked.waiting is not None or not wants[1]
            )
        elif events:
            await db.execute(self._advance, advanced)
        await self._rows.write_shared(db, batch.key, changes, update)
        await self.write_journal(db, locked.sid, batch.rows)
        return done, None if lease is None else Fence(lease.owner, lease.token)

    async def lock(self, db: AsyncConnection, place: Place) -> int:
        """Lock a session's row; return the number of the session.

        Raises:
          SessionNotFoundError: no such session.
        """
        names = {**parameters(place), "now": _clock.now()}
        return (await self._locked(db, Batch(place), (False, False), names)).sid

    async def _locked(
        self,
        db: AsyncConnection,
        batch: Batch,
        wants: tuple[bool, bool],
        names: Mapping[str, Any],
    ) -> _Locked:
        """Lock the session's row, and number what google-adk has appended meanwhile."""
        row = (await db.execute(self._lock[wants], names)).one_or_none()
        if row is None:
            raise session_not_found(batch.key)
        locked = _Locked(*row)
        update = micros(locked.update_time)
        if row[3] is not None and update == locked.update_micros:
            return locked
        count, newest = (await db.execute(self._extent, names)).one()
        noted = {
            **names,
            "revision": count,
            "last": 0 if newest is None else micros(newest),
            "update": update,
            "updated": update / 1e6,
        }
        if row[3] is None:
            await db.execute(self._adopt, noted)
        else:
            last = self._dialect.stamp(locked.last_micros)
            before: int = (await db.execute(self._before, {**names, "last": last})).scalar_one()
            moved = before != locked.revision
            noted |= {"sid": locked.sid, "generation": locked.generation + moved}
            await db.execute(self._adopt_again, noted)
        return _Locked(*(await db.execute(self._lock[wants], names)).one())

    async def _admit(
        self,
        db: AsyncConnection,
        batch: Batch,
        locked: _Locked,
        standing: Callable[[], tuple[int, Set[str]]],
        names: Mapping[str, Any],
    ) -> Lease | None:
        """Refuse an append that its rules forbid; return the lease that a claim gets."""
        place = Place(*batch.key)
        if batch.claim is not None:
            first = None
            if locked.waiting is not None:
                row = (await db.execute(self._message, {**names, "pos": locked.waiting})).one()
                first = InboxMessage(*row)
            held = Lease(
                place,
                locked.owner,
                locked.process,
                locked.token,
                locked.left,
                locked.invocation_id,
                locked.digest,
                locked.attempts,
                locked.stuck,
            )
            stored = held if locked.token else None
            return grant(place, stored, first, batch.claim, locked.revision)
        if batch.fence is not None:
            check_fence(batch.fence, locked.owner if locked.token else None, locked.token)
            return None
        if any(changes is not None and changes.own for _, changes in batch.events):
            await self._check_outside(db, batch, locked, standing(), names)
        return None

    async def _check_outside(
        self,
        db: AsyncConnection,
        batch: Batch,
        locked: _Locked,
        standing: tuple[int, Set[str]],
        names: Mapping[str, Any],
    ) -> None:
        """Refuse an append from outside that would overwrite a value nobody there has seen."""
        seen, own = standing
        if seen >= locked.revision:
            return
        newer = await self._rows.newest(db, names, locked.last_micros, locked.revision - seen)
        for record in clashes((record for record, _ in batch.events), newer, own):
            if not await self._is_stored(db, names, record.id):
                raise StaleSessionError(STALE)

    async def _is_stored(
        self, db: AsyncConnection, names: Mapping[str, Any], event_id: str
    ) -> bool:
        found = await db.execute(self._stored, {**names, "event": event_id})
        return found.first() is not None

    async def _outcome(
        self,
        db: AsyncConnection,
        batch: Batch,
        locked: _Locked,
        known: Callable[[int], int | None],
        names: Mapping[str, Any],
    ) -> Appended:
        """Return what the append starts from, with the events that the caller's log lacks."""
        number = identity(locked.sid, locked.generation)
        seen = known(number)
        done = Appended(
            number,
            locked.revision + 1,
            locked.revision,
            [],
            locked.updated,
            (seen or 0) + 1,
            [],
            [],
            [],
            [],
        )
        if seen is not None and seen < locked.revision:
            done.missing = await self._rows.newest(
                db, names, locked.last_micros, locked.revision - seen
            )
        return done

    async def _insert_events(
        self, db: AsyncConnection, records: Sequence[Any], last: int, names: Mapping[str, Any]
    ) -> int:
        """Insert events; return the time of the newest row.

        Rows are read in the order of their times, by google-adk too, so each gets one of its own:
        behind the one before even where its event happened earlier. The JSON has the event's.
        """
        values: list[dict[str, Any]] = []
        for record in records:
            last = max(last + 1, micros_of(record.timestamp))
            values.append(
                {
                    **names,
                    "event": record.id,
                    "invocation": record.invocation_id,
                    "time": self._dialect.stamp(last),
                    "data": event_data(record),
                }
            )
        if values:
            await db.execute(self._insert, values)
        return last

    async def _grant(
        self, db: AsyncConnection, lease: Lease, values: Mapping[str, Any], look: bool
    ) -> None:
        granted = {
            **values,
            "owner": lease.owner,
            "process": lease.process,
            "token": lease.token,
            "seconds": lease.left,
            "invocation": lease.invocation_id,
            "digest": lease.digest,
            "attempts": lease.attempts,
        }
        await db.execute(self._advance_claimed, granted)
        if look:
            await db.execute(self._take_message, granted)

    async def write_journal(
        self, db: AsyncConnection, sid: int, rows: Sequence[JournalRow]
    ) -> None:
        """Write rows of the journal; a `started` one never replaces a `finished` one."""
        if rows:
            await db.execute(
                self._journal,
                [
                    {
                        "sid": sid,
                        "invocation": row.invocation_id,
                        "call": row.call_id,
                        "status": row.status,
                        "tool": row.tool,
                        "result": row.result,
                    }
                    for row in rows
                ],
            )


def _changes(batch: Batch) -> Changes:
    changes = Changes()
    for _, one in batch.events:
        if one is not None:
            changes.own += one.own
            changes.user += one.user
            changes.app += one.app
    return changes
