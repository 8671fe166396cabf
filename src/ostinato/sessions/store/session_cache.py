"""The sessions that a store keeps in memory: logs and state, bounded in bytes.

Filled from committed rows only and always behind or level with the store, never ahead of it: each
part knows its revision, so one query finds what is missing. Used by
`sqlite_session_service.py`.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..log.event_log import EventLog, EventRecord
from ..session import copy_state
from ..state import State, write_key
from .stored_rows import Appended, Key, Loaded, StateRow, decode_value

_RECORD_BYTES = 400  # about what a record costs beside its text
_ENTRY_BYTES = 1000


@dataclass(slots=True, weakref_slot=True)
class Scope:
    """State of one scope as of `revision`; the revision is -1 where nothing was loaded.

    Attributes:
      value: values by key, without prefix.
      removed: removed keys.
      size: length of the values as JSON text.
      sizes: the same by key.
    """

    revision: int = -1
    value: dict[str, Any] = field(default_factory=dict[str, Any])
    removed: set[str] = field(default_factory=set[str])
    size: int = 0
    sizes: dict[str, int] = field(default_factory=dict[str, int])

    def load(self, revision: int, rows: Sequence[StateRow]) -> None:
        """Replace everything by the rows of `revision`, unless this is newer already."""
        if revision < self.revision:
            return
        self.value, self.removed, self.size, self.sizes = {}, set(), 0, {}
        self.write(revision, rows)

    def write(self, revision: int, rows: Sequence[StateRow]) -> None:
        """Apply `rows` and set `revision`."""
        for key, text in rows:
            write_key(self.value, self.removed, key, None if text is None else decode_value(text))
            size = len(key) + len(text or "")
            self.size += size - self.sizes.get(key, 0)
            self.sizes[key] = size
        self.revision = revision


@dataclass(slots=True)
class Entry:
    """One cached session.

    Attributes:
      sid: number of the session in the store; a session that is deleted and made again has another.
      log: its events, all from the first on, or from number `tail` on with summaries before them.
      own, user, app: its state; `user` and `app` are shared with other entries.
      updated: time of the last change, seconds since 1970.
      size: bytes, about.
      seq: number of the newest event in the log.
      tail: number of the event from which on the log holds all.
      mark: what the store notes of the row that `own` is from; None if it notes nothing.
    """

    sid: int
    log: EventLog
    own: Scope
    user: Scope
    app: Scope
    updated: float
    size: int = _ENTRY_BYTES
    seq: int = 0
    tail: int = 1
    mark: Any = None

    @property
    def known(self) -> tuple[int, int, int]:
        """Revisions of session, user and app state that this entry holds."""
        return (self.own.revision, self.user.revision, self.app.revision)

    def extend(self, first: int, records: Sequence[EventRecord]) -> None:
        """Add records of which the first has number `first`, but never leave a gap."""
        if first > self.seq + 1:
            return
        for record in records[self.seq + 1 - first :]:
            self.log.append(record)
            self.seq += 1
            self.size += len(record.data) + _RECORD_BYTES

    def restart_log(self, loaded: Loaded) -> None:
        """Start the log anew from what was read, where that reaches further back than the log."""
        if loaded.first >= self.tail and (self.seq or loaded.first == 1):
            return
        newer = self.log.records[len(self.log) - max(0, self.seq - loaded.revision) :]
        records = [*loaded.summaries, *loaded.records, *newer]
        self.seq = max(self.seq, loaded.revision)
        self.tail = loaded.first
        self.log = EventLog(records, offset=self.seq - len(records))
        self.size = _ENTRY_BYTES + sum(len(r.data) + _RECORD_BYTES for r in records)

    def adopt_pruned(self, loaded: Loaded) -> None:
        """Hold what was read of a session from which events were deleted from outside.

        The numbers of the newest events do not change; those before move up to them.
        """
        known: list[EventRecord] = []
        if self.seq and loaded.first > self.seq:
            known = self.log.records
        else:
            self.tail = loaded.first
        records = [*loaded.summaries, *known, *loaded.records]
        self.seq = loaded.revision
        self.log = EventLog(records, offset=self.seq - len(records))
        self.size = _ENTRY_BYTES + sum(len(r.data) + _RECORD_BYTES for r in records)

    def contradicts(self, first: int, records: Sequence[EventRecord]) -> bool:
        """Return whether the log holds other events under these numbers, or these under others.

        Args:
          first: number of the first record.
          records: events of the store, one after another.
        """
        held = self.log.records
        for number, record in enumerate(records, first):
            back = self.seq - number
            if back < 0:
                if record.id in self.log:
                    return True
            elif back < len(held) and held[-1 - back].id != record.id:
                return True
        return False

    def level_log(self) -> EventLog:
        """Return the log up to the event that the state is of.

        Events that other processes wrote are known before the state that they led to.
        """
        ahead = self.seq - self.own.revision
        if ahead <= 0 or self.own.revision < 0:
            return self.log
        return EventLog(self.log.records[:-ahead], offset=self.log.offset)

    def merge_state(self) -> tuple[dict[str, Any], set[str]]:
        """Return a copy of the merged state, and the removed keys."""
        state = copy_state(self.own.value)
        removed = set(self.own.removed)
        for prefix, scope in ((State.APP_PREFIX, self.app), (State.USER_PREFIX, self.user)):
            if scope.value:
                state.update({prefix + k: v for k, v in copy_state(scope.value).items()})
            if scope.removed:
                removed.update(prefix + k for k in scope.removed)
        return state, removed


class SessionCache:
    """Cached sessions, least recently used first; safe to use from several threads.

    Args:
      limit: bytes to keep, about; the session used last stays whatever its size.

    Attributes:
      lock: held while an entry is changed, and while a view of one is made.
    """

    def __init__(self, limit: int) -> None:
        self.lock = threading.RLock()
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._scopes: weakref.WeakValueDictionary[tuple[str, str], Scope] = (
            weakref.WeakValueDictionary()
        )

    def find(self, key: Key) -> Entry | None:
        """Return the entry of a session, which is now the one used last."""
        with self.lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def drop(self, key: Key) -> None:
        """Forget a session."""
        with self.lock:
            self._drop_entry(key)

    def admit(self, key: Key, loaded: Loaded, base: Entry | None) -> Entry:
        """Bring a session up to what was read from the store; return its entry.

        Args:
          base: the entry whose parts the reader skipped; None if it read everything.
        """
        with self.lock:
            entry = base or self._entries.get(key)
            if entry is None or entry.sid != loaded.sid:
                entry = Entry(
                    loaded.sid,
                    EventLog(),
                    Scope(),
                    self._scopes.setdefault((key[0], key[1]), Scope()),
                    self._scopes.setdefault((key[0], ""), Scope()),
                    loaded.updated,
                )
            if self._entries.get(key) is not entry:
                self._drop_entry(key)
                self._entries[key] = entry
                self._size += entry.size + entry.own.size
            before = entry.size + entry.own.size
            if loaded.pruned and loaded.revision >= entry.seq:
                entry.adopt_pruned(loaded)
            else:
                entry.restart_log(loaded)
                entry.extend(loaded.first, loaded.records)
            if entry.own.revision <= loaded.revision:
                entry.updated, entry.mark = loaded.updated, loaded.mark
            if loaded.own is not None:
                entry.own.load(loaded.revision, loaded.own)
            if loaded.user is not None:
                entry.user.load(loaded.user_revision, loaded.user)
            if loaded.app is not None:
                entry.app.load(loaded.app_revision, loaded.app)
            self._entries.move_to_end(key)
            self._size += entry.size + entry.own.size - before
            self._evict_entries()
            return entry

    def extend(self, key: Key, done: Appended) -> None:
        """Bring a session up to what was just appended, where it stood directly before it."""
        with self.lock:
            entry = self._entries.get(key)
            if entry is None or entry.sid != done.sid:
                return
            before = entry.size + entry.own.size
            if done.missing:
                pruned = len(done.missing) < done.first - done.missing_from
                if pruned or entry.contradicts(done.missing_from, done.missing):
                    return  # events were deleted from outside; the next read finds which are left
                entry.extend(done.missing_from, done.missing)
            entry.extend(done.first, done.records)
            has_user = not done.user or entry.user.revision == done.user_revision - 1
            has_app = not done.app or entry.app.revision == done.app_revision - 1
            if done.user and has_user:
                entry.user.write(done.user_revision, done.user)
            if done.app and has_app:
                entry.app.write(done.app_revision, done.app)
            # State is shown up to the revision of `own`: with all that its events wrote, or not.
            if has_user and has_app and entry.own.revision == done.first - 1:
                entry.own.write(done.revision, done.own)
                entry.updated, entry.mark = done.updated, done.mark
            self._size += entry.size + entry.own.size - before
            if self._size > self._limit:
                self._evict_entries()

    def _drop_entry(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry.size + entry.own.size

    def _evict_entries(self) -> None:
        while self._size > self._limit and len(self._entries) > 1:
            self._drop_entry(next(iter(self._entries)))
