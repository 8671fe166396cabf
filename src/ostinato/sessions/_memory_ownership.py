"""The part of InMemorySessionService that is about owners: leases, inbox and journal.

Base class of `in_memory_session_service.py`, whose stored sessions are `Owned`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from .. import _clock
from ._durable_store import Claim, Fence, InboxMessage, JournalRow, Lease, Place, Renewal
from ._lease_rules import NOBODY, check_fence, grant, passed_by
from ._stored_rows import session_not_found
from .base_session_service import BaseSessionService


class Owned:
    """What belongs to a session beside its events.

    Attributes:
      lease: the lease; its `left` counts from `stamp`.
      stamp: when the lease was last written.
      begun: when the open invocation was first claimed.
      cancelled: whether somebody asked to cancel it.
      inbox: messages that wait, first come first; their `left` is the time at which they end.
      since: when each of them came.
      journal: rows by invocation and call.
    """

    __slots__ = ("begun", "cancelled", "inbox", "journal", "lease", "since", "stamp")

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.stamp = 0.0
        self.begun = 0.0
        self.cancelled = False
        self.inbox: dict[str, InboxMessage] = {}
        self.since: dict[str, float] = {}
        self.journal: dict[tuple[str, str], JournalRow] = {}

    def lease_at(self, now: float) -> Lease | None:
        """Return the lease as it is at a time."""
        if self.lease is None:
            return None
        return replace(self.lease, left=self.lease.left - (now - self.stamp))

    def write_journal(self, rows: Iterable[JournalRow]) -> None:
        """Write rows; a `started` one never replaces a `finished` one."""
        for row in rows:
            old = self.journal.get((row.invocation_id, row.call_id))
            if old is None or row.status != "started" or old.status != "finished":
                self.journal[row.invocation_id, row.call_id] = row

    def claim(self, place: Place, wish: Claim, revision: int) -> Fence:
        """Give the lease to whoever claims it, and take its message out of the inbox.

        Raises:
          SessionBusyError, StaleSessionError: see `grant`.
        """
        now = _clock.now()
        before = self.lease
        first = next(iter(self.inbox.values()), None)
        self.lease = new = grant(place, self.lease_at(now), first, wish, revision)
        self.clear(passed_by(before, wish))
        if before is None or before.invocation_id != new.invocation_id:
            self.begun, self.cancelled = now, False
        self.stamp = now
        if wish.message is not None and not wish.keep_message:
            self.take(wish.message)
        return Fence(new.owner, new.token)

    def clear(self, invocation_id: str) -> None:
        """Delete an invocation's rows in the journal."""
        for key in [each for each in self.journal if each[0] == invocation_id]:
            del self.journal[key]

    def check(self, fence: Fence) -> None:
        """Refuse an append of somebody who no longer owns the session.

        Raises:
          LeaseLostError: the fence is not the stored one.
        """
        lease = self.lease
        check_fence(fence, lease and lease.owner, lease.token if lease else 0)

    def held(self, fence: Fence) -> Lease | None:
        """Return the lease where whoever has this fence holds it."""
        lease = self.lease
        if lease is None or (lease.owner, lease.token) != (fence.owner, fence.token):
            return None
        return lease

    def is_held(self, now: float) -> bool:
        """Tell whether somebody's lease lasts."""
        lease = self.lease_at(now)
        return lease is not None and bool(lease.owner) and lease.left > 0

    def take(self, invocation_id: str) -> None:
        """Take a message out of the inbox."""
        self.inbox.pop(invocation_id, None)
        self.since.pop(invocation_id, None)


