"""Appends to sessions in a SQL database: one transaction with as few statements as it takes.

The session's row is locked first, always, so that appends to one session follow one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import _clock
from ...errors import InputValidationError, SessionNotFoundError, StaleSessionError
from ..adk_format.adk_events import event_data
from ..log.event_log import EventRecord
from ..store.durable_store import (
    CallChanges,
    Claim,
    Fence,
    InboxMessage,
    JournalRow,
    Lease,
    Place,
)
from ..store.effect_ledger import EffectWriter, ledger_place, split_effects
from ..store.keyed_requests import (
    RequestDigests,
    check_waiting,
    digests_of_payload,
    digests_of_record,
)
from ..store.lease_rules import check_fence, find_clashes, find_skipped_invocation, grant_lease
from ..store.stored_rows import STALE, Appended, Changes, Key, session_not_found
from .sql_dialects import Dialect, micros, micros_of
from .sql_effects import SqlEffects
from .sql_engines import Single
from .sql_requests import SqlRequests
from .sql_rows import Mark, SqlRows, cache_number, changed_state, parameters, read_record
from .sql_statements import APPENDS, compile_statements, fetch_one
from .sql_tails import SqlTails

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_LARGE = 2**18  # characters; fewer fit into a packet of 1 MB, the least that servers are set to
_BESIDE = 4096  # bytes that go with a text to the server


class Batch(NamedTuple):
    """What one append brings.

    Attributes:
      key: the session.
      events: events, each with its state changes; one that is already stored is skipped.
      rows: rows of the journal.
      fence, claim: as in `DurableStore.append`.
      snapshot_token: what the appender takes for stored without a query, or None.
      changes: what the append changes of the calls that wait for an answer; None for nothing.
      check_order: refuses events that would overwrite later writes of others, see `check_order`.
      sid: number of the session that a run writes to; 0 for any with the key.
    """

    key: Key
    events: Sequence[tuple[EventRecord, Changes | None]] = ()
    rows: Sequence[JournalRow] = ()
    fence: Fence | None = None
    claim: Claim | None = None
    snapshot_token: Any = None
    changes: CallChanges | None = None
    check_order: Callable[[Sequence[EventRecord]], None] | None = None
    sid: int = 0


class _Locked(NamedTuple):
    """The locked row of a session; from `sid` on, all is None if Ostinato has no row of it."""

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
    """Statements of appends in the SQL of one database.

    Args:
      dialect: the database.
      rows: the statements about sessions.
      effects: how the effects ledger is kept; None if it is not.

    Attributes:
      effects: the statements about the effects ledger.
      requests: the statements about calls that wait for an answer.
    """

    def __init__(
        self, dialect: Dialect, rows: SqlRows, effects: EffectWriter | None = None
    ) -> None:
        self.effects = SqlEffects(dialect, effects)
        self.requests = SqlRequests(dialect)
        self._dialect = dialect
        self._rows = rows
        self._tails = SqlTails(dialect, rows)
        self._sql = compile_statements(APPENDS, dialect)

    async def append_batch(
        self,
        db: AsyncConnection,
        batch: Batch,
        known: Callable[[int], int | None],
        standing: Callable[[], tuple[int, Set[str]]],
        *,
        repeated: bool,
        tried: Single[tuple[Appended, Fence | None]] | None = None,
    ) -> tuple[Appended, Fence | None]:
        """Insert events with the state they bring, and rows of the journal, if its rules allow it.

        Args:
          known: gives, for a session's number, the number of the newest event that the caller's
            log holds; None if its caller keeps no log of that session.
          standing: gives the number of the newest event that the appender has seen, and the ids
            of newer ones that the appender wrote itself.
          repeated: whether some of the events may be stored already.
          tried: a statement that was to do the same and gave no answer.

        Returns:
          What was stored, and the fence that a claim gave.

        Raises:
          SessionNotFoundError, LeaseLostError, SessionBusyError, StaleSessionError,
          CallAlreadyAnsweredError, OverwrittenError: see `DurableStore.append` and `check_order`.
          sqlalchemy.exc.IntegrityError: an event is stored already and `repeated` is false.
        """
        home = await self._lock_outer(db, batch)
        changes = _merge_changes(batch)
        names = _lookup_values(batch.key, bool(changes.own), batch.claim is not None)
        locked = await self._lock_row(db, batch.key, names)
        if answer := await self._find_lost_answer(db, tried, batch.claim, locked, names):
            return answer
        lease = await self._check_rules(db, batch, locked, standing, names)
        if repeated:
            batch = batch._replace(events=await self._new_events(db, batch, names))
            changes = _merge_changes(batch)
        done = await self._start_outcome(db, locked, known, names)
        done.records = [record for record, _ in batch.events]
        done.revision += len(done.records)
        done.own = changes.own
        advanced = _row_values(locked, done)
        if done.records:
            advanced["last"] = await self._insert_events(db, done.records, locked, names)
            advanced["updated"] = done.updated = done.records[-1].timestamp
            advanced["update"] = max(advanced["last"], locked.update_micros + 1)
            await self._update_session(db, locked, changes, advanced["update"], names)
        done.mark = Mark(advanced["last"], advanced["update"])
        if lease is not None:
            await self._store_lease(db, lease, {**names, **advanced})
            if batch.claim is not None and locked.waiting is not None:
                await self._take_message(db, batch.claim, advanced)
        elif done.records:
            await db.execute(self._sql["advance"], advanced)
        await self._tails.move_tail(db, locked.sid, done, advanced["last"], names)
        await self._rows.write_shared(db, batch.key, changes, advanced["update"])
        await self._write_rows(db, locked, batch, home, repeated or tried is not None)
        return done, None if lease is None else Fence(lease.owner, lease.token)

    async def _find_lost_answer(
        self,
        db: AsyncConnection,
        tried: Single[tuple[Appended, Fence | None]] | None,
        claim: Claim | None,
        locked: _Locked,
        names: Mapping[str, Any],
    ) -> tuple[Appended, Fence | None] | None:
        """Return the answer of a statement that stored its event, though the answer was lost.

        The mark alone does not tell: the event of another process in its place has the same one if
        both are older than the event before.
        """
        if tried is None:
            return None
        answer = tried.answer((locked.token,))
        records = answer[0].records
        if not records or answer[0].mark != _mark_of(locked):
            return None
        if claim is not None and claim.owner != locked.owner:
            return None  # another owner has taken the session over
        newest = await self._rows.read_newest(db, names, locked.last_micros, 1)
        return answer if [record.id for record in newest] == [records[-1].id] else None

    async def _new_events(
        self, db: AsyncConnection, batch: Batch, names: Mapping[str, Any]
    ) -> list[tuple[EventRecord, Changes | None]]:
        """Return the events of a batch that are not stored, each once."""
        fresh: dict[str, tuple[EventRecord, Changes | None]] = {}
        for record, changes in batch.events:
            if record.id not in fresh and not await self._is_stored(db, names, record.id):
                fresh[record.id] = (record, changes)
        return list(fresh.values())

    async def _update_session(
        self,
        db: AsyncConnection,
        locked: _Locked,
        changes: Changes,
        update: int,
        names: Mapping[str, Any],
    ) -> None:
        """Write the session's state and its time, by which google-adk notices."""
        values = {**names, "time": self._dialect.stamp(update)}
        if changes.own:
            values["state"] = changed_state(locked.state, changes.own)
            await self._check_size(db, values["state"])
        await db.execute(self._sql["touch state" if changes.own else "touch"], values)

    async def lock_session(self, db: AsyncConnection, place: Place) -> tuple[int, int]:
        """Lock a session's row; return the number and the revision of the session.

        Raises:
          SessionNotFoundError: no such session.
        """
        locked = await self._lock_row(db, place, _lookup_values(place, False, False))
        return locked.sid, locked.revision

    async def _lock_row(self, db: AsyncConnection, key: Key, names: Mapping[str, Any]) -> _Locked:
        """Lock the session's row, and number what google-adk has appended meanwhile."""
        if self._dialect.locks_first:
            await db.execute(self._sql["hold"], names)
        row = await fetch_one(db, self._sql["lock"], names)
        if row is None:
            raise session_not_found(key)
        locked = _Locked(*row)
        update = micros(locked.update_time)
        if row[3] is not None and update == locked.update_micros:
            return locked
        count, newest = await fetch_one(db, self._sql["extent"], names)
        noted = {
            **names,
            "revision": count,
            "last": 0 if newest is None else micros(newest),
            "update": update,
            "updated": update / 1e6,
        }
        if row[3] is None:
            await db.execute(self._sql["adopt"], noted)
        else:
            last = self._dialect.stamp(locked.last_micros)
            before: int = (
                await db.execute(self._sql["before"], {**names, "last": last})
            ).scalar_one()
            moved = before != locked.revision
            noted |= {"sid": locked.sid, "generation": locked.generation + moved}
            await db.execute(self._sql["adopt again"], noted)
        return _Locked(*await fetch_one(db, self._sql["lock"], names))

    async def _check_basis(self, db: AsyncConnection, batch: Batch, locked: _Locked) -> None:
        """Refuse an append upon a session that is remembered otherwise than it is stored."""
        stored = (
            cache_number(locked.sid, locked.generation),
            locked.revision,
            *await self._rows.shared_revisions(db, batch.key),
            _mark_of(locked),
        )
        if batch.snapshot_token != stored:
            raise StaleSessionError(STALE)

    async def _check_rules(
        self,
        db: AsyncConnection,
        batch: Batch,
        locked: _Locked,
        standing: Callable[[], tuple[int, Set[str]]],
        names: Mapping[str, Any],
    ) -> Lease | None:
        """Refuse an append that its rules forbid; return the lease that a claim gets."""
        place, lease = Place(*batch.key), None
        if batch.snapshot_token is not None:
            await self._check_basis(db, batch, locked)
        if batch.claim is not None:
            first = None
            if locked.waiting is not None:
                # It may have been withdrawn since, for which no transaction locks the session.
                row = await fetch_one(db, self._sql["message"], {**names, "sid": locked.sid})
                first = None if row is None else InboxMessage(*row)
                await self._check_waiting(db, locked.sid, batch.claim, first)
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
            lease = grant_lease(place, stored, first, batch.claim, locked.revision)
            passed = find_skipped_invocation(stored, batch.claim)
            if passed:
                clearing = {"sid": locked.sid, "invocation": passed}
                await db.execute(self._sql["clear"], clearing)
        elif batch.fence is not None:
            check_fence(batch.fence, locked.owner if locked.token else None, locked.token)
        if batch.sid not in (0, locked.sid):
            raise session_not_found(place)  # the run's was deleted, and this is a new one
        await self._check_outside(db, batch, locked, standing, names)
        return lease

    async def _check_waiting(
        self, db: AsyncConnection, sid: int, claim: Claim, first: InboxMessage | None
    ) -> None:
        """Refuse a claim that would take another request out of the inbox than its own."""
        if claim.request is None or claim.message is None:
            return
        if first is not None and first.invocation_id == claim.message:
            payload: str | None = first.payload
        else:
            payload = await self._read_payload(db, sid, claim.message)
        if payload is not None:
            check_waiting(claim.message, payload, claim.request)

    async def find_digests(
        self, db: AsyncConnection, sid: int, place: Place, invocation_id: str
    ) -> RequestDigests | None:
        """Return the digests of the request that waits or has begun under a key, or None.

        Args:
          sid: number of the session, whose row is locked.
        """
        payload = await self._read_payload(db, sid, invocation_id)
        if payload is not None:
            return digests_of_payload(invocation_id, payload)
        names = {**parameters(place), "message": invocation_id}
        row = await fetch_one(db, self._sql["begun"], names)
        return None if row is None else digests_of_record(read_record(row))

    async def _read_payload(self, db: AsyncConnection, sid: int, message_id: str) -> str | None:
        row = await fetch_one(db, self._sql["payload"], {"sid": sid, "message": message_id})
        return None if row is None else row[0]

    async def _lock_outer(self, db: AsyncConnection, batch: Batch) -> tuple[int, Place] | None:
        """Lock the sessions that a hidden one belongs to, always before that one's own row.

        Returns:
          The session whose ledger keeps the effects, with its number; None if it is the own one.
        """
        home, found = ledger_place(batch.key, batch.rows), None
        if home is not None and self.effects.writer is not None:
            with suppress(SessionNotFoundError):  # deleted meanwhile
                found = (await self.lock_session(db, home))[0], home
        if batch.claim is not None and batch.claim.within is not None:
            await self._check_within(db, *batch.claim.within)
        return found

    async def _check_within(self, db: AsyncConnection, place: Place, fence: Fence) -> None:
        """Reject a claim on behalf of an owner that has lost the session it works for."""
        outer = await self._lock_row(db, place, _lookup_values(place, False, False))
        check_fence(fence, outer.owner if outer.token else None, outer.token)

    async def _check_outside(
        self,
        db: AsyncConnection,
        batch: Batch,
        locked: _Locked,
        standing: Callable[[], tuple[int, Set[str]]],
        names: Mapping[str, Any],
    ) -> None:
        """Reject an append that would overwrite a value unseen by its caller.

        A run's append may overwrite values that are older than its own.
        """
        is_run = batch.fence is not None or batch.claim is not None
        if not any(changes is not None and (is_run or changes.own) for _, changes in batch.events):
            return
        seen, own = standing()
        if seen >= locked.revision:
            return
        newer = await self._rows.read_newest(db, names, locked.last_micros, locked.revision - seen)
        if is_run:
            if batch.check_order is not None:
                batch.check_order(newer)
            return
        for record in find_clashes((record for record, _ in batch.events), newer, own):
            if not await self._is_stored(db, names, record.id):
                raise StaleSessionError(STALE)

    async def _is_stored(
        self, db: AsyncConnection, names: Mapping[str, Any], event_id: str
    ) -> bool:
        found = await db.execute(self._sql["stored"], {**names, "event": event_id})
        return found.first() is not None

    async def _start_outcome(
        self,
        db: AsyncConnection,
        locked: _Locked,
        known: Callable[[int], int | None],
        names: Mapping[str, Any],
    ) -> Appended:
        """Return what the append starts from, with the events that the caller's log lacks."""
        number = cache_number(locked.sid, locked.generation)
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
            done.missing = await self._rows.read_newest(
                db, names, locked.last_micros, locked.revision - seen
            )
        return done

    async def _insert_events(
        self, db: AsyncConnection, records: Sequence[EventRecord], locked: _Locked, names: Any
    ) -> int:
        """Insert events; return the time of the newest row.

        Rows are read in the order of their times, by google-adk too, so each gets one of its own:
        behind the one before even where its event happened earlier. The JSON has the event's.
        """
        values: list[dict[str, Any]] = []
        last = locked.last_micros
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
        await self._check_size(db, *(each["data"] for each in values))
        await db.execute(self._sql["insert"], values)
        return last

    async def _check_size(self, db: AsyncConnection, *texts: str) -> None:
        """Refuse what MySQL would answer by closing the connection.

        Raises:
          InputValidationError: a text is too large.
        """
        largest = max(texts, key=len)
        if self._dialect.name != "mysql" or len(largest) < _LARGE:
            return
        limit: int = (await fetch_one(db, self._sql["largest"], {}))[0]
        size = len(largest.encode()) + sum(map(largest.count, "\"\\'")) + _BESIDE
        if size > limit:
            raise InputValidationError(
                f"An event or a state of {size} bytes is larger than the server's "
                f"max_allowed_packet of {limit}; store its parts as artifacts."
            )

    async def _store_lease(
        self, db: AsyncConnection, lease: Lease, values: Mapping[str, Any]
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
        await db.execute(self._sql["advance claimed"], granted)

    async def _take_message(
        self, db: AsyncConnection, claim: Claim, values: Mapping[str, Any]
    ) -> None:
        if not claim.keep_message:
            await db.execute(
                self._sql["take message"], {"sid": values["sid"], "invocation": claim.message}
            )

    async def _write_rows(
        self,
        db: AsyncConnection,
        locked: _Locked,
        batch: Batch,
        home: tuple[int, Place] | None,
        repeated: bool,
    ) -> None:
        """Write rows of the journal, and those of calls that wait for an answer.

        A `started` row of the journal never replaces a `finished` one.

        Args:
          home: another session whose ledger keeps the effects, or None.
        """
        sid = locked.sid
        if batch.changes is not None:
            before = locked.revision if batch.fence is None and batch.claim is None else None
            await self.requests.apply_changes(db, sid, Place(*batch.key), batch.changes, before)
        rows, effects = split_effects(batch.rows)
        if effects:
            home = home or (sid, Place(*batch.key))
            await self.effects.write_effects(db, *home, effects, repeated)
        if rows:
            await db.execute(
                self._sql["journal"],
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


def _row_values(locked: _Locked, done: Appended) -> dict[str, Any]:
    """Return what the session's row notes; it changes only if events are inserted."""
    return {
        "sid": locked.sid,
        "revision": done.revision,
        "last": locked.last_micros,
        "update": locked.update_micros,
        "updated": locked.updated,
    }


def _mark_of(locked: _Locked) -> Mark:
    return Mark(locked.last_micros, locked.update_micros)


def _merge_changes(batch: Batch) -> Changes:
    changes = Changes()
    for _, one in batch.events:
        if one is not None:
            changes.own += one.own
            changes.user += one.user
            changes.app += one.app
    return changes


def _lookup_values(key: Key, with_state: bool, with_inbox: bool) -> dict[str, Any]:
    return {
        **parameters(key),
        "now": _clock.now(),
        "with_state": int(with_state),
        "with_inbox": int(with_inbox),
    }
