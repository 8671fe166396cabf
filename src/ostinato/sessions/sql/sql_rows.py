"""The rows of sessions in a SQL database: statements that create, load, list and delete them.

Called inside transactions of `sql_engines.py`. Appends are in `sql_appends.py`.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..._optional import need
from ...errors import AlreadyExistsError, StoreError
from ..adk_format.adk_events import record_of
from ..base_session_service import GetSessionConfig, deleted_ids
from ..log.event_log import STATE_DELTA, EventRecord
from ..state import SCOPED_PREFIXES
from ..store.session_cache import Entry
from ..store.stored_rows import (
    Changes,
    Key,
    Loaded,
    StateRow,
    decode_value,
    encode_value,
    session_not_found,
)
from .sql_dialects import Dialect, micros, micros_of
from .sql_statements import (
    APP_STATE,
    SESSIONS,
    USER_STATE,
    compile_statements,
    fetch_all,
    fetch_one,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_SCOPES = 10_000  # shared states that are remembered as text


class _Head(NamedTuple):
    """What one query reads of a session; all from `sid` on is None if Ostinato has no row of it,
    and `own` if the caller knows it already.
    """

    update_time: Any
    sid: int | None
    generation: int
    revision: int
    last_micros: int
    update_micros: int
    updated: float
    tail: int
    summaries: str
    own: str | None
    user: str | None
    app: str | None


class Mark(NamedTuple):
    """What is noted of a session's row, in microseconds since 1970.

    Attributes:
      last: time of the newest event's row.
      update: the session's update_time; another one with each change.
    """

    last: int
    update: int


def cache_number(sid: int, generation: int) -> int:
    """Return the number under which a session is cached: another one where events moved."""
    return sid << 16 | generation & 0xFFFF


def sid_of(number: int) -> int:
    """Return the number of the session that is cached under a number."""
    return number >> 16


def state_rows(text: str | None) -> list[StateRow]:
    """Return the rows of a state that is stored as one JSON object."""
    return [(k, encode_value(k, v)) for k, v in _read_object(text).items()]


def _read_object(text: str | None) -> dict[str, Any]:
    try:
        state: Any = json.loads(text or "{}")
    except ValueError as error:
        raise StoreError(
            "A stored state is damaged and cannot be read as JSON; restore a backup."
        ) from error
    return cast(dict[str, Any], state) if isinstance(state, dict) else {}


def changed_state(text: str | None, rows: Sequence[StateRow]) -> str:
    """Return the JSON object with rows written on top; a removed key is null, as for google-adk."""
    state = _read_object(text)
    state.update((k, None if v is None else decode_value(v)) for k, v in rows)
    return json.dumps(state, ensure_ascii=False, separators=(",", ":"))


def began_with(state: dict[str, Any], records: Sequence[EventRecord]) -> dict[str, Any]:
    """Return the part of a session's own state that no event has written."""
    written: set[str] = set()
    for record in records:
        if record.kinds & STATE_DELTA:
            written.update(record.event().actions.state_delta)
    return {
        k: v
        for k, v in state.items()
        if k not in written and v is not None and not k.startswith(SCOPED_PREFIXES)
    }