class MemoryOwnership(BaseSessionService):
    """Leases, inbox and journal in this process's memory.

    Args:
      sessions: the stored sessions, as the subclass keeps them.
    """

    shared = False

    def __init__(self, sessions: Mapping[tuple[str, str, str], Owned]) -> None:
        self._owned = sessions
        self._lock = threading.RLock()

    async def journal(self, place: Place, invocation_id: str) -> list[JournalRow]:
        """Return the rows of an invocation; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            rows = list(found.journal.values()) if found else []
        return [row for row in rows if row.invocation_id == invocation_id]

    async def lease(self, place: Place) -> Lease | None:
        """Return a session's lease; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            return found.lease_at(_clock.now()) if found else None

    async def renew(self, held: Sequence[tuple[Place, Fence]], seconds: float) -> Sequence[Renewal]:
        """Prolong leases; see `DurableStore`."""
        with self._lock:
            return [self._renew(place, fence, seconds) for place, fence in held]

    def _renew(self, place: Place, fence: Fence, seconds: float) -> Renewal:
        found = self._owned.get(place)
        lease = found and found.held(fence)
        if found is None or lease is None:
            return Renewal(place, fence.token, lost=True, cancelled=False)
        found.lease, found.stamp = replace(lease, left=seconds), _clock.now()
        return Renewal(place, fence.token, lost=False, cancelled=found.cancelled)

    async def release(
        self, place: Place, fence: Fence, *, keep_rows: bool = False, wait: bool = True
    ) -> None:
        """Give a lease back; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.held(fence)
            if found is None or lease is None:
                return
            if not keep_rows:
                found.clear(lease.invocation_id)
            found.lease = replace(lease, owner="", invocation_id="")

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Give a lease back and mark its invocation as stuck; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.held(fence)
            if found is not None and lease is not None:
                found.lease = replace(lease, owner="", stuck=reason)
                found.cancelled = False

    async def hand_over(self, place: Place, fence: Fence) -> None:
        """End a lease whose invocation stays open; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.held(fence)
            if found is not None and lease is not None:
                found.stamp = _clock.now()
                found.lease = replace(
                    lease,
                    owner=NOBODY,
                    process="",
                    token=lease.token + 1,
                    left=0.0,
                    attempts=max(lease.attempts - 1, 0),
                )

    async def request_cancel(self, place: Place, invocation_id: str | None = None) -> bool:
        """Ask the owner of a session to cancel its invocation; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.lease
            if found is None or lease is None or not lease.owner:
                return False
            if invocation_id not in (None, lease.invocation_id):
                return False
            found.cancelled = True
            return True

    async def open_leases(
        self, app_name: str | None = None, *, stuck: bool = False, limit: int = 1000
    ) -> Sequence[Lease]:
        """Return leases with an open invocation, oldest first; see `DurableStore`."""
        with self._lock:
            now = _clock.now()
            leases = [
                (found.begun, lease)
                for _, found in self._of(app_name)
                if (lease := found.lease_at(now)) is not None
                and lease.invocation_id
                and bool(lease.stuck) == stuck
            ]
        leases.sort(key=lambda item: item[0])
        return [lease for _, lease in leases[:limit]]

    async def put_message(self, place: Place, message: InboxMessage, seconds: float) -> None:
        """Store a message at the end of a session's inbox; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            if found is None:
                raise session_not_found(place)
            if message.invocation_id not in found.inbox:
                now = _clock.now()
                found.inbox[message.invocation_id] = replace(message, left=now + seconds)
                found.since[message.invocation_id] = now

    async def messages(self, place: Place) -> Sequence[InboxMessage]:
        """Return the messages that wait in a session; see `DurableStore`."""
        with self._lock:
            now = _clock.now()
            found = self._owned.get(place)
            waiting = list(found.inbox.values()) if found else []
        return [replace(message, left=message.left - now) for message in waiting]

    async def take_messages(
        self, app_name: str, owner: str, process: str, seconds: float, limit: int
    ) -> Sequence[tuple[Place, str]]:
        """Take messages that nobody waits for; see `DurableStore`."""
        with self._lock:
            now = _clock.now()
            free: list[tuple[float, Place, InboxMessage]] = []
            for key, found in self._of(app_name):
                first = next(iter(found.inbox.values()), None)
                held = found.lease is not None and found.lease.owner
                if first is None or held or (first.owner and first.left > now):
                    continue
                free.append((found.since[first.invocation_id], Place(*key), first))
            free.sort(key=lambda item: item[:2])
            taken = [(place, message) for _, place, message in free[:limit]]
            for place, message in taken:
                self._owned[place].inbox[message.invocation_id] = replace(
                    message, owner=owner, process=process, left=now + seconds
                )
        return [(place, message.invocation_id) for place, message in taken]

    async def renew_messages(self, owner: str, seconds: float) -> None:
        """Prolong the time of an owner's messages; see `DurableStore`."""
        with self._lock:
            end = _clock.now() + seconds
            for found in self._owned.values():
                for key, message in found.inbox.items():
                    if message.owner == owner:
                        found.inbox[key] = replace(message, left=end)

    async def leave_message(self, place: Place, invocation_id: str, *, keep: bool) -> None:
        """Note that a message's caller is gone; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            message = found and found.inbox.get(invocation_id)
            if found is None or message is None:
                return
            if keep:
                found.inbox[invocation_id] = replace(message, owner="", left=0.0)
            else:
                found.take(invocation_id)

    async def waiting_places(
        self, app_name: str | None = None, *, limit: int = 1000
    ) -> Sequence[Place]:
        """Return the sessions whose inbox holds messages; see `DurableStore`."""
        with self._lock:
            waiting = [
                (min(found.since.values()), Place(*key))
                for key, found in self._of(app_name)
                if found.inbox
            ]
        waiting.sort()
        return [place for _, place in waiting[:limit]]

    def _of(self, app_name: str | None) -> Iterator[tuple[tuple[str, str, str], Owned]]:
        for key, found in self._owned.items():
            if app_name in (None, key[0]):
                yield key, found
