"""LeaseKeeper: renewal of the leases that this process holds in a store.

A thread renews them, because a callback may block the event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from .._log import get_logger, outage_log_of
from ..errors import CallerError, LeaseLostError, RunCancelledError, StoreError
from ..sessions.store.durable_store import DurableStore, Fence, Place, Renewal
from .process_identity import process_identity

# Not the global generator, which belongs to the program and its thread.
_CHANCE = random.Random()
logger = get_logger(__name__)

DEFAULT_SECONDS = 10.0

_SAFE_PART = 0.9  # of a lease; without a renewal it counts as lost after that
_LEAST_WAIT, _LONGEST_WAIT = 0.5, 1.0  # seconds between checks while a renewal hangs

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0  # seconds between tries of an operation
_RETRY_SECONDS = 600.0  # an operation is given up then; the leases have expired long before

_numbers = itertools.count(1)
_now = time.monotonic


class LeaseHolder(Protocol):
    """A run that holds a session, as the keeper sees it."""

    @property
    def is_orphaned(self) -> bool:
        """Whether its event loop is closed or blocked, so that it can neither continue nor end."""
        ...

    def stop(self, reason: CallerError) -> None:
        """End the run; called from another thread."""
        ...


StoreOperation = Callable[[DurableStore], Awaitable[None]]
"""A store operation that is retried, such as the hand-over of a lease; idempotent."""


class _PendingOperations:
    """Store operations to retry once the store answers again; thread-safe."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, StoreOperation]] = []  # each with its deadline
        self._pause = _FIRST_PAUSE
        self._mutex = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def pause(self) -> float:
        """Seconds to wait before the next try: longer after each failure, with jitter."""
        return self._pause * _CHANCE.uniform(0.5, 1.0)

    def add(self, operation: StoreOperation) -> None:
        """Add an operation."""
        with self._mutex:
            self._waiting.append((time.monotonic() + _RETRY_SECONDS, operation))

    async def run(self, store: DurableStore) -> None:
        """Try each operation once, oldest first; stop at the first failure."""
        while self._waiting:
            entry = until, operation = self._waiting[0]
            try:
                await operation(store)
                self._pause = _FIRST_PAUSE
            except StoreError as error:
                if time.monotonic() < until:
                    self._pause = min(_LONGEST_PAUSE, self._pause * 2)
                    return
                logger.warning("Failed to release a session; its lease expires: %s", error)
            except Exception:  # boundary: one failure must not block the others
                logger.exception("Failed to release a session; its lease expires.")
            with self._mutex:
                if entry in self._waiting:
                    self._waiting.remove(entry)


@dataclass(slots=True)
class _HeldLease:
    """A lease that is renewed.

    Attributes:
      fence: ownership of its session.
      holder: the run.
      until: when it counts as lost without a renewal, by `_now`.
    """

    fence: Fence
    holder: LeaseHolder
    until: float


