"""Sessions built from what a store has read."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _clock
from ...events.event import Event
from ..base_session_service import GetSessionConfig, drop_temp_delta
from ..in_memory_session_service import limit_log
from ..log.event_log import EventLog, EventRecord
from ..session import Session, session_on, set_snapshot_token
from .session_cache import Entry, Scope, SessionCache
from .stored_rows import Changes, Key, Loaded, StateRow, split_state


def snapshot_event(session: Session, event: Event) -> tuple[EventRecord, Changes | None]:
    """Take what is to be stored of an event; its `temp:` keys go to the session alone."""
    if not event.id:
        event.id = _clock.new_id()
    delta = event.actions.state_delta
    changes = None
    if delta:
        changes = split_state(delta)
        session.state.update(drop_temp_delta(event))
    return EventRecord.of(event), changes


def scope_of(rows: Sequence[StateRow]) -> Scope:
    """Return state made of its rows."""
    scope = Scope()
    scope.write(0, rows)
    return scope


def admit_view(
    cache: SessionCache,
    key: Key,
    loaded: Loaded,
    base: Entry | None = None,
    config: GetSessionConfig | None = None,
) -> Session:
    """Bring a cached session up to what was read from the store; return a view of it.

    Args:
      base: the entry whose parts the reader skipped; None if it read everything.
      config: which events to show.
    """
    with cache.lock:  # an append of another thread would get between its log and its state
        return cached_view(key, cache.admit(key, loaded, base), config)


def cached_view(key: Key, entry: Entry, config: GetSessionConfig | None) -> Session:
    """Return the session of a cache's entry; its log is shared where all events are wanted."""
    return _build_session(key, limit_log(entry.level_log(), config), entry)


def remembered_view(key: Key, entry: Entry | None) -> Session | None:
    """Return the session of a cache's entry without a query, or None if the entry lacks a part.

    Its snapshot token is what the first append compares with the store.
    """
    if entry is None or entry.seq != entry.own.revision or min(entry.known) < 0:
        return None
    token = (entry.sid, *entry.known, entry.mark)
    session = cached_view(key, entry, None)
    set_snapshot_token(session, token)
    return session


def part_view(key: Key, loaded: Loaded) -> Session:
    """Return a session that is not cached, such as one of which only some events were read."""
    log = EventLog(loaded.records, offset=loaded.revision - len(loaded.records))
    own, user, app = (scope_of(rows or ()) for rows in (loaded.own, loaded.user, loaded.app))
    return _build_session(key, log, Entry(loaded.sid, log, own, user, app, loaded.updated))


def listed_view(
    key: Key, revision: int, updated: float, own: Scope, user: Scope, app: Scope
) -> Session:
    """Return a session without its events."""
    entry = Entry(0, EventLog(), own, user, app, updated)
    return _build_session(key, EventLog(offset=revision), entry)


def _build_session(key: Key, log: EventLog, entry: Entry) -> Session:
    state, removed = entry.merge_state()
    return session_on(
        log,
        id=key[2],
        app_name=key[0],
        user_id=key[1],
        state=state,
        tombstones=removed,
        last_update_time=entry.updated,
        number=entry.sid,
    )
