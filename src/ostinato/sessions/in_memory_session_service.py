"""InMemorySessionService: sessions in this process's memory. For tests, scripts and embedding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from .. import _clock
from ..errors import AlreadyExistsError, StaleSessionError
from ..events.event import Event
from ._durable_store import Claim, Fence, JournalRow, Place
from ._fork import answers, folded, kept_records
from ._lease_rules import clashes
from ._memory_ownership import MemoryOwnership, Owned
from ._page import page_of, token_of
from ._stored_rows import STALE, session_not_found
from .base_session_service import (
    HIDDEN_PREFIX,
    GetSessionConfig,
    ListSessionsResponse,
    drop_temp_delta,
    narrowing,
    new_key,
)
from .event_log import EventLog, EventRecord
from .session import (
    Session,
    apply_event,
    begin_append,
    copy_state,
    note_append,
    own_of,
    revision_of,
    session_on,
)
from .state import SCOPED_PREFIXES, State, write_key


class _Scope:
    """State of one scope: its values and its removed keys."""

    __slots__ = ("_removed", "value")

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self._removed: set[str] | None = None  # an empty set for each session is 200 B

    @property
    def removed(self) -> Iterable[str]:
        return self._removed or ()

    def write(self, key: str, value: Any) -> None:
        removed = self._removed or set[str]()
        write_key(self.value, removed, key, value)
        self._removed = removed or None

    def merged(self) -> dict[str, Any]:
        return self.value | dict.fromkeys(self.removed)


class _Stored(Owned):
    """One stored session: its log, its own state and that state as it was at creation."""

    __slots__ = ("initial", "log", "number", "scope", "updated")
    made = count(1)

    def __init__(self, initial: dict[str, Any]) -> None:
        super().__init__()
        self.initial = initial
        self.log = EventLog()
        self.scope = _Scope()
        self.updated = _clock.now()
        self.number = next(self.made)

    @property
    def place(self) -> tuple[float, int]:
        """Where this stands in a listing."""
        return (self.updated, self.number)


class InMemorySessionService(MemoryOwnership):
    """Session service that keeps everything in memory and loses it with the process (Spec 1 §3).

    State values may be any Python object here; other stores take JSON only.
    """

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str, str], _Stored] = {}
        super().__init__(self._sessions)
        self._users: dict[tuple[str, str], _Scope] = {}
        self._apps: dict[str, _Scope] = {}

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session; see the port."""
        return self.create_session_sync(
            app_name=app_name, user_id=user_id, state=state, session_id=session_id
        )

    def create_session_sync(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Session:
        """Create a session without an event loop; see the port."""
        key = new_key(app_name, user_id, session_id)
        if key in self._sessions:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.")
        own = {
            k: v
            for k, v in (state or {}).items()
            if v is not None and not k.startswith(SCOPED_PREFIXES)
        }
        self._sessions[key] = stored = _Stored(copy_state(own))
        self._write(key, stored, copy_state(state or {}))
        return self._view(key, stored, stored.log)

    async def get_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a copy of a session; see the port."""
        return self.get_session_sync(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    def get_session_sync(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        config: GetSessionConfig | None = None,
    ) -> Session | None:
        """Return a copy of a session without an event loop; see the port."""
        key = (app_name, user_id, session_id)
        stored = self._sessions.get(key)
        if stored is None:
            return None
        return self._view(key, stored, limited(stored.log, config))

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
        return self.get_session_sync(
            app_name=app_name, user_id=user_id, session_id=session_id, config=config
        )

    async def list_sessions(
        self,
        *,
        app_name: str | None,
        user_id: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> ListSessionsResponse:
        """List sessions without events, newest first; see `SqliteSessionService`."""
        return self.list_sessions_sync(
            app_name=app_name, user_id=user_id, page_size=page_size, page_token=page_token
        )

    def list_sessions_sync(
        self,
        *,
        app_name: str | None,
        user_id: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> ListSessionsResponse:
        """List sessions without an event loop; see `list_sessions`."""
        page = page_of(page_size, page_token)
        found = [
            (key, stored)
            for key, stored in self._sessions.items()
            if app_name in (None, key[0])
            and user_id in (None, key[1])
            and not key[2].startswith(HIDDEN_PREFIX)
            and (page.updated is None or stored.place < (page.updated, page.number))
        ]
        found.sort(key=lambda item: item[1].place, reverse=True)
        more = page.size is not None and len(found) > page.size
        found = found[: page.size]
        return ListSessionsResponse(
            sessions=[
                self._view(key, stored, EventLog(offset=len(stored.log))) for key, stored in found
            ],
            next_page_token=token_of(*found[-1][1].place) if more else None,
        )

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session; see the port."""
        self.delete_session_sync(app_name=app_name, user_id=user_id, session_id=session_id)

    def delete_session_sync(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session without an event loop; see the port."""
        self._sessions.pop((app_name, user_id, session_id), None)

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions and state; see the port."""
        with self._lock:
            for key in [k for k in self._sessions if k[:2] == (app_name, user_id)]:
                del self._sessions[key]
            self._users.pop((app_name, user_id), None)

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete sessions that were last changed before a time; see the port."""
        with self._lock:
            now = _clock.now()
            old = [
                key
                for key, stored in self._of(app_name)
                if self._sessions[key].updated < timestamp and not stored.is_held(now)
            ]
            for key in old:
                del self._sessions[key]
        return len(old)

    async def fork_session(
        self,
        *,
        app_name: str,
        user_id: str,
        session_id: str,
        at_event: str | None = None,
        new_session_id: str | None = None,
    ) -> Session:
        """Make a new session of a part of another; see the port."""
        source = self._sessions.get((app_name, user_id, session_id))
        if source is None:
            raise session_not_found((app_name, user_id, session_id))
        key = new_key(app_name, user_id, new_session_id)
        kept = kept_records(source.log.records, at_event, session_id)
        state = folded(source.initial, kept) if at_event else source.scope.merged()
        if key in self._sessions:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.")
        self._sessions[key] = made = _Stored(copy_state(source.initial))
        made.log = EventLog([*kept, *(EventRecord.of(event) for event in answers(kept))])
        self._write(key, made, copy_state(state))
        return self._view(key, made, made.log)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return a copy of the user's shared state; see the port."""
        scope = self._users.get((app_name, user_id))
        return copy_state(scope.value) if scope else {}

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
        """Store events and rows together; see `DurableStore`."""
        with self._lock:
            return self._append(session, events, rows, fence, claim)

    def _append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow],
        fence: Fence | None,
        claim: Claim | None,
    ) -> Fence | None:
        key, stored = self._find(session)
        batch: list[tuple[Event, EventRecord]] = []
        for event in events:
            if not event.id:
                event.id = _clock.new_id()
            session.state.update(drop_temp_delta(event))
            batch.append((event, EventRecord.of(event, fallback=repr)))
        given = None
        first = len(stored.log) + 1
        if claim is not None:
            if claim.within is not None:
                outer, held = claim.within
                self._stored(outer).check(held)
            given = stored.claim(Place(*key), claim, first - 1)
        elif fence is not None:
            stored.check(fence)
        else:
            _check_outside(session, stored.log, [record for _, record in batch])
        for event, record in batch:
            if not stored.log.append(record):
                continue
            if event.actions.state_delta:
                self._write(key, stored, copy_state(event.actions.state_delta))
            stored.updated = event.timestamp
            apply_event(session, event, record)
        stored.write_journal(rows)
        note_append(session, first, len(stored.log), ())
        return given

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the session's state at creation; see `DurableStore`."""
        return copy_state(self._find(session)[1].initial)

    def _find(self, session: Session) -> tuple[tuple[str, str, str], _Stored]:
        key = (session.app_name, session.user_id, session.id)
        return key, self._stored(key)

    def _stored(self, key: tuple[str, str, str]) -> _Stored:
        stored = self._sessions.get(key)
        if stored is None:
            raise session_not_found(key)
        return stored

    def _write(self, key: tuple[str, str, str], stored: _Stored, delta: dict[str, Any]) -> None:
        for name, value in delta.items():
            if name.startswith(State.APP_PREFIX):
                scope = self._apps.setdefault(key[0], _Scope())
                scope.write(name[len(State.APP_PREFIX) :], value)
            elif name.startswith(State.USER_PREFIX):
                scope = self._users.setdefault(key[:2], _Scope())
                scope.write(name[len(State.USER_PREFIX) :], value)
            elif not name.startswith(State.TEMP_PREFIX):
                stored.scope.write(name, value)

    def _view(self, key: tuple[str, str, str], stored: _Stored, log: EventLog) -> Session:
        state = copy_state(stored.scope.value)
        tombstones = set(stored.scope.removed)
        shared = (
            (State.APP_PREFIX, self._apps.get(key[0])),
            (State.USER_PREFIX, self._users.get(key[:2])),
        )
        for prefix, scope in shared:
            if scope is not None:
                state.update({prefix + k: v for k, v in copy_state(scope.value).items()})
                tombstones.update(prefix + k for k in scope.removed)
        return session_on(
            log,
            id=key[2],
            app_name=key[0],
            user_id=key[1],
            state=state,
            tombstones=tombstones,
            last_update_time=stored.updated,
        )


def _check_outside(session: Session, log: EventLog, batch: Sequence[EventRecord]) -> None:
    """Refuse an append from outside that would overwrite a value nobody there has seen."""
    newer = log.records[revision_of(session) :]
    if newer and any(r.id not in log for r in clashes(batch, newer, own_of(session))):
        raise StaleSessionError(STALE)
    if newer:
        begin_append(session, [record.id for record in batch])


def limited(log: EventLog, config: GetSessionConfig | None) -> EventLog:
    """Return `log` itself, or a log of the records that `config` asks for."""
    config = narrowing(config)
    if config is None:
        return log
    start = 0
    if config.num_recent_events is not None:
        start = max(0, len(log) - config.num_recent_events)
    if config.after_timestamp is not None:
        while start < len(log) and log.records[start].timestamp < config.after_timestamp:
            start += 1
    return EventLog(log.records[start:], offset=log.offset + start)