class LeaseKeeper:
    """Renews the leases of one store, and stops runs whose lease was lost or cancelled.

    A lease that the store does not renew in time counts as lost shortly before it expires: its
    holder is stopped before another owner may claim the session.

    Operations that failed because the store did not answer are retried.

    Args:
      store: the store.
      seconds: length of a lease; it is renewed three times in that time, at least every second.

    Attributes:
      owner: unique name of this process as an owner in this store.
      pid, process: number and identity of this process.
      seconds: length of a lease.
      lost: how many leases other owners took over from runs of this process.
    """

    def __init__(self, store: DurableStore, seconds: float = DEFAULT_SECONDS) -> None:
        self.pid = os.getpid()
        self.process = process_identity()
        self.owner = f"{self.process}|{next(_numbers)}"
        self.seconds = seconds
        self.lost = 0
        self._store = weakref.ref(store)
        self._held: dict[tuple[Place, int], _HeldLease] = {}
        self._operations = _PendingOperations()
        self._callers: dict[tuple[Place, str, int], LeaseHolder] = {}
        self._waiting = 0
        self._mutex = threading.Lock()
        self._work = threading.Event()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        # Wakes the thread, which ends when the keeper is gone.
        weakref.finalize(self, _set_event, self._work).atexit = False

    def hold(self, place: Place, fence: Fence, holder: LeaseHolder) -> None:
        """Renew a lease until `drop`."""
        with self._mutex:
            self._held[place, fence.token] = _HeldLease(fence, holder, self._safe_until(_now()))
            self._start_thread()

    def drop(self, place: Place, fence: Fence) -> None:
        """Stop renewing a lease."""
        with self._mutex:
            self._held.pop((place, fence.token), None)
            self._pause_if_idle()

    def holds(self, place: Place, token: int) -> bool:
        """Return whether a live run of this process holds the lease with this token."""
        held = self._held.get((place, token))
        return held is not None and not held.holder.is_orphaned

    async def is_cancelled(self, place: Place, fence: Fence) -> bool:
        """Renew a lease once; return whether a caller has asked to cancel its invocation."""
        store = self._store()
        assert store is not None
        return any(one.cancelled for one in await store.renew([(place, fence)], self.seconds))

    def cancel_reason(self, place: Place) -> RunCancelledError:
        """Return the error for a run that another process cancels."""
        return RunCancelledError(f"The run in session {place.session_id!r} was cancelled.")

    def retry(self, operation: StoreOperation) -> None:
        """Retry an operation in the background until the store answers; thread-safe.

        Args:
          operation: called with the store in the keeper's thread; retried with backoff while it
            raises StoreError, for ten minutes at most.
        """
        self._operations.add(operation)
        with self._mutex:
            self._start_thread()

    def keep_waiting(self, place: Place, message_id: str, caller: LeaseHolder) -> None:
        """Renew a caller's inbox message until `end_waiting` or until its event loop closes."""
        self._callers[place, message_id, id(caller)] = caller
        self.wait(1)

    def end_waiting(self, place: Place, message_id: str, caller: LeaseHolder) -> None:
        """Stop renewing a caller's message; idempotent."""
        if self._callers.pop((place, message_id, id(caller)), None) is not None:
            self.wait(-1)

    def wait(self, number: int) -> None:
        """Add `number` to the count of callers with a message in an inbox."""
        with self._mutex:
            self._waiting += number
            self._start_thread()
            self._pause_if_idle()

    def _start_thread(self) -> None:
        if self._thread is None:
            self._ending = threading.Event()
            self._thread = threading.Thread(
                target=_renew_forever,
                args=(weakref.ref(self), self._work, self._ending),
                name="ostinato-leases",
                daemon=True,
            )
            self._thread.start()
        if not self._work.is_set():
            self._work.set()

    def stop(self) -> threading.Thread | None:
        """End the thread and its connections, unless it still renews a lease or a message.

        The next lease starts it again.

        Returns:
          The ending thread, to join it; None if there is no thread or it continues.
        """
        with self._mutex:
            thread = self._thread
            if thread is None or self._is_busy:
                return None
            self._thread = None
            self._ending.set()
            self._work.set()
            return thread

    @property
    def _is_busy(self) -> bool:
        return bool(self._held or self._waiting or len(self._operations))

    def _pause_if_idle(self) -> None:
        if not self._is_busy:
            self._work.clear()

    @property
    def pause(self) -> float:
        """Seconds to wait before the next round: three within a lease, one second at most."""
        every = min(1.0, self.seconds / 3)
        return min(every, self._operations.pause) if len(self._operations) else every

    async def serve(self) -> None:
        """Do one round: renew leases, then retry failed operations.

        An outage of the store is logged once.
        """
        store = self._store()
        if store is None:
            return
        outage = outage_log_of(store)
        renewing = asyncio.ensure_future(self.renew())
        try:
            await self._watch_renewal(renewing)
            await renewing
        except StoreError as error:
            outage.note_failure(error)
        else:
            if self._held or self._waiting:
                outage.note_answer()
        if len(self._operations):
            await self._operations.run(store)
            with self._mutex:
                self._pause_if_idle()

    async def renew(self) -> None:
        """Renew all leases once, and stop the holders of lost or cancelled ones."""
        store = self._store()
        if store is None:
            return
        self._drop_orphans()
        with self._mutex:
            held = [(place, one.fence) for (place, _), one in self._held.items()]
            waiting = self._waiting
        if held:
            until = self._safe_until(_now())  # the store counts from its own, later time
            for renewal in await store.renew(held, self.seconds):
                self._apply_renewal(renewal, until)
        if waiting:
            await store.renew_messages(self.owner, self.seconds)

    def _safe_until(self, now: float) -> float:
        """Return the time until which a lease granted now is certainly held."""
        return now + self.seconds * _SAFE_PART

    async def _watch_renewal(self, renewing: asyncio.Future[None]) -> None:
        """Wait for a renewal; stop the holders of leases that expire before it succeeds."""
        while not renewing.done():
            with self._mutex:
                ends = [one.until for one in self._held.values()]
            left = min(ends) - _now() if ends else _LONGEST_WAIT
            await asyncio.wait({renewing}, timeout=min(_LONGEST_WAIT, max(_LEAST_WAIT, left)))
            if not renewing.done() or renewing.exception() is not None:
                self._stop_expired()

    def _stop_expired(self) -> None:
        """Stop the holders of leases that were not renewed in time."""
        now = _now()
        with self._mutex:
            expired = [(key, one) for key, one in self._held.items() if one.until <= now]
            for key, _ in expired:
                del self._held[key]
            self._pause_if_idle()
        for (place, _), one in expired:
            reason = (
                f"The lease of session {place.session_id!r} was not renewed before it expired; "
                "another owner may claim the session."
            )
            logger.warning("%s Its run is stopped.", reason)
            one.holder.stop(LeaseLostError(reason))

    def _drop_orphans(self) -> None:
        """Hand over the leases and messages of runs whose event loop is closed or blocked, which
        cannot release them.
        """
        with self._mutex:
            orphans = [
                (place, one.fence)
                for (place, _), one in self._held.items()
                if one.holder.is_orphaned
            ]
        for place, fence in orphans:
            logger.warning(
                "The event loop of a run in session %s is closed or blocked; another owner takes "
                "over the run.",
                place.session_id,
            )
            self._operations.add(partial(_hand_over, place, fence))
            self.drop(place, fence)
        for (place, message_id, _), caller in list(self._callers.items()):
            if caller.is_orphaned:
                self._operations.add(partial(_leave_message, place, message_id))
                self.end_waiting(place, message_id, caller)

    def _apply_renewal(self, renewal: Renewal, until: float) -> None:
        with self._mutex:
            held = self._held.get((renewal.place, renewal.token))
        if held is None:
            return
        session = renewal.place.session_id
        if renewal.lost:
            self.lost += 1
            held.holder.stop(LeaseLostError(f"Another owner took over session {session!r}."))
            return
        held.until = until
        if renewal.cancelled:
            held.holder.stop(self.cancel_reason(renewal.place))


