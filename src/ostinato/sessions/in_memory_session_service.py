"""InMemorySessionService: sessions in this process's memory. For tests, scripts and embedding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from .. import _clock
from .._adk_mode import follows_adk
from ..errors import AlreadyExistsError, StaleSessionError
from ..events.event import Event
from .base_session_service import (
    HIDDEN_PREFIX,
    GetSessionConfig,
    ListSessionsResponse,
    deleted_ids,
    drop_temp_delta,
    narrow_config,
    new_key,
)
from .in_memory.live_views import LiveDict, LiveList, live_tree
from .in_memory.memory_ownership import MemoryOwnership, Owned
from .log.event_log import EventLog, EventRecord
from .log.fork import answer_open_calls, closed_calls, fold_state, kept_records
from .session import (
    Session,
    apply_event,
    begin_append,
    copy_state,
    log_of,
    note_append,
    revision_of,
    session_on,
    stored_number,
    unacknowledged_ids,
)
from .state import SCOPED_PREFIXES, State, check_mapping, check_state_value, write_key
from .store.durable_store import LOCAL_FENCE, CallChanges, Claim, Fence, JournalRow, Place
from .store.lease_rules import find_clashes
from .store.listing_page import page_of, token_of
from .store.outside_writes import OverwrittenError, check_order
from .store.search_words import PART, contains_words, document_text, query_tokens
from .store.session_search import TITLE_KEY, FoundSessions, title_of
from .store.stored_rows import STALE, session_not_found

_WALK = 500  # sessions that one page of a search looks into


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

    def merge_removed(self) -> dict[str, Any]:
        return self.value | dict.fromkeys(self.removed)

    def live_view(self) -> LiveDict:
        """Return the values as a dict whose edits are written here."""

        def put(key: str, value: Any) -> Any:
            self.write(key, value)
            return value

        return LiveDict(self.value, put, lambda key: self.write(key, None))


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

    @property
    def revision(self) -> int:
        """Number of the newest event."""
        return len(self.log)

    def first_of(self, invocation_id: str) -> EventRecord | None:
        """Return the first event of an invocation, or None."""
        start = self.log.start_of(invocation_id)
        return None if start is None else self.log.records[start]


class InMemorySessionService(MemoryOwnership):
    """Session service that keeps everything in memory and loses it with the process (Spec 1 §3).

    State values may be any Python object here; other stores take JSON only.
    """

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str, str], _Stored] = {}
        super().__init__(self._sessions)
        self._users: dict[tuple[str, str], _Scope] = {}
        self._apps: dict[tuple[str], _Scope] = {}

    @property
    def sessions(self) -> dict[str, dict[str, dict[str, Session]]]:
        """What is stored, by app, user and id, to look at and to edit in tests, as in google-adk.

        A session's state holds its own keys only: see `user_state` and `app_state`. Edits of the
        dicts, of a session's `state` and of its `events` are stored; assigned fields are not.
        """
        found: dict[str, dict[str, dict[str, Session]]] = {}
        with self._lock:
            for key, stored in self._sessions.items():
                of_user = found.setdefault(key[0], {}).setdefault(key[1], {})
                of_user[key[2]] = self._live_session(key, stored)
        return live_tree(found, 3, self._put_session, partial(_drop_below, self._sessions))

    @property
    def user_state(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The state of users, by app and user, without the prefix of its keys; edits are stored."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        with self._lock:
            for (app_name, user_id), scope in self._users.items():
                found.setdefault(app_name, {})[user_id] = scope.live_view()
        return live_tree(
            found, 2, partial(_put_scope, self._users), partial(_drop_below, self._users)
        )

    @property
    def app_state(self) -> dict[str, dict[str, Any]]:
        """The state of apps, by app, without the prefix of its keys; edits are stored."""
        with self._lock:
            found = {key[0]: scope.live_view() for key, scope in self._apps.items()}
        return live_tree(
            found, 1, partial(_put_scope, self._apps), partial(_drop_below, self._apps)
        )

    def _live_session(self, key: tuple[str, str, str], stored: _Stored) -> Session:
        """Return a view of a session whose state and events can be edited."""
        session = self._build_session(key, stored, stored.log, shared=False)

        def put(name: str, value: Any) -> Any:
            self._write_state(key, stored, copy_state({name: value}))
            return stored.scope.value.get(name, value)

        def remove_key(name: str) -> None:
            if name in stored.scope.value:  # keys of users and apps stay
                stored.scope.write(name, None)

        def keep_events() -> None:
            stored.log = log_of(session)

        session.state = LiveDict(stored.scope.value, put, remove_key)
        session.events = LiveList(session.events, keep_events)
        return session

    def _put_session(self, path: tuple[str, ...], session: Session) -> Session:
        key = (path[0], path[1], path[2])
        self._sessions[key] = stored = _Stored(copy_state(session.state))
        stored.log, stored.updated = EventLog(log_of(session).records), session.last_update_time
        self._write_state(key, stored, copy_state(session.state))
        return self._live_session(key, stored)

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
        check_mapping("state", state)
        if key in self._sessions:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.")
        for name, value in (state or {}).items():
            check_state_value(name, value)
        own = {
            k: v
            for k, v in (state or {}).items()
            if v is not None and not k.startswith(SCOPED_PREFIXES)
        }
        self._sessions[key] = stored = _Stored(copy_state(own))
        self._write_state(key, stored, copy_state(state or {}))
        return self._build_session(key, stored, stored.log)

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
        return self._build_session(key, stored, limit_log(stored.log, config))

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
        """List sessions without events, newest first; see `SqliteSessionService`.

        Programs that come through the alias get them in the order of creation, as in google-adk.
        """
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
        if not (follows_adk() and page.size is None):  # else in the order of creation
            found.sort(key=lambda item: item[1].place, reverse=True)
        more = page.size is not None and len(found) > page.size
        found = found[: page.size]
        return ListSessionsResponse(
            sessions=[
                self._build_session(key, stored, EventLog(offset=len(stored.log)))
                for key, stored in found
            ],
            next_page_token=token_of(*found[-1][1].place) if more else None,
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
        """Find sessions that hold all words of a text; see `SessionSearch`.

        A page looks into a bounded number of sessions, as there is no index.
        """
        page_of(page_size, page_token)  # refuses what is wrong
        tokens = query_tokens(app_name, user_id, text)
        if not tokens:
            return FoundSessions()
        walked = self.list_sessions_sync(
            app_name=app_name, user_id=user_id, page_size=_WALK, page_token=page_token
        )
        found = FoundSessions(next_page_token=walked.next_page_token)
        last = 0.0, 0
        for session in walked.sessions:
            stored = self._sessions.get((app_name, session.user_id, session.id))
            if stored is None or not _contains_words(session, stored.log.records, tokens):
                continue
            if len(found.sessions) == page_size:
                found.next_page_token = token_of(*last)
                break
            found.sessions.append(session)
            last = stored.place
        return found

    async def index_sessions(self) -> int:
        """Do nothing, as there is no index; see `SessionSearch`."""
        return 0

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session; see the port."""
        self.delete_session_sync(app_name=app_name, user_id=user_id, session_id=session_id)

    def delete_session_sync(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Delete a session without an event loop; see the port."""
        for one in deleted_ids(session_id):
            self._sessions.pop((app_name, user_id, one), None)

    async def delete_user(self, app_name: str, user_id: str) -> None:
        """Delete a user's sessions and state; see the port."""
        await self.erase_user(app_name, user_id)

    async def erase_user(self, app_name: str | None, user_id: str) -> int:
        """Delete all of a user; see `EraseUser`."""
        with self._lock:
            gone = [k for k in self._sessions if k[1] == user_id and app_name in (None, k[0])]
            for key in gone:
                del self._sessions[key]
            for place in [p for p in self._users if p[1] == user_id and app_name in (None, p[0])]:
                del self._users[place]
        return len(gone)

    async def delete_sessions_before(self, app_name: str, timestamp: float) -> int:
        """Delete sessions that were last changed before a time; see the port."""
        with self._lock:
            now = _clock.now()
            old = [
                key
                for key, stored in self._stored_of_app(app_name)
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
        close_requests: bool = False,
    ) -> Session:
        """Make a new session of a part of another; see the port."""
        source = self._sessions.get((app_name, user_id, session_id))
        if source is None:
            raise session_not_found((app_name, user_id, session_id))
        key = new_key(app_name, user_id, new_session_id)
        kept = kept_records(source.log.records, at_event, session_id)
        state = fold_state(source.initial, kept) if at_event else source.scope.merge_removed()
        if key in self._sessions:
            raise AlreadyExistsError(f"Session with id {key[2]} already exists.")
        self._sessions[key] = made = _Stored(copy_state(source.initial))
        closing = answer_open_calls(kept, close_requests=close_requests)
        made.log = EventLog([*kept, *(EventRecord.of(event) for event in closing)])
        if source.requests is not None:
            made.requests = source.requests.copy_for_fork(kept, closed_calls(closing))
        self._write_state(key, made, copy_state(state))
        return self._build_session(key, made, made.log)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return a copy of the user's shared state; see the port."""
        scope = self._users.get((app_name, user_id))
        return copy_state(scope.value) if scope else {}

    async def append(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        fence: Fence | None = None,
        claim: Claim | None = None,
        changes: CallChanges | None = None,
    ) -> Fence | None:
        """Store events and rows together; see `DurableStore`."""
        with self._lock:
            return self._commit_events(session, events, rows, fence, claim, changes)

    def _commit_events(
        self,
        session: Session,
        events: Sequence[Event],
        rows: Sequence[JournalRow],
        fence: Fence | None,
        claim: Claim | None,
        changes: CallChanges | None,
    ) -> Fence | None:
        key, stored = self._find_session(session)
        first = len(stored.log.records) + 1
        if changes is not None:
            before = first - 1 if fence is None and claim is None else None
            stored.need_requests().check_answers(changes.answers, before)
        is_behind = revision_of(session) < first - 1
        if is_behind and (fence or claim):
            _settle_order(session, stored.log, events)
        batch = [(event, _snapshot_event(session, event)) for event in events]
        if is_behind:
            begin_append(session, [record.id for _, record in batch])
        given = None
        if claim is not None:
            given = self._grant_lease(Place(*key), stored, claim)
        elif fence is None:
            _check_outside(session, stored.log, [record for _, record in batch])
        else:
            if fence is not LOCAL_FENCE:
                stored.check_fence_of(fence)
            if stored_number(session) not in (0, stored.number):
                raise session_not_found(key)  # the run's session was deleted; this is a new one
        for event, record in batch:
            if not stored.log.append(record):
                continue
            if delta := event.actions.state_delta:
                self._write_state(key, stored, copy_state(delta))
            stored.updated = event.timestamp
            apply_event(session, event, record)
        stored.write_journal(rows)
        if changes is not None:
            stored.need_requests().apply_changes(changes)
        note_append(session, first, len(stored.log.records), ())
        return given

    def _grant_lease(self, place: Place, stored: _Stored, claim: Claim) -> Fence:
        if claim.within is not None:
            outer, held = claim.within
            self._get_stored(outer).check_fence_of(held)
        return stored.claim_lease(place, claim, stored.revision)

    async def initial_state(self, session: Session) -> dict[str, Any]:
        """Return the session's state at creation; see `DurableStore`."""
        return copy_state(self._find_session(session)[1].initial)

    def _find_session(self, session: Session) -> tuple[tuple[str, str, str], _Stored]:
        key = (session.app_name, session.user_id, session.id)
        return key, self._get_stored(key)

    def _get_stored(self, key: tuple[str, str, str]) -> _Stored:
        stored = self._sessions.get(key)
        if stored is None:
            raise session_not_found(key)
        return stored

    def _write_state(
        self, key: tuple[str, str, str], stored: _Stored, delta: dict[str, Any]
    ) -> None:
        for name, value in delta.items():
            if name.startswith(State.APP_PREFIX):
                scope = self._apps.setdefault(key[:1], _Scope())
                scope.write(name[len(State.APP_PREFIX) :], value)
            elif name.startswith(State.USER_PREFIX):
                scope = self._users.setdefault(key[:2], _Scope())
                scope.write(name[len(State.USER_PREFIX) :], value)
            elif not name.startswith(State.TEMP_PREFIX):
                stored.scope.write(name, value)

    def _build_session(
        self, key: tuple[str, str, str], stored: _Stored, log: EventLog, *, shared: bool = True
    ) -> Session:
        state = copy_state(stored.scope.value)
        tombstones = set(stored.scope.removed)
        scopes = (
            (State.APP_PREFIX, self._apps.get(key[:1])),
            (State.USER_PREFIX, self._users.get(key[:2])),
        )
        for prefix, scope in scopes:
            if shared and scope is not None:
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
            number=stored.number,
        )