class SqlRows:
    """Statements about sessions in the SQL of one database.

    Args:
      dialect: the database.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._shared = _Shared()
        self._sql = compile_statements(SESSIONS, dialect)
        self._write_user = compile_statements(USER_STATE, dialect)
        self._write_app = compile_statements(APP_STATE, dialect)
        self._duplicate: type[Exception] = need("sqlalchemy.exc", extra="sql").IntegrityError

    async def create_session(
        self, db: AsyncConnection, key: Key, changes: Changes, now: float
    ) -> Loaded:
        """Insert a session.

        Raises:
          AlreadyExistsError: there is one with this id.
        """
        stamp = micros_of(now)
        initial = changed_state(None, [row for row in changes.own if row[1] is not None])
        await self.insert_session(db, key, changed_state(None, changes.own), initial, now)
        await self.write_shared(db, key, changes, stamp)
        await self.complete_shared(db, key, stamp)
        loaded = await self.load_session(db, key, None, None)
        assert loaded is not None
        return loaded

    async def insert_session(
        self,
        db: AsyncConnection,
        key: Key,
        state: str,
        initial: str,
        now: float,
        *,
        revision: int = 0,
        last: int = 0,
    ) -> None:
        """Insert the rows of a session.

        Args:
          state, initial: its own state, and that at creation, as JSON text.
          now: seconds since 1970.
          revision: how many events it is about to have.
          last: time of the newest one's row, microseconds since 1970.

        Raises:
          AlreadyExistsError: there is one with this id.
        """
        stamp, names = micros_of(now), parameters(key)
        try:
            await db.execute(
                self._sql["create"], {**names, "state": state, "time": self._dialect.stamp(stamp)}
            )
        except self._duplicate as error:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.") from error
        noted = {"revision": revision, "last": last, "update": stamp, "updated": now}
        await db.execute(self._sql["create ours"], {**names, **noted, "initial": initial})

    async def read_all(self, db: AsyncConnection, key: Key) -> list[EventRecord]:
        """Read all events of a session, oldest first."""
        return _read_records(await fetch_all(db, self._sql["all"], parameters(key)))

    async def complete_shared(self, db: AsyncConnection, key: Key, stamp: int) -> None:
        """Make the rows that google-adk expects a session's user and app to have."""
        names = {**parameters(key), "time": self._dialect.stamp(stamp)}
        for which, sql in (("user state", self._write_user), ("app state", self._write_app)):
            if await fetch_one(db, self._sql[which], names) is None:
                await db.execute(sql["insert"], names)

    async def write_shared(
        self, db: AsyncConnection, key: Key, changes: Changes, stamp: int
    ) -> None:
        """Write state of the user, then of the app: always in this order, so that two appends
        never wait for each other.
        """
        names = {"app": key[0], "user": key[1], "time": self._dialect.stamp(stamp)}
        for sql, rows in ((self._write_user, changes.user), (self._write_app, changes.app)):
            if not rows:
                continue
            row = await fetch_one(db, sql["read"], names)
            if row is None:
                await db.execute(sql["insert"], names)
                row = await fetch_one(db, sql["read"], names)
            await db.execute(sql["update"], {**names, "state": changed_state(row[0], rows)})
            self._shared.forget((key[0], key[1] if rows is changes.user else ""))

    async def load_session(
        self,
        db: AsyncConnection,
        key: Key,
        entry: Entry | None,
        config: GetSessionConfig | None,
        complete: bool = True,
    ) -> Loaded | None:
        """Read what the caller does not know of a session, or return None if it does not exist.

        What is known is of no use where it lacks events that are asked for; then all of those are
        read.

        Args:
          entry: what the caller knows of it.
          config: which events to read; for a caller that knows nothing.
          complete: all events; otherwise the summaries in force and the tail will do.

        Returns:
          What was read; its `sid` is 0 if google-adk has changed the session since Ostinato did.
        """
        names = parameters(key)
        knows = {"sid": 0, "revision": -1}
        if entry is not None:
            knows = {"sid": sid_of(entry.sid), "revision": entry.own.revision}
        row = await fetch_one(db, self._sql["head"], {**names, **knows})
        if row is None:
            return None
        head = _Head(*row)
        if head.sid is None or micros(head.update_time) != head.update_micros:
            return await self._load_changed(db, key, head, config)
        loaded = Loaded(cache_number(head.sid, head.generation), head.updated, head.revision, 0, 0)
        loaded.mark = Mark(head.last_micros, head.update_micros)
        if entry is not None and entry.sid != loaded.sid:
            return await self.load_session(db, key, None, config, complete)
        tail = 1 if complete else head.tail
        if config is not None:
            await self._read_part(db, names, head, loaded, config)
        elif entry is None or not entry.seq or entry.tail > tail:
            await self._read_from(db, names, head, loaded, tail)
        else:
            await self._read_from(db, names, head, loaded, entry.seq + 1)
            if entry.contradicts(loaded.first, loaded.records):
                # Events were deleted from outside: counted from the newest, these reach too far.
                return await self.load_session(db, key, None, config, complete)
        if entry is None or entry.own.revision < head.revision:
            loaded.own = state_rows(head.own)
        self._read_shared(key, head, loaded, entry)
        return loaded

    async def _read_from(
        self, db: AsyncConnection, names: Mapping[str, Any], head: _Head, loaded: Loaded, first: int
    ) -> None:
        """Read events from a number on; with the summaries, where it is that of the tail."""
        loaded.first = first
        if first == head.tail > 1:
            loaded.summaries = await self.read_some(db, names, json.loads(head.summaries))
        if first <= head.revision:
            count = head.revision - first + 1
            loaded.records = await self.read_newest(db, names, head.last_micros, count)

    async def _read_part(
        self,
        db: AsyncConnection,
        names: Mapping[str, Any],
        head: _Head,
        loaded: Loaded,
        config: GetSessionConfig,
    ) -> None:
        """Read the events that are asked for."""
        count = head.revision
        if config.num_recent_events is not None:
            count = min(count, config.num_recent_events)
        if count:
            loaded.records = await self.read_newest(
                db, names, head.last_micros, count, config.after_timestamp
            )
        loaded.first = head.revision - len(loaded.records) + 1

    async def read_some(
        self, db: AsyncConnection, names: Mapping[str, Any], ids: Sequence[str]
    ) -> list[EventRecord]:
        """Read the events with these ids, oldest first."""
        if not ids:
            return []
        return _read_records(await fetch_all(db, self._sql["some"], {**names, "ids": ids}))

    async def read_newest(
        self,
        db: AsyncConnection,
        names: Mapping[str, Any],
        last: int,
        count: int,
        since: float | None = None,
    ) -> list[EventRecord]:
        """Read the newest events up to a row's time, oldest first.

        Args:
          last: time of the newest row, microseconds since 1970.
          count: how many at most.
          since: only what happened then or later, seconds since 1970.
        """
        values = {**names, "last": self._dialect.stamp(last), "count": count}
        if since is None:
            rows = await fetch_all(db, self._sql["newest"], values)
            return _read_records(reversed(rows))
        values["since"] = self._dialect.stamp(micros_of(since))
        rows = await fetch_all(db, self._sql["newest since"], values)
        records = _read_records(reversed(rows))
        return list(itertools.dropwhile(lambda record: record.timestamp < since, records))

    async def _load_changed(
        self, db: AsyncConnection, key: Key, head: _Head, config: GetSessionConfig | None
    ) -> Loaded:
        """Read a session that google-adk changed after Ostinato, or created."""
        if head.own is None:
            changed = await self.load_session(db, key, None, config)
            assert changed is not None
            return changed
        records = await self.read_all(db, key)
        count = len(records)
        first = 0
        if config is not None and config.num_recent_events is not None:
            first = max(0, count - config.num_recent_events)
        if config is not None and config.after_timestamp is not None:
            while first < count and records[first].timestamp < config.after_timestamp:
                first += 1
        loaded = Loaded(0, micros(head.update_time) / 1e6, count, 0, 0, first + 1, records[first:])
        loaded.own = state_rows(head.own)
        self._read_shared(key, head, loaded, None)
        return loaded

    def _read_shared(self, key: Key, head: _Head, loaded: Loaded, entry: Entry | None) -> None:
        loaded.user_revision = self._shared.revision((key[0], key[1]), head.user)
        loaded.app_revision = self._shared.revision((key[0], ""), head.app)
        if entry is None or entry.user.revision < loaded.user_revision:
            loaded.user = state_rows(head.user)
        if entry is None or entry.app.revision < loaded.app_revision:
            loaded.app = state_rows(head.app)

    def shared_text(self, scope: tuple[str, str], number: int) -> str | None:
        """Return the JSON text of a state that sessions share, or None if it is not cached.

        Args:
          scope: app and user; '' for the state of the app.
          number: what `load` gave as its revision.
        """
        return self._shared.text(scope, number)

    def has_shared_state(self, key: Key, entry: Entry) -> bool:
        """Return whether the shared states of a cached session are those that were read last."""
        return (
            self._shared.text((key[0], key[1]), entry.user.revision) is not None
            and self._shared.text((key[0], ""), entry.app.revision) is not None
        )

    async def shared_revisions(self, db: AsyncConnection, key: Key) -> tuple[int, int]:
        """Return what `load` would give as revisions of the states of user and app."""
        of_user, of_app = await fetch_one(db, self._sql["shared"], parameters(key))
        return (
            self._shared.revision((key[0], key[1]), of_user),
            self._shared.revision((key[0], ""), of_app),
        )

    async def user_state(self, db: AsyncConnection, app: str, user: str) -> list[StateRow]:
        """Return the state that a user's sessions share."""
        row = await fetch_one(db, self._sql["user state"], {"app": app, "user": user})
        return state_rows(row[1]) if row is not None else []

    async def read_initial_state(self, db: AsyncConnection, key: Key) -> dict[str, Any]:
        """Return the state a session was created with.

        Of a session that google-adk made: the keys that no event has written.

        Raises:
          SessionNotFoundError: no such session.
        """
        row = await fetch_one(db, self._sql["initial"], parameters(key))
        if row is None:
            raise session_not_found(key)
        if row[0] is not None:
            return decode_value(row[0])
        return began_with(decode_value(row[1]), await self.read_all(db, key))

    async def delete_session(self, db: AsyncConnection, key: Key) -> None:
        """Delete a session with all its rows, and what ends with it."""
        for one in deleted_ids(key[2]):
            await db.execute(self._sql["delete"], parameters((key[0], key[1], one)))


