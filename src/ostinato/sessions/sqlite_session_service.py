"""SqliteSessionService: sessions in one SQLite file, for programs that need no database server.

Several services and processes may use the same file. Statements are in `sqlite_rows.py`, threads
in `sqlite_threads.py`, the file's tables in `sqlite_schema.py`.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _clock
from .._absences import refuse_absent
from ..errors import InputValidationError
from ..events.event import Event
from .base_session_service import (
    GetSessionConfig,
    ListSessionsResponse,
    deleted_ids,
    narrow_config,
    new_key,
)
from .session import (
    Session,
    apply_event,
    begin_append,
    note_append,
    snapshot_token,
    stored_number,
)
from .sqlite import sqlite_effects
from .sqlite import sqlite_leases as leases
from .sqlite import sqlite_listing as many
from .sqlite import sqlite_requests as requests
from .sqlite import sqlite_rows as rows_of
from .sqlite import sqlite_search as searching
from .sqlite.sqlite_file import SqliteFile, Synchronous
from .sqlite.sqlite_schema import FORMAT
from .sqlite.sqlite_threads import Threads
from .state import check_mapping
from .store.durable_store import CallChanges, Claim, Fence, JournalRow, Place
from .store.effect_ledger import EffectSettings, EffectWriter
from .store.leased_sessions import LeasedSessionService
from .store.listing_page import page_of
from .store.outside_writes import OverwrittenError, check_order
from .store.session_cache import Entry, Scope, SessionCache
from .store.session_search import FoundSessions
from .store.stored_rows import Appended, Key, Known, Loaded, session_not_found, split_state
from .store.stored_views import (
    admit_view,
    listed_view,
    part_view,
    remembered_view,
    scope_of,
    snapshot_event,
)

__getattr__ = refuse_absent(__name__)  # of google-adk's further names here


_A = TypeVar("_A")
_READERS = 2
_BRIEF = 16  # events


class SqliteSessionService(LeasedSessionService):
    """Session service that keeps sessions in a SQLite file (FEATURES rows 190 to 194).

    State values have to be JSON. An event is on disk when `append_event` returns: with "FULL" it
    outlives a power cut, with "NORMAL" a crash of the process only. With "FULL" threads write; with
    "NORMAL" the event loop may, for as long as a commit takes (some 30 us), but never waits for
    another program or for the disk. The file is opened at first use; call `close` when done.

    Args:
      db_path: path of the file, made where it does not exist; ":memory:" keeps all in memory. A URL
        (`sqlite:///s.db?mode=ro`) may have the parameters of SQLite's URIs.
      synchronous: "FULL" or "NORMAL".
      cache_bytes: about how much of the sessions' text to keep in memory.
      effects: how to keep the effects ledger; None keeps none. The commands keep one.

    Raises:
      InputValidationError: an argument is not one of those.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "FULL",
        cache_bytes: int = 64 * 2**20,
        effects: EffectSettings | None = None,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise InputValidationError(
                f"synchronous must be 'FULL' or 'NORMAL', not {synchronous!r}."
            )
        self._effect_writer = None if effects is None else EffectWriter(effects)
        file = SqliteFile.of(db_path, FORMAT, synchronous)
        self._threads = Threads(file, readers=_READERS, alone=synchronous == "NORMAL")
        self._writer, self._reader = self._threads.writer, self._threads.reader
        self._cache = SessionCache(cache_bytes)
        self._leases, self._requests, self._effect_rows = leases, requests, sqlite_effects

    @property
    def shared(self) -> bool:
        """Whether other processes reach the sessions; see `DurableStore`."""
        return self._reader is not self._writer  # in memory there is one connection

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
        key = new_key(app_name, user_id, session_id)
        check_mapping("state", state)
        changes = split_state(state or {})
        return await self._writer.submit(
            lambda db: rows_of.create_session(db, key, changes, _clock.now()),
            lambda loaded: admit_view(self._cache, key, loaded),
            brief=True,
        )

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
        if not asks and config is None:
            session = remembered_view(key, self._cache.find(key))
            if session is not None:
                return session
        return await self._load_session(key, config, complete)

    async def _load_session(
        self, key: Key, config: GetSessionConfig | None, complete: bool
    ) -> Session | None:
        if not _is_storable(key):
            return None
        config = narrow_config(config)
        used: Entry | None = None

        def find_known(sid: int) -> Known | None:
            nonlocal used
            entry = self._cache.find(key)
            if entry is None or entry.sid != sid or (config is not None and entry.tail > 1):
                return None
            used = entry
            return Known(*entry.known, entry.seq, entry.tail)

        def work(db: sqlite3.Connection) -> Loaded | None:
            return rows_of.load_session(db, key, find_known, config, complete)

        def show(loaded: Loaded | None) -> Session | None:
            if loaded is None:
                self._cache.drop(key)
                return None
            if config is None or used is not None:
                return admit_view(self._cache, key, loaded, used, config)
            return part_view(key, loaded)

        return await self._reader.submit(work, show)

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
        page = page_of(page_size, page_token)
        if not _is_storable((app_name or "", user_id or "", "")):
            return ListSessionsResponse()
        return await self._reader.submit(
            lambda db: _list_response(many.read_page(db, app_name, user_id, page)),
            lambda found: found,
        )

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
        page = page_of(page_size, page_token)
        if not _is_storable((app_name, user_id or "", "")):
            return FoundSessions()
        left = await self.index_sessions()

        def show(found: many.Listing) -> FoundSessions:
            return FoundSessions(**vars(_list_response(found)), complete=not left, unindexed=left)

        return await self._reader.submit(
            lambda db: searching.search_sessions(db, app_name, user_id, text, page), show
        )

    async def index_sessions(self) -> int:
        """Index a bounded number of events that are not indexed yet; see `SessionSearch`."""
        if not await self._read_rows(searching.is_searchable):
            await self._write_rows(searching.make_searchable)
        found = await self._read_rows(searching.read_unindexed)
        if not found:
            return 0
        return await self._write_rows(lambda db: searching.write_documents(db, found))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session; see the port."""
        key = (app_name, user_id, session_id)
        if _is_storable(key):
            await self._writer.submit(
                lambda db: rows_of.delete_session(db, key),
                lambda _: self._drop_cached(
                    [(app_name, user_id, one) for one in deleted_ids(session_id)]
                ),
            )

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions and state; see the port."""
        await self._delete_user(app_name, user_id)

    async def _delete_user(self, app_name: str, user_id: str) -> int:
        if not _is_storable((app_name, user_id, "")):
            return 0

        def show(answer: tuple[list[Key], bool]) -> tuple[int, bool]:
            return self._drop_cached(answer[0]), answer[1]

        deleted, more = 0, True
        while more:  # each time some, so that appends get their turn
            count, more = await self._writer.submit(
                lambda db: many.delete_of_user(db, app_name, user_id), show
            )
            deleted += count
        return deleted

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Delete all of a user, words of the search included; see `EraseUser`."""
        apps = [app_name] if app_name is not None else await self._read_rows(many.apps_with_state)
        deleted = sum([await self._delete_user(app, user_id) for app in apps])
        while await self._write_rows(searching.merge_words):
            pass  # each time some, so that appends get their turn
        return deleted

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete sessions that were last changed before a time; see the port."""
        count = 0
        while _is_storable((app_name, "", "")):
            gone = await self._writer.submit(
                lambda db: many.delete_before(db, app_name, timestamp), self._drop_cached
            )
            if not gone:
                break
            count += gone
        return count

    def _drop_cached(self, gone: Sequence[Key]) -> int:
        for key in gone:
            self._cache.drop(key)
        return len(gone)

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
        key, new = (app_name, user_id, session_id), new_key(app_name, user_id, new_session_id)
        if not _is_storable((*key[:2], f"{session_id}{at_event}")):
            raise session_not_found(key)
        await self._writer.submit(
            lambda db: many.fork_session(db, key, at_event, new, close_requests),
            lambda _: self._cache.drop(new),
        )
        made = await self._load_session(new, None, complete=True)
        if made is None:
            raise session_not_found(new)
        return made

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return a copy of the user's shared state; see the port."""
        if not _is_storable((app_name, user_id, "")):
            return {}
        return await self._reader.submit(
            lambda db: scope_of(rows_of.read_shared_state(db, app_name, user_id)).value,
            lambda value: value,
        )

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the session's state at creation; see `DurableStore`."""
        key = (session.app_name, session.user_id, session.id)
        return await self._reader.submit(
            lambda db: rows_of.read_initial_state(db, key), lambda state: state
        )

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
          InputValidationError: an event holds something that JSON cannot carry.
          StoreError: the file cannot be written.
        """
        key = (session.app_name, session.user_id, session.id)
        stored = [snapshot_event(session, event) for event in events]
        ids = [record.id for record, _ in stored]
        batch = rows_of.Batch(
            key,
            stored,
            rows,
            fence,
            claim,
            *begin_append(session, ids),
            snapshot_token(session),
            changes,
            lambda newer: check_order(session, events, newer, batch.own),
            self._effect_writer,
            stored_number(session) if fence or claim else 0,
        )

        def find_known(sid: int) -> int | None:
            entry = self._cache.find(key)
            return entry.seq if entry is not None and entry.sid == sid else None

        def work(db: sqlite3.Connection) -> tuple[Appended, Fence | None]:
            return rows_of.append_batch(db, batch, find_known)

        def show(answer: tuple[Appended, Fence | None]) -> Fence | None:
            done, fence = answer
            self._cache.extend(key, done)
            expected, at = (*done.records, None), 0  # without a search: there may be thousands
            for event, (record, _) in zip(events, batch.events, strict=True):
                if record is expected[at]:
                    apply_event(session, event, record)
                    at += 1
            note_append(session, done.first, done.revision, ids)
            return fence

        try:
            return await self._writer.submit(work, show, brief=not events[_BRIEF:])
        except OverwrittenError as error:
            error.settle(session, events)
            return await self.append(session, events, rows, fence, claim, changes)
        except UnicodeEncodeError as error:
            raise InputValidationError(
                f"An event for session {key[2]!r} has an id, an author, a branch or a journal row "
                f"that is not valid Unicode text: {error}."
            ) from error

    async def release(
        self,
        place: Place,
        fence: Fence,
        *,
        keep_rows: bool = False,
        wait: bool = True,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Release a lease; see `DurableStore`."""

        def work(db: sqlite3.Connection) -> None:
            leases.release_lease(db, place, fence, keep_rows)

        if wait:
            await self._write_rows(work)
        else:
            self._writer.post(work, brief=True, on_error=on_error)

    async def _read_rows(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        return await _await_text(self._reader.submit(work, _pass_through))

    async def _write_rows(
        self,
        work: Callable[[sqlite3.Connection], Any],
        place: Place | None = None,
        *,
        repeatable: bool = False,
    ) -> Any:
        return await _await_text(self._writer.submit(work, _pass_through, brief=True))

    async def flush(self) -> None:
        """Wait until everything appended so far is committed."""
        if self._writer.has_begun:  # else there is nothing, and no file is to be made for it
            await self._writer.submit(lambda db: None, lambda _: None)

    async def close(self) -> None:
        """Commit what is queued, close the file and end the threads; harmless when repeated."""
        await self._threads.close()


async def _await_text(future: asyncio.Future[_A]) -> _A:
    try:
        return await future
    except UnicodeEncodeError as error:
        raise InputValidationError(
            f"A name, an id or a message is not valid Unicode text: {error}."
        ) from error


def _pass_through(value: _A) -> _A:
    return value


def _is_storable(key: Key) -> bool:
    """Return whether SQLite can hold these names; otherwise no such session exists."""
    try:
        "".join(key).encode()
    except (UnicodeEncodeError, TypeError):
        return False
    return True


def _list_response(found: many.Listing) -> ListSessionsResponse:
    shared = {place: scope_of(rows) for place, rows in found.shared.items()}
    none = Scope()
    sessions: list[Session] = []
    for key, updated, revision, rows in found.sessions:
        user, app = shared.get(key[:2], none), shared.get((key[0], ""), none)
        sessions.append(listed_view(key, revision, updated, scope_of(rows), user, app))
    return ListSessionsResponse(sessions=sessions, next_page_token=found.next)
