"""The rows of sessions in a SQL database: statements that create, load, list and delete them.

Called inside transactions of `_sql_engines.py`. Appends are in `_sql_appends.py`.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .._optional import need
from ..errors import AlreadyExistsError
from ._adk_events import record_of
from ._session_cache import Entry
from ._sql_dialects import Dialect, micros, micros_of
from ._stored_rows import Changes, Key, Loaded, StateRow, decode, encode, session_not_found
from .base_session_service import HIDDEN_PREFIX, GetSessionConfig
from .event_log import STATE_DELTA, EventRecord
from .state import SCOPED_PREFIXES

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_MOST = 2**31 - 1  # events of one session
_SCOPES = 10_000  # shared states that are remembered as text


class _Head(NamedTuple):
    """What one query tells of a session; `sid` and what follows is None where it has no row of
    ours, `own` where it is known already.
    """

    update_time: Any
    sid: int | None
    generation: int
    revision: int
    last_micros: int
    update_micros: int
    updated: float
    own: str | None
    user: str | None
    app: str | None


def identity(sid: int, generation: int) -> int:
    """Return the number under which a session is cached: another one where events moved."""
    return sid << 16 | generation & 0xFFFF


def state_rows(text: str | None) -> list[StateRow]:
    """Return the rows of a state that is stored as one JSON object."""
    return [(k, encode(k, v)) for k, v in json.loads(text).items()] if text else []


def changed_state(text: str | None, rows: Sequence[StateRow]) -> str:
    """Return the JSON object with rows written on top; a removed key is null, as for google-adk."""
    state: dict[str, Any] = json.loads(text) if text else {}
    state.update((k, None if v is None else decode(v)) for k, v in rows)
    return json.dumps(state, ensure_ascii=False, separators=(",", ":"))


class SqlRows:
    """Statements about sessions in the words of one database.

    Args:
      dialect: the database.
    """

    def __init__(self, dialect: Dialect) -> None:
        text = need("sqlalchemy", extra="sql").text
        self._dialect = dialect
        self._shared = _Shared()
        same, json_of = dialect.same, dialect.json_of
        of_session = " AND ".join(
            (same("s.app_name", "app"), same("s.user_id", "user"), same("s.id", "id"))
        )
        of_events = " AND ".join(
            (same("app_name", "app"), same("user_id", "user"), same("session_id", "id"))
        )
        ours = (
            "LEFT JOIN ostinato_sessions o ON o.app_name = s.app_name AND o.user_id = s.user_id "
            "AND o.session_id = s.id"
        )
        self._head = text(
            "SELECT s.update_time, o.sid, o.generation, o.revision, o.last_micros, "
            "o.update_micros, o.updated, CASE WHEN o.sid = :sid AND o.revision = :revision "
            f"THEN NULL ELSE {json_of('s.state')} END, {json_of('u.state')}, {json_of('a.state')} "
            f"FROM sessions s {ours} "
            "LEFT JOIN user_states u ON u.app_name = s.app_name AND u.user_id = s.user_id "
            "LEFT JOIN app_states a ON a.app_name = s.app_name "
            f"WHERE {of_session}"
        )
        select = (
            f"SELECT id, invocation_id, timestamp, {json_of('event_data')} FROM events "
            f"WHERE {of_events}"
        )
        newest = "ORDER BY timestamp DESC, id DESC LIMIT :count"
        self._newest = text(f"{select} AND timestamp <= :last {newest}")
        self._newest_after = text(
            f"{select} AND timestamp <= :last AND timestamp >= :since {newest}"
        )
        self._all = text(f"{select} ORDER BY timestamp, id")
        self._initial = text(
            f"SELECT o.initial, {json_of('s.state')} FROM sessions s {ours} WHERE {of_session}"
        )
        self._create = text(
            "INSERT INTO sessions (app_name, user_id, id, state, create_time, update_time) "
            f"VALUES (:app, :user, :id, {dialect.as_json('state')}, :time, :time)"
        )
        self._create_ours = text(
            "INSERT INTO ostinato_sessions (app_name, user_id, session_id, generation, revision, "
            "last_micros, update_micros, updated, tail, initial, owner, process, token, expires, "
            "invocation_id, digest, attempts, stuck, cancelled) VALUES (:app, :user, :id, 0, 0, "
            "0, :micros, :updated, 1, :initial, '', '', 0, 0, '', '', 0, '', 0)"
        )
        listed = (
            f"SELECT s.user_id, s.id, s.update_time, {json_of('s.state')}, o.update_micros, "
            "o.updated, CASE WHEN o.sid IS NULL THEN (SELECT count(*) FROM events e WHERE "
            "e.app_name = s.app_name AND e.user_id = s.user_id AND e.session_id = s.id) "
            f"ELSE o.revision END FROM sessions s {ours} WHERE {same('s.app_name', 'app')} "
            f"AND substr(s.id, 1, {len(HIDDEN_PREFIX)}) <> '{HIDDEN_PREFIX}'"
        )
        order = "ORDER BY s.update_time DESC, o.sid DESC"
        self._list_app = text(f"{listed} {order}")
        self._list_user = text(f"{listed} AND {same('s.user_id', 'user')} {order}")
        self._app_states = text(
            f"SELECT {json_of('state')} FROM app_states WHERE {same('app_name', 'app')}"
        )
        self._user_states = text(
            f"SELECT user_id, {json_of('state')} FROM user_states WHERE {same('app_name', 'app')}"
        )
        self._user_state = text(
            f"SELECT user_id, {json_of('state')} FROM user_states WHERE {same('app_name', 'app')} "
            f"AND {same('user_id', 'user')}"
        )
        self._delete = text(f"DELETE FROM sessions WHERE {of_session.replace('s.', '')}")
        self._scopes = {
            False: _ScopeStatements(dialect, "app_states", ("app_name",)),
            True: _ScopeStatements(dialect, "user_states", ("app_name", "user_id")),
        }
        self._duplicate: type[Exception] = need("sqlalchemy.exc", extra="sql").IntegrityError

    async def create(self, db: AsyncConnection, key: Key, changes: Changes, now: float) -> Loaded:
        """Insert a session.

        Raises:
          AlreadyExistsError: there is one with this id.
        """
        stamp = micros_of(now)
        names = parameters(key)
        state = changed_state(None, changes.own)
        initial = changed_state(None, [row for row in changes.own if row[1] is not None])
        try:
            await db.execute(
                self._create, {**names, "state": state, "time": self._dialect.stamp(stamp)}
            )
        except self._duplicate as error:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.") from error
        await db.execute(
            self._create_ours, {**names, "micros": stamp, "updated": now, "initial": initial}
        )
        await self.write_shared(db, key, changes, stamp)
        loaded = await self.load(db, key, None, None)
        assert loaded is not None
        return loaded

    async def write_shared(
        self, db: AsyncConnection, key: Key, changes: Changes, stamp: int
    ) -> None:
        """Write state of the user, then of the app: always in this order, so that two appends
        never wait for each other.
        """
        for of_user, rows in ((True, changes.user), (False, changes.app)):
            if rows:
                await self._scopes[of_user].write(db, key, rows, self._dialect.stamp(stamp))

    async def load(
        self, db: AsyncConnection, key: Key, entry: Entry | None, config: GetSessionConfig | None
    ) -> Loaded | None:
        """Read what the caller does not know of a session; None where there is none.

        Args:
          entry: what the caller knows of it.
          config: which events to read; for a caller that knows nothing.

        Returns:
          What was read; its `sid` is 0 where google-adk has changed the session since we did.
        """
        names = parameters(key)
        knows = {"sid": 0, "revision": -1}
        if entry is not None:
            knows = {"sid": entry.sid >> 16, "revision": entry.own.revision}
        row = (await db.execute(self._head, {**names, **knows})).one_or_none()
        if row is None:
            return None
        head = _Head(*row)
        if head.sid is None or micros(head.update_time) != head.update_micros:
            return await self._load_changed(db, key, head, config)
        loaded = Loaded(identity(head.sid, head.generation), head.updated, head.revision, 0, 0)
        if entry is not None and entry.sid != loaded.sid:
            return await self.load(db, key, None, config)
        seen = entry.seq if entry is not None else 0
        await self._read_events(db, names, head, loaded, seen, config)
        if entry is None or entry.own.revision < head.revision:
            loaded.own = state_rows(head.own)
        self._read_shared(key, head, loaded, entry)
        return loaded

    async def _read_events(
        self,
        db: AsyncConnection,
        names: Mapping[str, Any],
        head: _Head,
        loaded: Loaded,
        seen: int,
        config: GetSessionConfig | None,
    ) -> None:
        count = head.revision - seen
        if config is not None and config.num_recent_events is not None:
            count = min(count, config.num_recent_events)
        loaded.first = head.revision + 1
        if count <= 0:
            return
        since = None if config is None else config.after_timestamp
        found: list[EventRecord] = await self.newest(db, names, head.last_micros, count, since)
        loaded.records = found
        loaded.first = head.revision - len(found) + 1

    async def newest(
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
            rows = (await db.execute(self._newest, values)).all()
            return _records(reversed(rows))
        values["since"] = self._dialect.stamp(micros_of(since))
        records = _records(reversed((await db.execute(self._newest_after, values)).all()))
        return list(itertools.dropwhile(lambda record: record.timestamp < since, records))

    async def _load_changed(
        self, db: AsyncConnection, key: Key, head: _Head, config: GetSessionConfig | None
    ) -> Loaded:
        """Read a session that google-adk has changed since we wrote it, or that it made."""
        if head.own is None:
            changed = await self.load(db, key, None, config)
            assert changed is not None
            return changed
        records = _records((await db.execute(self._all, parameters(key))).all())
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

    async def user_state(self, db: AsyncConnection, app: str, user: str) -> list[StateRow]:
        """Return the state that a user's sessions share."""
        row = (await db.execute(self._user_state, {"app": app, "user": user})).one_or_none()
        return state_rows(row[1]) if row is not None else []

    async def initial(self, db: AsyncConnection, key: Key) -> dict[str, Any]:
        """Return the state a session was created with.

        Of a session that google-adk made: the keys that no event has written.

        Raises:
          SessionNotFoundError: no such session.
        """
        row = (await db.execute(self._initial, parameters(key))).one_or_none()
        if row is None:
            raise session_not_found(key)
        if row[0] is not None:
            return decode(row[0])
        written: set[str] = set()
        for record in _records((await db.execute(self._all, parameters(key))).all()):
            if record.kinds & STATE_DELTA:
                written.update(record.event().actions.state_delta)
        return {
            k: v
            for k, v in json.loads(row[1]).items()
            if k not in written and v is not None and not k.startswith(SCOPED_PREFIXES)
        }

    async def listing(self, db: AsyncConnection, app: str, user: str | None) -> Listing:
        """Read the sessions of a user, or of all users for None; hidden ones are left out."""
        names = {"app": app, "user": user}
        sessions = self._list_app if user is None else self._list_user
        found = Listing(
            [
                (
                    (app, row[0], row[1]),
                    row[5] if micros(row[2]) == row[4] else micros(row[2]) / 1e6,
                    row[6],
                    state_rows(row[3]),
                )
                for row in await db.execute(sessions, names)
            ]
        )
        states = self._user_states if user is None else self._user_state
        for owner, state in await db.execute(states, names):
            found.shared[owner] = state_rows(state)
        for (state,) in await db.execute(self._app_states, names):
            found.shared[""] = state_rows(state)
        return found

    async def delete(self, db: AsyncConnection, key: Key) -> None:
        """Delete a session with all its rows."""
        await db.execute(self._delete, parameters(key))