def parameters(key: Key) -> dict[str, Any]:
    """Return the names of a session as statements want them."""
    return {
        "app": searchable_name(key[0]),
        "user": searchable_name(key[1]),
        "id": searchable_name(key[2]),
    }


def searchable_name(name: str | None) -> str | None:
    """Return a name to look for: PostgreSQL refuses one with NUL, which no session has."""
    return name if name is None else name.replace("\0", "\ufffd")


def _read_records(rows: Any) -> list[EventRecord]:
    return [read_record(row) for row in rows]


def read_record(row: Any) -> EventRecord:
    """Return the record of a row of id, invocation, time and JSON text."""
    return record_of(row[0], row[1], micros(row[2]), row[3])


class _Shared:
    """Numbers for states that sessions share: another text has another, higher number.

    google-adk counts nothing when it writes them, so the text itself tells.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._known: OrderedDict[tuple[str, str], tuple[str | None, int]] = OrderedDict()

    def text(self, scope: tuple[str, str], number: int) -> str | None:
        """Return the text of a revision ('' for no state), or None if it is not cached."""
        known = self._known.get(scope)
        return (known[0] or "") if known is not None and known[1] == number else None

    def forget(self, scope: tuple[str, str]) -> None:
        """Forget a state that was just written."""
        with self._lock:
            self._known.pop(scope, None)

    def revision(self, scope: tuple[str, str], text: str | None) -> int:
        """Return the number of a state."""
        with self._lock:
            known = self._known.get(scope)
            if known is None or known[0] != text:
                self._known[scope] = known = (text, next(self._numbers))
            self._known.move_to_end(scope)
            if len(self._known) > _SCOPES:
                self._known.popitem(last=False)
            return known[1]
