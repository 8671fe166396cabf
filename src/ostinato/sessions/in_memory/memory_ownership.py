"""Leases, inbox and journal of InMemorySessionService, whose stored sessions are `Owned`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ... import _clock
from ..log.event_log import EventRecord
from ..store.appending_sessions import AppendingSessionService
from ..store.durable_store import (
    CallAnswer,
    Claim,
    Fence,
    InboxMessage,
    JournalRow,
    Lease,
    OpenRequest,
    OpenRequests,
    Place,
    Renewal,
)
from ..store.keyed_requests import (
    RequestDigests,
    check_repeated,
    check_waiting,
    digests_of_payload,
    digests_of_record,
    is_keyed,
)
from ..store.lease_rules import HANDED_OVER, check_fence, find_skipped_invocation, grant_lease
from ..store.stored_rows import session_not_found
from .memory_requests import MemoryRequests, StoredRequest


class Owned:
    """What belongs to a session beside its events.

    Attributes:
      lease: the lease; its `left` counts from `stamp`.
      stamp: when the lease was last written.
      begun: when the open invocation was first claimed.
      cancelled: whether another caller asked to cancel it.
      inbox: messages that wait, first come first; their `left` is the time at which they end.
      since: when each of them came.
      journal: rows by invocation and call.
      requests: calls that wait for an answer; None before the first.
    """

    __slots__ = ("begun", "cancelled", "inbox", "journal", "lease", "requests", "since", "stamp")

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.stamp = 0.0
        self.begun = 0.0
        self.cancelled = False
        self.inbox: dict[str, InboxMessage] = {}
        self.since: dict[str, float] = {}
        self.journal: dict[tuple[str, str], JournalRow] = {}
        self.requests: MemoryRequests | None = None

    def first_of(self, invocation_id: str) -> EventRecord | None:
        """Return the first event of an invocation, or None."""
        raise NotImplementedError

    @property
    def revision(self) -> int:
        """Number of the session's newest event."""
        raise NotImplementedError

    def release_answers(self, message_id: str) -> None:
        """Open the calls again that a message had answered, unless its invocation has begun."""
        if self.requests is not None and self.first_of(message_id) is None:
            self.requests.release(message_id)

    def find_digests(self, invocation_id: str) -> RequestDigests | None:
        """Return the digests of the request that waits or has begun under a key, or None."""
        waiting, record = self.inbox.get(invocation_id), self.first_of(invocation_id)
        if waiting is not None:
            return digests_of_payload(invocation_id, waiting.payload)
        return None if record is None else digests_of_record(record)

    def need_requests(self) -> MemoryRequests:
        """Return the calls that wait, to be written."""
        if self.requests is None:
            self.requests = MemoryRequests()
        return self.requests

    def lease_at(self, now: float) -> Lease | None:
        """Return the lease with `left` as of `now`."""
        if self.lease is None:
            return None
        return replace(self.lease, left=self.lease.left - (now - self.stamp))

    def write_journal(self, rows: Iterable[JournalRow]) -> None:
        """Write rows; a `started` one never replaces a `finished` one."""
        for row in rows:
            if row.status == "effect":
                continue  # a ledger in memory would die with what it proves
            old = self.journal.get((row.invocation_id, row.call_id))
            if old is None or row.status != "started" or old.status != "finished":
                self.journal[row.invocation_id, row.call_id] = row

    def claim_lease(self, place: Place, wish: Claim, revision: int) -> Fence:
        """Grant the lease to a claim, and take the claim's message out of the inbox.

        Raises:
          SessionBusyError, StaleSessionError: see `grant_lease`.
          IdempotencyKeyReusedError: see `check_waiting`.
        """
        now = _clock.now()
        before = self.lease
        waiting = self.inbox.get(wish.message or "")
        if waiting is not None and wish.request is not None:
            check_waiting(waiting.invocation_id, waiting.payload, wish.request)
        first = next(iter(self.inbox.values()), None)
        self.lease = new = grant_lease(place, self.lease_at(now), first, wish, revision)
        self.clear_journal(find_skipped_invocation(before, wish))
        if before is None or before.invocation_id != new.invocation_id:
            self.begun, self.cancelled = now, False
        self.stamp = now
        if wish.message is not None and not wish.keep_message:
            self.dequeue_message(wish.message)
        return Fence(new.owner, new.token)

    def clear_journal(self, invocation_id: str) -> None:
        """Delete an invocation's rows in the journal."""
        for key in [each for each in self.journal if each[0] == invocation_id]:
            del self.journal[key]

    def check_fence_of(self, fence: Fence) -> None:
        """Reject an append whose owner has lost the session.

        Raises:
          LeaseLostError: the fence is not the stored one.
        """
        lease = self.lease
        check_fence(fence, lease and lease.owner, lease.token if lease else 0)

    def find_lease(self, fence: Fence) -> Lease | None:
        """Return the lease if this fence still holds it, else None."""
        lease = self.lease
        if lease is None or (lease.owner, lease.token) != (fence.owner, fence.token):
            return None
        return lease

    def is_held(self, now: float) -> bool:
        """Return whether a lease is held and has not expired."""
        lease = self.lease_at(now)
        return lease is not None and bool(lease.owner) and lease.left > 0

    def dequeue_message(self, invocation_id: str) -> None:
        """Take a message out of the inbox."""
        self.inbox.pop(invocation_id, None)
        self.since.pop(invocation_id, None)


