"""Appends to PostgreSQL in one statement that commits by itself: it looks whether all is as this
process remembers it, and stores then, in one round trip in place of eight.

Where it is not so, or an append needs more than that, nothing is done, and DatabaseSessionService
appends by the transaction of `sql_appends.py`, which knows every rule and tells what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from ..adk_format.adk_events import event_data
from ..log.event_log import COMPACTION, REWIND, EventRecord
from ..store.durable_store import Claim, Fence, JournalRow, Place
from ..store.effect_ledger import EffectWriter, ledger_place, split_effects
from ..store.effect_row import now_ms
from ..store.session_cache import Entry
from ..store.stored_rows import Appended, Changes
from .sql_appends import Batch
from .sql_dialects import POSTGRES, micros_of
from .sql_engines import Single
from .sql_rows import Mark, SqlRows, changed_state, sid_of
from .sql_statements import fill_template

# The session's row is locked first, as everywhere. The rest sees rows as of that lock: an UPDATE of
# PostgreSQL compares again with a row that changed meanwhile.
_LOCKED = (
    "WITH locked AS (SELECT 1 FROM sessions s{shared} WHERE {session} "
    "AND s.update_time = :before{same} FOR UPDATE OF s)"
)
_SHARED = (
    " LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id "
    "LEFT JOIN app_states a ON a.app_name = s.app_name"
)
_SAME = (
    " AND COALESCE({json u.state}, '') = :user_state AND COALESCE({json a.state}, '') = :app_state"
)
_OWN = (
    ", own AS (UPDATE ostinato_sessions o SET {claimed}revision = :revision, last_micros = :last, "
    "update_micros = :update, updated = :updated, unindexed = 1 FROM locked WHERE o.sid = :sid "
    "AND o.revision = :seen AND o.update_micros = :noted AND {mine} RETURNING o.token)"
)
_CLAIMED = (
    "begun = {now}, owner = :owner, process = :process, token = o.token + 1, "
    "expires = {now} + :seconds, invocation_id = :invocation, digest = :digest, attempts = 1, "
    "stuck = '', cancelled = 0, "
)
_FREE = (
    "o.owner = '' AND o.stuck = '' AND o.invocation_id <> :invocation "
    "AND NOT EXISTS (SELECT 1 FROM ostinato_inbox i WHERE i.sid = o.sid)"
)
_FENCED = "o.owner IN ('', :owner) AND o.token = :token"
_TOUCHED = (
    ", touched AS (UPDATE sessions SET {state}update_time = :time FROM own WHERE {row}), "
    "stored AS (INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, "
    "event_data) SELECT CAST(:event AS varchar), :app, :user, :id, CAST(:turn AS varchar), "
    ":time_of, {as json data} FROM own)"
)
_STATE = "state = state || {as json state}, "
_NOTED = (
    ", noted AS (INSERT INTO ostinato_journal (sid, invocation_id, call_id, status, tool, result) "
    "SELECT :sid, r.* FROM own, unnest(CAST(:invocations AS text[]), CAST(:calls AS text[]), "
    "CAST(:statuses AS text[]), CAST(:tools AS text[]), CAST(:results AS text[])) AS r "
    "{write journal})"
)
_KEPT = (
    ", kept AS (INSERT INTO ostinato_effects (sid, n, finished, data) SELECT :sid, "
    "COALESCE(l.n, 0) + CAST(r.at AS integer), GREATEST(COALESCE(l.finished, 0), "
    "CAST(:effect_time AS bigint)), r.data FROM own CROSS JOIN unnest(CAST(:effects AS text[])) "
    "WITH ORDINALITY AS r(data, at) LEFT JOIN LATERAL (SELECT e.n, e.finished FROM "
    "ostinato_effects e WHERE e.sid = :sid ORDER BY e.n DESC LIMIT 1) l ON true)"
)
_RELEASE = (
    "WITH own AS (SELECT sid, invocation_id FROM ostinato_sessions WHERE {place} "
    "AND token = :token AND owner = :owner FOR UPDATE)"
)
_CLEARED = (
    ", cleared AS (DELETE FROM ostinato_journal j USING own WHERE j.sid = own.sid "
    "AND j.invocation_id = own.invocation_id)"
)
_GIVEN_BACK = (
    ", given AS (UPDATE ostinato_sessions o SET owner = '', cancelled = 0, expires = 0, "
    "invocation_id = '', begun = NULL FROM own WHERE o.sid = own.sid) SELECT count(*) FROM own"
)
_PARAMETER = re.compile(r"(?<!:):([a-z_]+)")


class PostgresAppends:
    """Statements that do all of an append, or of a release, at once.

    Args:
      rows: knows the texts of states that sessions share.
      effects: how the effects ledger is kept; None if it is not.
    """

    def __init__(self, rows: SqlRows, effects: EffectWriter | None = None) -> None:
        self._rows = rows
        self._effects = effects
        self._texts: dict[tuple[bool, ...], tuple[str, tuple[str, ...]]] = {}

    def build_append(
        self, batch: Batch, entry: Entry | None, standing: Callable[[], tuple[int, Set[str]]]
    ) -> Single[tuple[Appended, Fence | None]] | None:
        """Return the statement that appends a batch to a session in its cached state.

        Args:
          entry: what is remembered of the session.
          standing: as in `SqlAppends.append_batch`.

        Returns:
          None if one statement is not enough.
        """
        if entry is None or entry.mark is None or entry.seq != entry.own.revision:
            return None
        changes = _state_changes(batch)
        rows, effects = split_effects(batch.rows)
        if changes is None or not _is_plain(batch, rows, entry):
            return None
        if effects and not self._keeps_at_once(batch, len(effects)):
            return None
        if changes.own and standing()[0] < entry.seq:
            return None  # others may have written these keys later
        values: dict[str, Any] = dict(zip(("app", "user", "id"), batch.key, strict=True))
        shared = {} if batch.snapshot_token is None else self._shared_texts(batch, entry)
        if shared is None:
            return None
        values |= shared
        mark: Mark = entry.mark
        done = Appended(
            entry.sid, entry.seq + 1, entry.seq, [], entry.updated, entry.seq + 1, [], [], [], []
        )
        done.own, done.mark = changes.own, mark
        for record, _ in batch.events:
            self._add_event(done, record, mark, values)
        if changes.own:
            values["state"] = changed_state(None, changes.own)
        values |= _extent_values(entry, done)
        values |= _owner_values(batch.claim, batch.fence)
        if rows:
            values |= _journal_values(rows)
        if effects:
            values |= {"effects": [*effects], "effect_time": now_ms()}
        shape = (
            batch.snapshot_token is not None,
            batch.claim is not None,
            bool(batch.events),
            bool(changes.own),
            bool(rows),
            bool(effects),
        )
        sql, names = self._statement_for(shape)
        claim = batch.claim

        def answer(row: Any) -> tuple[Appended, Fence | None]:
            if effects and self._effects is not None:
                self._effects.count(len(effects))
            return done, None if claim is None else Fence(claim.owner, row[0])

        return Single(sql, [values[name] for name in names], answer)

    def _keeps_at_once(self, batch: Batch, count: int) -> bool:
        """Return whether effects are kept by the statement that appends, without another."""
        writer = self._effects
        if writer is None or writer.chained or writer.is_trim_due(count):
            return False
        return ledger_place(batch.key, batch.rows) is None

    def _add_event(
        self, done: Appended, record: EventRecord, mark: Mark, values: dict[str, Any]
    ) -> None:
        last = max(mark.last + 1, micros_of(record.timestamp))
        done.mark = Mark(last, max(last, mark.update + 1))
        done.revision += 1
        done.records.append(record)
        done.updated = record.timestamp
        values["event"], values["turn"] = record.id, record.invocation_id
        values["time_of"] = POSTGRES.stamp(last)
        values["time"] = POSTGRES.stamp(done.mark.update)
        values["data"] = event_data(record)

    def _shared_texts(self, batch: Batch, entry: Entry) -> dict[str, str] | None:
        """Return the shared states that the snapshot token stands for, or None if unknown."""
        (app, user, _), token = batch.key, batch.snapshot_token
        if token != (entry.sid, *entry.known, entry.mark):
            return None
        of_user = self._rows.shared_text((app, user), token[2])
        of_app = self._rows.shared_text((app, ""), token[3])
        if of_user is None or of_app is None:
            return None
        return {"user_state": of_user, "app_state": of_app}

    def _statement_for(self, shape: tuple[bool, ...]) -> tuple[str, tuple[str, ...]]:
        found = self._texts.get(shape)
        if found is None:
            with_shared, claims, has_event, has_state, has_rows, has_effects = shape
            text = _LOCKED.replace("{shared}", _SHARED if with_shared else "")
            text = text.replace("{same}", _SAME if with_shared else "")
            text += _OWN.replace("{claimed}", _CLAIMED if claims else "")
            text = text.replace("{mine}", _FREE if claims else _FENCED)
            if has_event:
                text += _TOUCHED.replace("{state}", _STATE if has_state else "")
            if has_rows:
                text += _NOTED
            if has_effects:
                text += _KEPT
            found = self._texts[shape] = number_parameters(f"{text} SELECT token FROM own")
        return found

    def build_release(self, place: Place, fence: Fence, keep_rows: bool) -> Single[None]:
        """Return the statement that releases a lease."""
        shape = (keep_rows,)
        found = self._texts.get(shape)
        if found is None:
            text = _RELEASE + ("" if keep_rows else _CLEARED) + _GIVEN_BACK
            found = self._texts[shape] = number_parameters(text)
        values = {**dict(zip(("app", "user", "id"), place, strict=True)), "token": fence.token}
        values["owner"] = fence.owner
        return Single(found[0], [values[name] for name in found[1]], lambda row: None)


def number_parameters(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement as asyncpg takes it, with the names of its parameters in their order."""
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return _PARAMETER.sub(number, fill_template(text, POSTGRES)), tuple(names)


