"""SqliteSessionService: sessions in one SQLite file, for programs that need no database server.

Several services and processes may use the same file. Statements are in `_sqlite_rows.py`, threads
in `_sqlite_worker.py`, the file's tables in `_sqlite_schema.py`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from .. import _clock
from ..errors import InputValidationError
from ..events.event import Event
from . import _sqlite_listing as many
from . import _sqlite_rows as rows_of
from ._durable_store import Claim, Fence, JournalRow
from ._page import page_of
from ._session_cache import Entry, Scope, SessionCache
from ._sqlite_file import SqliteFile, Synchronous, file_path
from ._sqlite_ownership import SqliteOwnership
from ._sqlite_schema import FORMAT
from ._sqlite_worker import Threads
from ._stored_rows import Appended, Key, Known, Loaded, session_not_found, split
from ._stored_views import (
    cached_view,
    listed_view,
    part_view,
    remembered_view,
    scope_of,
    snapshot,
)
from .base_session_service import GetSessionConfig, ListSessionsResponse, narrowing, new_key
from .session import Session, apply_event, basis_of, begin_append, note_append

_READERS = 2
_BRIEF = 16  # events


class SqliteSessionService(SqliteOwnership):
    """Session service that keeps sessions in a SQLite file (FEATURES rows 190 to 194).

    State values have to be JSON. An event is on disk when `append_event` returns: with "FULL" it
    outlives a power cut, with "NORMAL" a crash of the process only. With "FULL" threads write; with
    "NORMAL" the event loop may, for as long as a commit takes (some 30 us), but never waits for
    another program or for the disk. The file is opened at first use; call `close` when done.

    Args:
      db_path: path of the file, made where it does not exist; ":memory:" keeps all in memory.
      synchronous: "FULL" or "NORMAL".
      cache_bytes: about how much of the sessions' text to keep in memory.

    Raises:
      InputValidationError: an argument is not one of those.
    """

    def __init__(
        self,
        db_path: str | os.PathLike[str],
        *,
        synchronous: Synchronous = "FULL",
        cache_bytes: int = 64 * 2**20,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise InputValidationError(
                f"synchronous must be 'FULL' or 'NORMAL', not {synchronous!r}."
            )
        file = SqliteFile(file_path(db_path), FORMAT, synchronous)
        self._threads = Threads(file, readers=_READERS, alone=synchronous == "NORMAL")
        self._writer, self._reader = self._threads.writer, self._threads.reader
        self._cache = SessionCache(cache_bytes)

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
        changes = split(state or {})
        return await self._writer.submit(
            lambda db: rows_of.create(db, key, changes, _clock.now()),
            lambda loaded: cached_view(key, self._cache.admit(key, loaded, None), None),
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
        if not asks and config is None:
            session = remembered_view(key, self._cache.find(key))
            if session is not None:
                return session
        return await self._load(key, config, complete)

    async def _load(
        self, key: Key, config: GetSessionConfig | None, complete: bool
    ) -> Session | None:
        if not _storable(key):
            return None
        config = narrowing(config)
        used: Entry | None = None

        def known(sid: int) -> Known | None:
            nonlocal used
            entry = self._cache.find(key)
            if entry is None or entry.sid != sid or (config is not None and entry.tail > 1):
                return None
            used = entry
            return Known(*entry.known, entry.seq, entry.tail)

        def work(db: sqlite3.Connection) -> Loaded | None:
            return rows_of.load(db, key, known, config, complete)

        def show(loaded: Loaded | None) -> Session | None:
            if loaded is None:
                self._cache.drop(key)
                return None
            if config is None or used is not None:
                return cached_view(key, self._cache.admit(key, loaded, used), config)
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
          page_size: at most so many; `next_page_token` of the answer tells where to go on.
          page_token: where the page before ended. Who is listed twice or never because of changes
            in between: nobody twice, and none that did not change.

        Raises:
          InputValidationError: the size is not positive, or the token is not one of ours.
        """
        page = page_of(page_size, page_token)
        if not _storable((app_name or "", user_id or "", "")):
            return ListSessionsResponse()
        return await self._reader.submit(
            lambda db: _listed(many.listing(db, app_name, user_id, page)), lambda found: found
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session; see the port."""
        key = (app_name, user_id, session_id)
        if _storable(key):
            await self._writer.submit(
                lambda db: rows_of.delete(db, key), lambda _: self._cache.drop(key)
            )

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions and state; see the port."""
        if _storable((app_name, user_id, "")):
            await self._writer.submit(
                lambda db: many.delete_user(db, app_name, user_id), self._forget
            )

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete sessions that were last changed before a time; see the port."""
        count = 0
        while _storable((app_name, "", "")):
            gone = await self._writer.submit(
                lambda db: many.delete_before(db, app_name, timestamp), self._forget
            )
            if not gone:
                break
            count += gone
        return count

    def _forget(self, gone: Sequence[Key]) -> int:
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
    ) -> Session:
        """Make a new session of a part of another, inside the database; see the port."""
        key, new = (app_name, user_id, session_id), new_key(app_name, user_id, new_session_id)
        if not _storable((*key[:2], f"{session_id}{at_event}")):
            raise session_not_found(key)
        await self._writer.submit(
            lambda db: many.fork(db, key, at_event, new), lambda _: self._cache.drop(new)
        )
        made = await self._load(new, None, complete=True)
        if made is None:
            raise session_not_found(new)
        return made

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return a copy of the user's shared state; see the port."""
        if not _storable((app_name, user_id, "")):
            return {}
        return await self._reader.submit(
            lambda db: scope_of(rows_of.shared(db, app_name, user_id)).value, lambda value: value
        )

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the session's state at creation; see `DurableStore`."""
        key = (session.app_name, session.user_id, session.id)
        return await self._reader.submit(lambda db: rows_of.initial(db, key), lambda state: state)

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
          InputValidationError: an event holds something that JSON cannot carry.
          StoreError: the file cannot be written.
        """
        key = (session.app_name, session.user_id, session.id)
        stored = [snapshot(session, event) for event in events]
        ids = [record.id for record, _ in stored]
        batch = rows_of.Batch(
            key, stored, rows, fence, claim, *begin_append(session, ids), basis_of(session)
        )
        cache = self._cache

        def known(sid: int) -> int | None:
            entry = cache.find(key)
            return entry.seq if entry is not None and entry.sid == sid else None

        def work(db: sqlite3.Connection) -> tuple[Appended, Fence | None]:
            return rows_of.append(db, batch, known)

        def show(answer: tuple[Appended, Fence | None]) -> Fence | None:
            done, fence = answer
            cache.extend(key, done)
            for event, (record, _) in zip(events, batch.events, strict=True):
                if record in done.records:
                    apply_event(session, event, record)
            note_append(session, done.first, done.revision, ids)
            return fence

        try:
            return await self._writer.submit(work, show, brief=not events[_BRIEF:])
        except UnicodeEncodeError as error:
            raise InputValidationError(
                f"An event for session {key[2]!r} has an id, an author, a branch or a journal row "
                f"that is not valid Unicode text: {error}."
            ) from error

    async def flush(self) -> None:
        """Wait until everything appended so far is committed."""
        if self._writer.has_begun:  # else there is nothing, and no file is to be made for it
            await self._writer.submit(lambda db: None, lambda _: None)

    async def close(self) -> None:
        """Commit what is queued, close the file and end the threads; harmless when repeated."""
        await self._threads.close()


def _storable(key: Key) -> bool:
    """Tell whether SQLite can hold these names at all; what it cannot hold does not exist."""
    try:
        "".join(key).encode()
    except (UnicodeEncodeError, TypeError):
        return False
    return True


def _listed(found: many.Listing) -> ListSessionsResponse:
    shared = {place: scope_of(rows) for place, rows in found.shared.items()}
    none = Scope()
    sessions: list[Session] = []
    for key, updated, revision, rows in found.sessions:
        user, app = shared.get(key[:2], none), shared.get((key[0], ""), none)
        sessions.append(listed_view(key, revision, updated, scope_of(rows), user, app))
    return ListSessionsResponse(sessions=sessions, next_page_token=found.next)