class MemoryOwnership(AppendingSessionService):
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
            return [self._renew_lease(place, fence, seconds) for place, fence in held]

    def _renew_lease(self, place: Place, fence: Fence, seconds: float) -> Renewal:
        found = self._owned.get(place)
        lease = found and found.find_lease(fence)
        if found is None or lease is None:
            return Renewal(place, fence.token, lost=True, cancelled=False)
        found.lease, found.stamp = replace(lease, left=seconds), _clock.now()
        return Renewal(place, fence.token, lost=False, cancelled=found.cancelled)

    async def release(
        self,
        place: Place,
        fence: Fence,
        *,
        keep_rows: bool = False,
        wait: bool = True,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        """Release a lease, at once and without an error; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.find_lease(fence)
            if found is None or lease is None:
                return
            if not keep_rows:
                found.clear_journal(lease.invocation_id)
            found.lease = replace(lease, owner="", invocation_id="")

    async def park(self, place: Place, fence: Fence, reason: str) -> None:
        """Release a lease and mark its invocation as stuck; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.find_lease(fence)
            if found is not None and lease is not None:
                found.lease = replace(lease, owner="", stuck=reason)
                found.cancelled = False

    async def hand_over(self, place: Place, fence: Fence, *, failed: bool = False) -> None:
        """End a lease whose invocation stays open; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            lease = found and found.find_lease(fence)
            if found is not None and lease is not None:
                found.stamp = _clock.now()
                found.lease = replace(
                    lease,
                    owner=HANDED_OVER,
                    process="",
                    token=lease.token + 1,
                    left=0.0,
                    attempts=max(lease.attempts - (not failed), 0),
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
                for _, found in self._stored_of_app(app_name)
                if (lease := found.lease_at(now)) is not None
                and lease.invocation_id
                and bool(lease.stuck) == stuck
            ]
        leases.sort(key=lambda item: item[0])
        return [lease for _, lease in leases[:limit]]

    async def put_message(
        self,
        place: Place,
        message: InboxMessage,
        seconds: float,
        answers: Sequence[CallAnswer] = (),
    ) -> bool:
        """Store a message at the end of a session's inbox; see `DurableStore`."""
        with self._lock:
            found, wanted = self._owned.get(place), message.invocation_id
            if found is None:
                raise session_not_found(place)
            stored = found.find_digests(wanted) if is_keyed(wanted) else None
            if stored is not None:
                check_repeated(stored, digests_of_payload(wanted, message.payload))
                return False
            if answers:
                found.need_requests().claim_answers(answers, found.revision)
            if wanted in found.inbox:
                return False
            now = _clock.now()
            found.inbox[wanted] = replace(message, left=now + seconds)
            found.since[wanted] = now
            return True

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
        """Claim messages that no caller waits for; see `DurableStore`."""
        with self._lock:
            now = _clock.now()
            free: list[tuple[float, Place, InboxMessage]] = []
            for key, found in self._stored_of_app(app_name):
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

    async def leave_message(
        self, place: Place, invocation_id: str, *, keep: bool, owner: str | None = None
    ) -> None:
        """Note that a message's caller is gone; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            message = found and found.inbox.get(invocation_id)
            if found is None or message is None or owner not in (None, message.owner):
                return
            if keep:
                found.inbox[invocation_id] = replace(message, owner="", left=0.0)
            else:
                found.dequeue_message(invocation_id)
                found.release_answers(invocation_id)

    async def claim_answers(self, place: Place, answers: Sequence[CallAnswer]) -> None:
        """Claim calls for a message that waits in this process; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            if found is None:
                raise session_not_found(place)
            found.need_requests().claim_answers(answers, found.revision)

    async def release_answers(self, place: Place, message_id: str) -> None:
        """Open the calls again that a message had answered; see `DurableStore`."""
        with self._lock:
            found = self._owned.get(place)
            if found is not None:
                found.release_answers(message_id)

    async def open_requests(
        self,
        app_name: str,
        user_id: str | None = None,
        *,
        limit: int = 100,
        after: int | None = None,
    ) -> OpenRequests:
        """Return a page of the requests that have no answer; see `DurableStore`."""
        rows: list[tuple[Place, StoredRequest]] = []
        with self._lock:
            for key, found in self._stored_of_app(app_name):
                if found.requests is None or user_id not in (None, key[1]):
                    continue
                rows += [(Place(*key), row) for row in found.requests.open_rows()]
        rows.sort(key=lambda item: item[1].number, reverse=True)
        if after is not None:
            rows = [item for item in rows if item[1].number < after]
        page = [OpenRequest(place, row.request) for place, row in rows[:limit]]
        return OpenRequests(page, rows[limit - 1][1].number if len(rows) > limit else None)

    async def waiting_places(
        self, app_name: str | None = None, *, limit: int = 1000
    ) -> Sequence[Place]:
        """Return the sessions whose inbox holds messages; see `DurableStore`."""
        with self._lock:
            waiting = [
                (min(found.since.values()), Place(*key))
                for key, found in self._stored_of_app(app_name)
                if found.inbox
            ]
        waiting.sort()
        return [place for _, place in waiting[:limit]]

    def _stored_of_app(self, app_name: str | None) -> Iterator[tuple[tuple[str, str, str], Owned]]:
        for key, found in self._owned.items():
            if app_name in (None, key[0]):
                yield key, found