@dataclass(slots=True)
class Listing:
    """Sessions of an app, without their events.

    Attributes:
      sessions: key, time of the last change, revision and state rows of each, newest first.
      shared: shared state rows by user; those of the app under ''.
    """

    sessions: list[tuple[Key, float, int, list[StateRow]]]
    shared: dict[str, list[StateRow]] = field(default_factory=dict[str, list[StateRow]])


def parameters(key: Key) -> dict[str, Any]:
    """Return the names of a session as statements want them."""
    return {"app": key[0], "user": key[1], "id": key[2]}


def _records(rows: Any) -> list[EventRecord]:
    return [record_of(row[0], row[1], micros(row[2]), row[3]) for row in rows]


class _ScopeStatements:
    """How state that sessions share is written: read under a lock, changed, written."""

    def __init__(self, dialect: Dialect, table: str, keys: tuple[str, ...]) -> None:
        text = need("sqlalchemy", extra="sql").text
        names = dict(zip(("app_name", "user_id"), ("app", "user"), strict=True))
        which = " AND ".join(dialect.same(each, names[each]) for each in keys)
        lock = "FOR UPDATE" if dialect.lock else ""
        self._read = text(f"SELECT {dialect.json_of('state')} FROM {table} WHERE {which} {lock}")
        self._insert = text(
            f"INSERT INTO {table} ({', '.join(keys)}, state, update_time) "
            f"VALUES ({', '.join(':' + names[each] for each in keys)}, '{{}}', :time) "
            + dialect.upsert(", ".join(keys))
        )
        self._update = text(
            f"UPDATE {table} SET state = {dialect.as_json('state')}, update_time = :time "
            f"WHERE {which}"
        )

    async def write(
        self, db: AsyncConnection, key: Key, rows: Sequence[StateRow], time: Any
    ) -> None:
        """Write rows on top of the stored state."""
        names: dict[str, Any] = {"app": key[0], "user": key[1], "time": time}
        row = (await db.execute(self._read, names)).one_or_none()
        if row is None:
            await db.execute(self._insert, names)
            row = (await db.execute(self._read, names)).one()
        await db.execute(self._update, {**names, "state": changed_state(row[0], rows)})


class _Shared:
    """Numbers for states that sessions share: another text has another, higher number.

    google-adk counts nothing when it writes them, so the text itself tells.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._known: OrderedDict[tuple[str, str], tuple[str | None, int]] = OrderedDict()

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
