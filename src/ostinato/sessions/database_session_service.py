"""DatabaseSessionService: sessions in SQLite, PostgreSQL, MySQL or MariaDB, in google-adk's tables.

google-adk 2 can read and write the same database, before and after this service. Which
database is in `sql_url.py`, connections in `sql_engines.py`, tables in `sql_tables.py`,
statements in `sql_rows.py`, `sql_appends.py` and `sql_leases.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .. import _clock
from .._optional import need
from ..errors import InputValidationError, StoreError
from ..events.event import Event
from .adk_format.adk_v0 import V0Rows
from .base_session_service import (
    GetSessionConfig,
    ListSessionsResponse,
    deleted_ids,
    narrow_config,
    new_key,
)
from .log.event_log import EventRecord
from .session import (
    Session,
    apply_event,
    begin_append,
    log_of,
    note_append,
    revision_of,
    snapshot_token,
    stored_number,
    unacknowledged_ids,
)
from .sql.postgres_append import PostgresAppends
from .sql.sql_appends import Batch, SqlAppends
from .sql.sql_bulk import SqlBulk
from .sql.sql_engines import Engines, Single, Turns, Work
from .sql.sql_leases import SqlLeases
from .sql.sql_rows import SqlRows, began_with, sid_of
from .sql.sql_schema import Schema, prepare_schema
from .sql.sql_search import Pending, SqlSearch
from .sql.sql_url import target_of
from .state import check_mapping
from .store.durable_store import CallChanges, Claim, Fence, JournalRow, Place
from .store.effect_ledger import EffectSettings, EffectWriter
from .store.leased_sessions import LeasedSessionService
from .store.listing_page import page_of
from .store.outside_writes import OverwrittenError, check_order
from .store.session_cache import SessionCache
from .store.session_search import FoundSessions
from .store.stored_rows import Appended, Key, session_not_found, split_state
from .store.stored_views import admit_view, part_view, remembered_view, scope_of, snapshot_event

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

_A = TypeVar("_A")
_CACHE_BYTES = 64 * 2**20


class DatabaseSessionService(LeasedSessionService):
    """Session service over a SQL database (Spec 4 §4, FEATURES rows 190 to 194).

    State values have to be JSON. Several services, processes and machines may use one database.
    Tables are made at first use. Call `close` when done, or use the service in `async with`;
    connections of an event loop that ends before are closed with it.

    Args:
      db_url: the database: `postgresql://user:password@host/database`, `mysql://...`,
        `sqlite:///file.db` or `sqlite:///:memory:`. It may name a driver that does not block
        (`postgresql+asyncpg`, `mysql+aiomysql`, `mysql+asyncmy`, `sqlite+aiosqlite`).
      reconnect_seconds: for how long an operation tries to reach a server again that has answered
        before, with growing pauses; 0 fails at once. What may have been committed is tried again
        only if that cannot store it twice.
      answer_seconds: how many seconds a server may take to let a connection in or to answer one
        statement. Then the connection is closed and counts as lost, as after a failover that
        the driver does not report. No wait is unbounded. Ignored for SQLite, which has no server.
      effects: how to keep the effects ledger; None keeps none. The commands keep one.
      **kwargs: settings for SQLAlchemy's `create_async_engine`, such as `pool_size`.

    Raises:
      InputValidationError: the URL or a setting is wrong.
      MissingExtraError: SQLAlchemy or the driver is not installed.
    """

    def __init__(
        self,
        db_url: str,
        *,
        reconnect_seconds: float = 10.0,
        answer_seconds: float | None = 5.0,
        effects: EffectSettings | None = None,
        **kwargs: Any,
    ) -> None:
        if not reconnect_seconds >= 0:
            raise InputValidationError(
                f"reconnect_seconds has to be 0 or more, not {reconnect_seconds}."
            )
        if answer_seconds is not None and not answer_seconds > 0:
            raise InputValidationError(
                f"answer_seconds must be more than 0, or None, not {answer_seconds}."
            )
        self._target = target_of(db_url)
        self._engines = Engines(self._target, kwargs, reconnect_seconds, answer_seconds)
        self._rows = SqlRows(self._target.dialect)
        self._v0 = V0Rows(self._target.dialect)
        writer = self._effect_writer = None if effects is None else EffectWriter(effects)
        self._appends = SqlAppends(self._target.dialect, self._rows, writer)
        self._effect_rows = self._appends.effects
        self._requests = self._appends.requests
        self._postgres = PostgresAppends(self._rows, writer)
        self._leases = SqlLeases(self._target.dialect, self._appends)
        self._many = SqlBulk(self._target.dialect, self._rows, self._appends)
        self._search = SqlSearch(self._target.dialect, self._many, self._appends)
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
        check_mapping("state", state)
        changes = split_state(state or {})
        now = _clock.now()
        loaded = await self._run_write(lambda db: self._rows.create_session(db, key, changes, now))
        return admit_view(self._cache, key, loaded)

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
        return await self._load_session((app_name, user_id, session_id), config, complete=True)

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
            if entry is not None and self._rows.has_shared_state(key, entry):
                session = remembered_view(key, entry)
                if session is not None:
                    return session
        return await self._load_session(key, config, complete)

    async def _load_session(
        self, key: Key, config: GetSessionConfig | None, complete: bool
    ) -> Session | None:
        if not _is_storable(*key):
            return None
        config = narrow_config(config)
        entry = self._cache.find(key)
        if entry is not None and config is not None and entry.tail > 1:
            entry = None  # it may lack what is asked for
        part = None if entry is not None else config
        if await self._find_schema() == "v0":
            loaded = await self._engines.read(lambda db: self._v0.load_session(db, key, config))
        else:
            loaded = await self._run_read(
                lambda db: self._rows.load_session(db, key, entry, part, complete)
            )
        if loaded is None:
            self._cache.drop(key)
            return None
        if entry is not None and entry.sid != loaded.sid:
            entry = None
        if loaded.sid and (config is None or entry is not None):
            return admit_view(self._cache, key, loaded, entry, config)
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
          page_size: the longest page; `next_page_token` of the response starts the next one.
          page_token: start of the page. Changes between two pages never list a session twice, and
            never leave out one that did not change.

        Raises:
          InputValidationError: the size is not positive, or the token is not one of this service.
        """
        page = page_of(page_size, page_token, by_names=True)
        if not _is_storable(app_name or "", user_id or ""):
            return ListSessionsResponse()
        if await self._find_schema() == "v0":
            return await self._engines.read(
                lambda db: self._v0.list_sessions(db, app_name, user_id)
            )
        return await self._run_read(lambda db: self._many.read_page(db, app_name, user_id, page))

    async def search_sessions(
        self,
        *,
        app_name: str,
        text: str,
        user_id: str | None = None,
        page_size: int = 50,
        page_token: str | None = None,
    ) -> FoundSessions:
        """Find sessions that hold all words of a text; see `SessionSearch`."""
        page = page_of(page_size, page_token, by_names=True)
        if not _is_storable(app_name, user_id or ""):
            return FoundSessions()

        async def find(db: AsyncConnection) -> ListSessionsResponse:
            return await self._search.search_sessions(db, app_name, user_id, text, page)

        async def find_if_indexed(
            db: AsyncConnection,
        ) -> tuple[Pending, ListSessionsResponse | None]:
            pending = await self._search.read_pending(db)
            return pending, None if pending.has_work else await find(db)

        left = 0
        pending, found = await self._run_read(find_if_indexed)
        if found is None:
            left = await self._run_write(lambda db: self._search.write_pending(db, pending))
            found = await self._run_read(find)
        return FoundSessions(**vars(found), complete=not left, unindexed=left)

    async def index_sessions(self) -> int:
        """Index a bounded number of events that are not indexed yet; see `SessionSearch`."""
        pending = await self._run_read(self._search.read_pending)
        if not pending.has_work:
            return 0
        return await self._run_write(lambda db: self._search.write_pending(db, pending))

    # by position too, as google-adk's takes them
    async def delete_session(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, app_name: str, user_id: str, session_id: str
    ) -> None:
        """Delete a session; see the port."""
        key = (app_name, user_id, session_id)
        if _is_storable(*key):
            await self._run_write(lambda db: self._rows.delete_session(db, key), repeatable=True)
            self._drop_cached([(app_name, user_id, one) for one in deleted_ids(session_id)])

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions and state; see the port."""
        await self._delete_user(app_name, user_id)

    async def _delete_user(self, app_name: str, user_id: str) -> int:
        if not _is_storable(app_name, user_id):
            return 0
        deleted, more = 0, True
        while more:  # each time some, so that appends get their turn
            gone, more = await self._run_write(
                lambda db: self._many.delete_of_user(db, app_name, user_id)
            )
            self._drop_cached(gone)
            deleted += len(gone)
        return deleted

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Delete all of a user, words of the search included; see `EraseUser`."""
        apps = (
            [app_name] if app_name is not None else await self._run_read(self._many.apps_with_state)
        )
        deleted = sum([await self._delete_user(app, user_id) for app in apps])
        while await self._run_write(self._search.merge_words):
            pass  # each time some, so that appends get their turn
        return deleted

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete sessions that were last changed before a time; see the port."""
        count = 0
        while _is_storable(app_name):
            gone = await self._run_write(
                lambda db: self._many.delete_before(db, app_name, timestamp)
            )
            if not gone:
                break
            count += len(gone)
            self._drop_cached(gone)
        return count

    def _drop_cached(self, gone: Sequence[Key]) -> None:
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
        close_requests: bool = False,
    ) -> Session:
        """Make a new session of a part of another, inside the database; see the port."""
        key, new = (app_name, user_id, session_id), self._new_key(app_name, user_id, new_session_id)
        if not _is_storable(*key, at_event or ""):
            raise session_not_found(key)
        await self._run_write(
            lambda db: self._many.fork_session(db, key, at_event, new, close_requests)
        )
        made = await self._load_session(new, None, complete=True)
        if made is None:
            raise session_not_found(new)
        return made

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return a copy of the user's shared state; see the port."""
        if not _is_storable(app_name, user_id):
            return {}
        await self._find_schema()
        rows = await self._engines.read(lambda db: self._rows.user_state(db, app_name, user_id))
        return scope_of(rows).value

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the session's state at creation; see `DurableStore`."""
        key = (session.app_name, session.user_id, session.id)
        if await self._find_schema() == "v0":
            return began_with(session.state, log_of(session).records)
        return await self._run_read(lambda db: self._rows.read_initial_state(db, key))

    async def append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
        changes: CallChanges | None = None,
    ) -> Fence | None:
        """Store events and rows together; see `DurableStore`.

        Raises:
          InputValidationError: an event holds something that JSON or the database cannot carry.
          StoreError: the database cannot be reached or written. Where it went away in the middle
            of the commit, the events may be stored: appending them again stores none twice.
        """
        key = (session.app_name, session.user_id, session.id)
        batch = _make_batch(session, events, rows, fence, claim, changes)
        ids = [record.id for record, _ in batch.events]
        begin_append(session, ids)

        def show(answer: tuple[Appended, Fence | None]) -> None:
            done = answer[0]
            self._cache.extend(key, done)
            expected, at = (*done.records, None), 0  # without a search: there may be thousands
            for event, (record, _) in zip(events, batch.events, strict=True):
                if record is expected[at]:
                    apply_event(session, event, record)
                    at += 1
            note_append(session, done.first, done.revision, ids)

        def cached_number(number: int) -> int | None:
            entry = self._cache.find(key)
            return entry.seq if entry is not None and entry.sid == number else None

        def seen_events() -> tuple[int, set[str]]:
            return revision_of(session), set(unacknowledged_ids(session))

        async def work(db: AsyncConnection) -> tuple[Appended, Fence | None]:
            nonlocal repeated
            again, repeated = repeated, True  # a try before may have committed
            return await self._appends.append_batch(
                db, batch, cached_number, seen_events, repeated=again, tried=tried
            )

        def single() -> Single[tuple[Appended, Fence | None]] | None:
            nonlocal tried
            tried = self._postgres.build_append(batch, self._cache.find(key), seen_events)
            return tried

        tried: Single[tuple[Appended, Fence | None]] | None = None
        repeated = False
        turns, repeatable = self._turns_of(key), claim is None
        try:
            return (await self._run_write(work, show, turns, single, repeatable=repeatable))[1]
        except OverwrittenError as error:
            error.settle(session, events)
            return await self.append(session, events, rows, fence, claim, changes)
        except self._duplicate:
            return (await self._run_write(work, show, turns, repeatable=repeatable))[1]

    async def release(
        self,
        place: Place,
        fence: Fence,
        *,
        keep_rows: bool = False,
        wait: bool = True,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Release a lease; see `DurableStore`.

        It always waits: a task of the event loop that has not committed dies with the loop, and
        the lease would then block every other process until it expires.
        """

        def work(db: AsyncConnection) -> Any:
            return self._leases.release_lease(db, place, fence, keep_rows)

        def single() -> Single[None]:
            return self._postgres.build_release(place, fence, keep_rows)

        # In turn with the claims of this process, or the next one's rows would go.
        await self._run_write(work, turns=self._turns_of(place), single=single, repeatable=True)

    async def flush(self) -> None:
        """Wait until everything that was begun in this event loop is committed."""
        await self._engines.wait_until_settled()

    async def probe(self) -> None:
        """Check that the database answers, without waiting for it to come back.

        Raises:
          StoreError: it does not answer.
        """
        await self._engines.probe_server()

    async def close(self) -> None:
        """Close this event loop's connections; harmless when repeated."""
        await self._engines.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def keys(self) -> list[Key]:
        """Return app, user and id of every session, of hidden ones too."""
        await self._find_schema()
        return await self._engines.read(self._many.read_keys)

    async def take_over(self, session: Session, initial: dict[str, Any]) -> None:
        """Store a session of another service with its events and its state, unchanged.

        Args:
          session: all of it.
          initial: its own state at creation.

        Raises:
          AlreadyExistsError: there is a session with its names.
        """
        key = self._new_key(session.app_name, session.user_id, session.id)
        changes, before, records = (
            split_state(session.state),
            split_state(initial),
            log_of(session).records,
        )
        updated = session.last_update_time
        await self._run_write(
            lambda db: self._many.take_over(db, key, changes, before, records, updated)
        )

    async def _run_read(self, work: Work[_A]) -> _A:
        await self._check_writable()
        return await self._engines.read(work)

    async def _run_write(
        self,
        work: Work[_A],
        show: Callable[[_A], None] | None = None,
        turns: Turns | None = None,
        single: Callable[[], Single[_A] | None] | None = None,
        *,
        repeatable: bool = False,
    ) -> _A:
        await self._check_writable()
        return await self._engines.write(work, show, turns, single, repeatable=repeatable)

    async def _read_rows(self, work: Callable[[Any], Any]) -> Any:
        return await self._run_read(work)

    async def _write_rows(
        self, work: Callable[[Any], Any], place: Place | None = None, *, repeatable: bool = False
    ) -> Any:
        turns = None if place is None else self._turns_of(place)
        return await self._run_write(work, turns=turns, repeatable=repeatable)

    def _turns_of(self, key: Key) -> Turns:
        return self._turns.setdefault(key, Turns())

    async def _check_writable(self) -> None:
        if await self._find_schema() == "v0":
            raise StoreError(
                f"The session store {self._target.name!r} was written by google-adk 1 and may only "
                "be read; copy it with: ostinato migrate --from OLD_URL --to NEW_URL"
            )

    async def _find_schema(self) -> Schema:
        if self._schema is None:
            async with self._first_use:
                if self._schema is None:
                    self._schema = await prepare_schema(
                        self._engines, self._target, self._many.add_requests
                    )
        return self._schema


def _is_storable(*names: str) -> bool:
    """Return whether a database can hold these names; otherwise no such session exists."""
    try:
        text = "".join(names)
        text.encode()
    except (UnicodeEncodeError, TypeError):
        return False
    return "\0" not in text


def _make_batch(
    session: Session,
    events: Sequence[Event],
    rows: Sequence[JournalRow],
    fence: Fence | None,
    claim: Claim | None,
    changes: CallChanges | None,
) -> Batch:
    def check_newer(newer: Sequence[EventRecord]) -> None:
        check_order(session, events, newer, unacknowledged_ids(session))

    return Batch(
        (session.app_name, session.user_id, session.id),
        [snapshot_event(session, event) for event in events],
        rows,
        fence,
        claim,
        snapshot_token(session),
        changes,
        check_newer,
        sid_of(stored_number(session)) if fence or claim else 0,
    )