def _state_changes(batch: Batch) -> Changes | None:
    """Return the state that a batch writes, or None if one statement cannot write it."""
    if len(batch.events) > 1:
        return None
    for record, changes in batch.events:
        if record.kinds & (COMPACTION | REWIND):
            return None
        if changes is not None:
            return None if changes.user or changes.app else changes
    return Changes()


def _is_plain(batch: Batch, rows: Sequence[JournalRow], entry: Entry) -> bool:
    """Return whether the owner or the claim can be checked without reading other rows."""
    if batch.sid not in (0, sid_of(entry.sid)):
        return False  # the run's session was deleted
    if batch.changes is not None or len({row.call_id for row in rows}) < len(rows):
        return False
    claim = batch.claim
    if claim is None:
        return batch.fence is not None
    if claim.over is not None or claim.jump or claim.within is not None:
        return False
    return claim.revision in (None, entry.seq)


def _extent_values(entry: Entry, done: Appended) -> Mapping[str, Any]:
    return {
        "sid": sid_of(entry.sid),
        "before": POSTGRES.stamp(entry.mark.update),
        "seen": entry.seq,
        "noted": entry.mark.update,
        "revision": done.revision,
        "last": done.mark.last,
        "update": done.mark.update,
        "updated": done.updated,
    }


def _owner_values(claim: Claim | None, fence: Fence | None) -> Mapping[str, Any]:
    if claim is not None:
        return {
            "owner": claim.owner,
            "process": claim.process,
            "seconds": claim.seconds,
            "invocation": claim.invocation_id,
            "digest": claim.digest,
        }
    assert fence is not None
    return {"owner": fence.owner, "token": fence.token}


def _journal_values(rows: Sequence[JournalRow]) -> Mapping[str, Any]:
    return {
        "invocations": [row.invocation_id for row in rows],
        "calls": [row.call_id for row in rows],
        "statuses": [row.status for row in rows],
        "tools": [row.tool for row in rows],
        "results": [row.result for row in rows],
    }
