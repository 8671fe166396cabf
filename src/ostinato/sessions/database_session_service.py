"""DatabaseSessionService: sessions in SQLite, PostgreSQL, MySQL or MariaDB, in google-adk's tables.

google-adk 2 goes on reading and writing what this service wrote, and the other way round. Which
database is in `_sql_url.py`, connections in `_sql_engines.py`, tables in `_sql_tables.py`,
statements in `_sql_rows.py`, `_sql_appends.py` and `_sql_leases.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _clock
from .._optional import need
from ..errors import InputValidationError, StoreError
from ..events.event import Event
from ._adk_v0 import V0Rows
from ._durable_store import Claim, Fence, JournalRow
from ._page import page_of
from ._session_cache import SessionCache
from ._sql_appends import Batch, SqlAppends
from ._sql_engines import Engines, Single, Turns, Work
from ._sql_leases import SqlLeases
from ._sql_many import SqlMany
from ._sql_ownership import SqlOwnership
from ._sql_postgres import PostgresAppends
from ._sql_rows import SqlRows, began_with
from ._sql_schema import Schema, prepare
from ._sql_url import target_of
from ._stored_rows import Appended, Key, session_not_found, split
from ._stored_views import cached_view, part_view, remembered_view, scope_of, snapshot
from .base_session_service import GetSessionConfig, ListSessionsResponse, narrowing, new_key
from .session import (
    Session,
    apply_event,
    basis_of,
    begin_append,
    log_of,
    note_append,
    own_of,
    revision_of,
)

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_A = TypeVar("_A")
_CACHE_BYTES = 64 * 2**20


class DatabaseSessionService(SqlOwnership):
    """Session service over a SQL database (Spec 4 §4, FEATURES rows 190 to 194).

    State values have to be JSON. Several services, processes and machines may use one database.
    Tables are made at first use. Call `close` when done; connections of an event loop that ends
    before are closed with it.

    Args:
      db_url: the database, with a driver that does not block: `sqlite+aiosqlite:///file.db`,
        `sqlite+aiosqlite:///:memory:`, `postgresql+asyncpg://user:password@host/database` or
        `mysql+aiomysql://user:password@host/database`.
      **kwargs: settings for SQLAlchemy's `create_async_engine`, such as `pool_size`.

    Raises:
      InputValidationError: the URL or a setting is wrong.
      MissingExtraError: SQLAlchemy or the driver is not installed.
    """

    def __init__(self, db_url: str, **kwargs: Any) -> None:
        self._target = target_of(db_url)
        self._engines = Engines(self._target, kwargs)
        self._rows = SqlRows(self._target.dialect)
        self._v0 = V0Rows(self._target.dialect)
        self._appends = SqlAppends(self._target.dialect, self._rows)
        self._postgres = PostgresAppends(self._rows)
        self._leases = SqlLeases(self._target.dialect, self._appends)
        self._many = SqlMany(self._target.dialect, self._rows, self._appends)
        self._cache = SessionCache(_CACHE_BYTES)
        self._schema: Schema | None = None
        self._first_use = Turns()
        # Appends of this process to one session: they hold one connection, not all.
        self._turns: weakref.WeakValueDictionary[Key, Turns] = weakref.WeakValueDictionary()
        self._duplicate: type[Exception] = need("sqlalchemy.exc", extra="sql").IntegrityError

    @property
    def shared(self) -> bool:
        """Whether others reach the sessions; see `DurableStore`."""
        return not self._target.in_memory

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; see the port.

        Raises:
          InputValidationError: also for a state value that JSON cannot carry.
        """
        key = self._new_key(app_name, user_id, session_id)
        changes = split(state or {})
        now = _clock.now()
        loaded = await self._write(lambda db: self._rows.create(db, key, changes, now))
        return cached_view(key, self._cache.admit(key, loaded, None), None)

    def _new_key(self, app_name: Any, user_id: Any, session_id: Any) -> Key:
        key = new_key(app_name, user_id, session_id)
        longest = self._target.dialect.longest
        if max(map(len, key)) > longest:
            raise InputValidationError(
                f"The names of app, user and session may have {longest} characters in this "
                "database."
            )
        return key

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a copy of a session; see the port."""
        return await self._load((app_name, user_id, session_id), config, complete=True)

    async def open_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
        complete: bool = True,
        asks: bool = True,
    ) -> Session | None:
        """Load a session for a run; see `DurableStore`."""
        key = (app_name, user_id, session_id)
        if not asks and config is None and self._schema == "v1":
            entry = self._cache.find(key)
            if entry is not None and self._rows.remembers(key, entry):
                session = remembered_view(key, entry)
                if session is not None:
                    return session
        return await self._load(key, config, complete)

    async def _load(
        self, key: Key, config: GetSessionConfig | None, complete: bool
    ) -> Session | None:
        if not _storable(*key):
            return None
        config = narrowing(config)
        entry = self._cache.find(key)
        if entry is not None and config is not None and entry.tail > 1:
            entry = None  # it may lack what is asked for
        part = None if entry is not None else config
        if await self._prepare() == "v0":
            loaded = await self._engines.read(lambda db: self._v0.load(db, key, config))
        else:
            loaded = await self._read(lambda db: self._rows.load(db, key, entry, part, complete))
        if loaded is None:
            self._cache.drop(key)
            return None
        if entry is not None and entry.sid != loaded.sid:
            entry = None
        if loaded.sid and (config is None or entry is not None):
            return cached_view(key, self._cache.admit(key, loaded, entry), config)
        return part_view(key, loaded)

    async def list_sessions(
        self,
        *,
        app_name: str | None,
        user_id: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> ListSessionsResponse:
        """List sessions without events, newest first; see the port.

        Args:
          app_name: the app; None for all of them.
          page_size: at most so many; `next_page_token` of the answer tells where to go on.
          page_token: where the page before ended. Who is listed twice or never because of changes
            in between: nobody twice, and none that did not change.

        Raises:
          InputValidationError: the size is not positive, or the token is not one of ours.
        """
        page = page_of(page_size, page_token)
        if not _storable(app_name or "", user_id or ""):
            return ListSessionsResponse()
        if await self._prepare() == "v0":
            return await self._engines.read(lambda db: self._v0.listing(db, app_name, user_id))
        return await self._read(lambda db: self._many.listing(db, app_name, user_id, page))

    # by position too, as google-adk's takes them
    async def delete_session(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, app_name: str, user_id: str, session_id: str
    ) -> None:
        """Delete a session; see the port."""
        key = (app_name, user_id, session_id)
        if _storable(*key):
            await self._write(lambda db: self._rows.delete(db, key))
            self._cache.drop(key)

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions and state; see the port."""
        if _storable(app_name, user_id):
            self._forget(
                await self._write(lambda db: self._many.delete_user(db, app_name, user_id))
            )

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete sessions that were last changed before a time; see the port."""
        count = 0
        while _storable(app_name):
            gone = await self._write(lambda db: self._many.delete_before(db, app_name, timestamp))
            if not gone:
                break
            count += len(gone)
            self._forget(gone)
        return count

    def _forget(self, gone: Sequence[Key]) -> None:
        for key in gone:
            self._cache.drop(key)

    async def fork_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        at_event: str | None = None,
        new_session_id: str | None = None,
    ) -> Session:
        """Make a new session of a part of another, inside the database; see the port."""
        key, new = (app_name, user_id, session_id), self._new_key(app_name, user_id, new_session_id)
        if not _storable(*key, at_event or ""):
            raise session_not_found(key)
        await self._write(lambda db: self._many.fork(db, key, at_event, new))
        made = await self._load(new, None, complete=True)
        if made is None:
            raise session_not_found(new)
        return made

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return a copy of the user's shared state; see the port."""
        if not _storable(app_name, user_id):
            return {}
        await self._prepare()
        rows = await self._engines.read(lambda db: self._rows.user_state(db, app_name, user_id))
        return scope_of(rows).value

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the session's state at creation; see `DurableStore`."""
        key = (session.app_name, session.user_id, session.id)
        if await self._prepare() == "v0":
            return began_with(session.state, log_of(session).records)
        return await self._read(lambda db: self._rows.initial(db, key))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and show it in `session`; partial events are not stored."""
        if not event.partial:
            await self.append(session, (event,))
        return event

    async def append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
    ) -> Fence | None:
        """Store events and rows together; see `DurableStore`.

        What was committed shows in `session` even if the caller was cancelled while it waited.

        Raises:
          InputValidationError: an event holds something that JSON or the database cannot carry.
          StoreError: the database cannot be reached or written. Where it went away in the middle
            of the commit, the events may be stored: appending them again stores none twice.
        """
        key = (session.app_name, session.user_id, session.id)
        stored = [snapshot(session, event) for event in events]
        batch = Batch(key, stored, rows, fence, claim, basis_of(session))
        ids = [record.id for record, _ in batch.events]
        begin_append(session, ids)

        def show(answer: tuple[Appended, Fence | None]) -> None:
            done = answer[0]
            self._cache.extend(key, done)
            for event, (record, _) in zip(events, batch.events, strict=True):
                if record in done.records:
                    apply_event(session, event, record)
            note_append(session, done.first, done.revision, ids)

        def known(number: int) -> int | None:
            entry = self._cache.find(key)
            return entry.seq if entry is not None and entry.sid == number else None

        def standing() -> tuple[int, set[str]]:
            return revision_of(session), set(own_of(session))

        async def work(db: AsyncConnection) -> tuple[Appended, Fence | None]:
            return await self._appends.append(
                db, batch, known, standing, repeated=repeated, tried=tried
            )

        def single() -> Single[tuple[Appended, Fence | None]] | None:
            nonlocal tried
            tried = self._postgres.append(batch, self._cache.find(key))
            return tried

        tried: Single[tuple[Appended, Fence | None]] | None = None
        repeated = False
        turns = self._turns_of(key)
        try:
            return (await self._write(work, show, turns, single))[1]
        except self._duplicate:
            repeated = True
            return (await self._write(work, show, turns))[1]

    async def flush(self) -> None:
        """Wait until everything that was begun in this event loop is committed."""
        await self._engines.settled()

    async def close(self) -> None:
        """Close this event loop's connections; harmless when repeated."""
        await self._engines.close()

    async def keys(self) -> list[Key]:
        """Return app, user and id of every session, of hidden ones too."""
        await self._prepare()
        return await self._engines.read(self._many.keys)

    async def take_over(self, session: Session, initial: dict[str, Any]) -> None:
        """Store a session of another service with its events and its state as they are.

        Args:
          session: all of it.
          initial: its own state at creation.

        Raises:
          AlreadyExistsError: there is a session with its names.
        """
        key = self._new_key(session.app_name, session.user_id, session.id)
        changes, before, records = split(session.state), split(initial), log_of(session).records
        updated = session.last_update_time
        await self._write(
            lambda db: self._many.take_over(db, key, changes, before, records, updated)
        )

    async def _read(self, work: Work[_A]) -> _A:
        await self._writable()
        return await self._engines.read(work)

    async def _write(
        self,
        work: Work[_A],
        show: Callable[[_A], None] | None = None,
        turns: Turns | None = None,
        single: Callable[[], Single[_A] | None] | None = None,
    ) -> _A:
        await self._writable()
        return await self._engines.write(work, show, turns, single)

    def _turns_of(self, key: Key) -> Turns:
        return self._turns.setdefault(key, Turns())

    async def _writable(self) -> None:
        if await self._prepare() == "v0":
            raise StoreError(
                f"The session store {self._target.name!r} was written by google-adk 1 and may only "
                "be read; copy it with: ostinato migrate --from OLD_URL --to NEW_URL"
            )

    def _post(
        self, work: Work[None], turns: Turns, single: Callable[[], Single[None] | None]
    ) -> None:
        self._engines.post(work, turns, single)

    async def _prepare(self) -> Schema:
        if self._schema is None:
            async with self._first_use:
                if self._schema is None:
                    self._schema = await prepare(self._engines, self._target)
        return self._schema


def _storable(*names: str) -> bool:
    """Tell whether a database can hold these names at all; what it cannot hold does not exist."""
    try:
        text = "".join(names)
        text.encode()
    except (UnicodeEncodeError, TypeError):
        return False
    return "\0" not in text
