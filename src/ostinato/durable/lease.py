"""Leases that this process holds in a store: kept alive from a thread, never from the event loop,
which a callback may block.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from .._log import get_logger
from ..errors import CallerError, LeaseLostError, RunCancelledError, StoreError
from ..sessions._durable_store import DurableStore, Fence, Place, Renewal
from .process import process_identity

logger = get_logger(__name__)

DEFAULT_SECONDS = 10.0

_numbers = itertools.count(1)


class Holder(Protocol):
    """A run that holds a session, as the keeper sees it."""

    def stop(self, reason: CallerError) -> None:
        """End the run; called from another thread."""
        ...


class LeaseKeeper:
    """Keeps the leases of one store alive; hears of those that were lost or are to be cancelled.

    Args:
      store: the store.
      seconds: length of a lease; it is renewed three times within, and at least once a second.

    Attributes:
      owner: name of this process's runs over this store, unlike any other.
      pid, process: number and identity of this process.
      seconds: length of a lease.
    """

    def __init__(self, store: DurableStore, seconds: float = DEFAULT_SECONDS) -> None:
        self.pid = os.getpid()
        self.process = process_identity()
        self.owner = f"{self.process}|{next(_numbers)}"
        self.seconds = seconds
        self._store = weakref.ref(store)
        self._held: dict[tuple[Place, int], tuple[Fence, Holder]] = {}
        self._waiting = 0
        self._mutex = threading.Lock()
        self._work = threading.Event()
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        # So that the thread sees that nobody is left.
        weakref.finalize(self, _wake, self._work).atexit = False

    def hold(self, place: Place, fence: Fence, holder: Holder) -> None:
        """Keep a lease alive until `drop`."""
        with self._mutex:
            self._held[place, fence.token] = (fence, holder)
            self._begin()

    def drop(self, place: Place, fence: Fence) -> None:
        """Let a lease end."""
        with self._mutex:
            self._held.pop((place, fence.token), None)
            self._rest()

    def wait(self, number: int) -> None:
        """Count callers whose messages wait in an inbox: 1 for one more, -1 for one less."""
        with self._mutex:
            self._waiting += number
            self._begin()
            self._rest()

    def _begin(self) -> None:
        if self._thread is None:
            self._ending = threading.Event()
            self._thread = threading.Thread(
                target=_renew_forever,
                args=(weakref.ref(self), self._work, self._ending, min(1.0, self.seconds / 3)),
                name="ostinato-leases",
                daemon=True,
            )
            self._thread.start()
        if not self._work.is_set():
            self._work.set()

    def stop(self) -> threading.Thread | None:
        """End the thread and its connections, unless a lease or a message is kept alive just now.

        The next one starts it again.

        Returns:
          The thread, for whoever wants to wait for it; None where there is none, or it goes on.
        """
        with self._mutex:
            thread = self._thread
            if thread is None or self._held or self._waiting:
                return None
            self._thread = None
            self._ending.set()
            self._work.set()
            return thread

    def _rest(self) -> None:
        if not self._held and not self._waiting:
            self._work.clear()

    async def renew(self) -> None:
        """Renew everything once, and tell the holders what became of their leases."""
        store = self._store()
        if store is None:
            return
        with self._mutex:
            held = [(place, fence) for (place, _), (fence, _) in self._held.items()]
            waiting = self._waiting
        if held:
            for renewal in await store.renew(held, self.seconds):
                self._tell(renewal)
        if waiting:
            await store.renew_messages(self.owner, self.seconds)

    def _tell(self, renewal: Renewal) -> None:
        with self._mutex:
            held = self._held.get((renewal.place, renewal.token))
        if held is None:
            return
        session = renewal.place.session_id
        if renewal.lost:
            held[1].stop(LeaseLostError(f"Another owner took over session {session!r}."))
        elif renewal.cancelled:
            held[1].stop(RunCancelledError(f"The run in session {session!r} was cancelled."))


def _wake(work: threading.Event) -> None:
    work.set()


def _renew_forever(
    keeper: Callable[[], LeaseKeeper | None],
    work: threading.Event,
    ending: threading.Event,
    every: float,
) -> None:
    """Body of the thread; it ends when it is told to, or when the keeper is gone."""
    with asyncio.Runner() as loop:
        while True:
            work.wait()
            alive = None if ending.wait(every) else keeper()
            if alive is None:
                return
            try:
                loop.run(alive.renew())
            except StoreError as error:
                logger.warning("Leases could not be renewed, trying again: %s", error)
            except Exception:  # boundary: this thread has nobody to raise to, and must go on
                logger.exception("Leases could not be renewed, trying again.")
            del alive


_keepers: weakref.WeakKeyDictionary[DurableStore, dict[float, LeaseKeeper]] = (
    weakref.WeakKeyDictionary()
)
_keepers_mutex = threading.Lock()


def keeper_of(store: DurableStore, seconds: float = DEFAULT_SECONDS) -> LeaseKeeper:
    """Return the keeper of a store's leases, one for all runners that want leases of one length.

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