async def _hand_over(place: Place, fence: Fence, store: DurableStore) -> None:
    await store.hand_over(place, fence)


async def _leave_message(place: Place, message_id: str, store: DurableStore) -> None:
    await store.leave_message(place, message_id, keep=True)


def _set_event(work: threading.Event) -> None:
    work.set()


def _renew_forever(
    keeper: Callable[[], LeaseKeeper | None],
    work: threading.Event,
    ending: threading.Event,
) -> None:
    """Body of the thread; it ends on request, or when the keeper is gone."""
    with asyncio.Runner() as loop:
        while True:
            work.wait()
            alive = keeper()
            pause = 0.0 if alive is None else alive.pause
            del alive  # a pause must not keep the keeper alive
            alive = None if ending.wait(pause) else keeper()
            if alive is None:
                return
            try:
                loop.run(alive.serve())
            except Exception:  # boundary: the thread has no caller, and must continue
                logger.exception("Failed to renew leases; retrying.")
            del alive


_keepers: weakref.WeakKeyDictionary[DurableStore, dict[float, LeaseKeeper]] = (
    weakref.WeakKeyDictionary()
)
_keepers_mutex = threading.Lock()


def keeper_of(store: DurableStore, seconds: float = DEFAULT_SECONDS) -> LeaseKeeper:
    """Return the lease keeper of a store, shared by runners with the same lease length.

    Args:
      store: the store.
      seconds: length of a lease.
    """
    with _keepers_mutex:
        of_store = _keepers.setdefault(store, {})
        keeper = of_store.get(seconds)
        if keeper is None or keeper.pid != os.getpid():  # a forked child has its own
            keeper = of_store[seconds] = LeaseKeeper(store, seconds)
        return keeper
