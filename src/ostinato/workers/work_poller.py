"""WorkPoller: polls a backlog for an engine."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Container
from typing import NamedTuple

from .._log import OutageLog
from ..errors import StoreError
from ..execution.recovery.backlog import Backlog
from ..sessions.store.durable_store import Place

_BUSY, _IDLE = 0.05, 1.0  # seconds between polls for messages
_SCAN = 1.0  # seconds between scans for abandoned invocations


class Found(NamedTuple):
    """An invocation to run.

    Attributes:
      place: the session.
      invocation_id: the invocation.
      token: token of its lease if it was abandoned; 0 for a dequeued message.
    """

    place: Place
    invocation_id: str
    token: int


class WorkPoller:
    """Polls for work until it is stopped, with backoff while there is no work.

    Args:
      backlog: the work.
      outage: logs outages of the store; a new log if None.

    Attributes:
      stops: how often `stop` was called.
      patient: whether polling continues during an outage of the store.
    """

    def __init__(self, backlog: Backlog, outage: OutageLog | None = None) -> None:
        self.stops = 0
        self.patient = True
        self._answered = False
        self._backlog = backlog
        self._outage = outage or OutageLog()
        self._woken = asyncio.Event()
        self._pause = _BUSY
        self._next_scan = 0.0

    def stop(self) -> None:
        """Stop polling."""
        self.stops += 1
        self._woken.set()

    def wake(self) -> None:
        """Poll again now, because a task has ended."""
        self._pause = _BUSY
        self._woken.set()

    async def look(self, room: int, without: Container[Place]) -> list[Found]:
        """Return work; nothing during an outage of the store.

        Args:
          room: how many invocations at most.
          without: sessions with a running task.

        Raises:
          StoreError: the store does not answer, and it never did or `patient` is not set.
        """
        found: list[Found] = []
        outage = self._outage
        try:
            if room and time.monotonic() >= self._next_scan:
                left = await self._backlog.find_abandoned(without)
                found = [Found(*one) for one in left[:room]]
                if len(left) == len(found):
                    self._next_scan = time.monotonic() + _SCAN
            if room > len(found):
                taken = await self._backlog.take(room - len(found))
                found += [Found(*one, 0) for one in taken]
            self._answered = True
            outage.note_answer()
        except StoreError as error:
            if not (self.patient and self._answered):
                raise
            outage.note_failure(error)
        self._pause = _BUSY if found else min(_IDLE, self._pause * 1.5)
        return found

    async def rest(self) -> None:
        """Wait until the next poll is due, a task has ended, or polling is stopped."""
        # Jitter, so that processes that start together do not poll together.
        await self.wait_for_wake(self._pause * random.uniform(0.5, 1.0))

    async def wait_for_wake(self, seconds: float) -> None:
        """Wait until a task has ended or polling is stopped, at most `seconds`."""
        try:
            await asyncio.wait_for(self._woken.wait(), seconds)
        except TimeoutError:
            return
        self._woken.clear()