def _put_scope(
    scopes: MutableMapping[Any, _Scope], path: tuple[str, ...], values: Mapping[str, Any]
) -> LiveDict:
    scopes[path] = scope = _Scope()
    scope.value = dict(values)
    return scope.live_view()


def _drop_below(stored: MutableMapping[Any, Any], path: tuple[str, ...]) -> None:
    """Remove what is stored under keys that begin with `path`."""
    for key in [key for key in stored if key[: len(path)] == path]:
        del stored[key]


def _snapshot_event(session: Session, event: Event) -> EventRecord:
    """Take what is to be stored of an event; its `temp:` keys go to the session alone."""
    if not event.id:
        event.id = _clock.new_id()
    if event.actions.state_delta:
        session.state.update(drop_temp_delta(event))
        for name, value in event.actions.state_delta.items():
            check_state_value(name, value)
    return EventRecord.of(event, fallback=repr)


def _settle_order(session: Session, log: EventLog, events: Sequence[Event]) -> None:
    """Take the keys out of a run's events that others have written later."""
    newer = log.records[revision_of(session) :]
    try:
        check_order(session, events, newer, unacknowledged_ids(session))
    except OverwrittenError as error:
        error.settle(session, events)


def _check_outside(session: Session, log: EventLog, batch: Sequence[EventRecord]) -> None:
    """Reject an append without a lease that would overwrite a value unseen by its caller."""
    newer = log.records[revision_of(session) :]
    if newer and any(
        r.id not in log for r in find_clashes(batch, newer, unacknowledged_ids(session))
    ):
        raise StaleSessionError(STALE)


def limit_log(log: EventLog, config: GetSessionConfig | None) -> EventLog:
    """Return `log` itself, or a log of the records that `config` asks for."""
    config = narrow_config(config)
    if config is None:
        return log
    start = 0
    if config.num_recent_events is not None:
        start = max(0, len(log) - config.num_recent_events)
    if config.after_timestamp is not None:
        while start < len(log) and log.records[start].timestamp < config.after_timestamp:
            start += 1
    return EventLog(log.records[start:], offset=log.offset + start)


def _contains_words(session: Session, records: Sequence[EventRecord], tokens: list[str]) -> bool:
    """Return whether a stretch of a session holds all tokens of a query."""
    title = title_of(session.state.get(TITLE_KEY)) or ""
    for start in range(0, max(len(records), 1), PART):
        titles = [session.id, title] if start == 0 else []
        events = [record.data for record in records[start : start + PART]]
        if contains_words(document_text(session.app_name, session.user_id, titles, events), tokens):
            return True
    return False
