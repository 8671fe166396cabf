"""Lookout: an engine's eye on a backlog: when to look for work, and where."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Container
from typing import NamedTuple

from .._log import get_logger
from ..errors import StoreError
from ..running.backlog import Backlog
from ..sessions._durable_store import Place

logger = get_logger(__name__)

_BUSY, _IDLE = 0.05, 1.0  # seconds between two looks for messages
_SCAN = 1.0  # seconds between two looks for what dead processes left open


class Found(NamedTuple):
    """An invocation that somebody has to run.

    Attributes:
      place: the session.
      invocation_id: the invocation.
      token: number of its lease where it was left open; 0 where its message was taken.
    """

    place: Place
    invocation_id: str
    token: int


class Lookout:
    """Looks for work until it is stopped; often while there is some, less often while not.

    Args:
      backlog: where to look.

    Attributes:
      stops: how often it was told to stop.
    """

    def __init__(self, backlog: Backlog) -> None:
        self.stops = 0
        self._backlog = backlog
        self._stirred = asyncio.Event()
        self._pause = _BUSY
        self._next_scan = 0.0

    def stop(self) -> None:
        """Look no further."""
        self.stops += 1
        self._stirred.set()

    def stir(self) -> None:
        """Look again soon, because something has ended."""
        self._pause = _BUSY
        self._stirred.set()

    async def look(self, room: int, without: Container[Place]) -> list[Found]:
        """Return what there is to do; nothing while the store does not answer.

        Args:
          room: how much of it at most.
          without: sessions in which something runs here.
        """
        found: list[Found] = []
        try:
            if room and time.monotonic() >= self._next_scan:
                left = await self._backlog.left_open(without)
                found = [Found(*one) for one in left[:room]]
                if len(left) == len(found):
                    self._next_scan = time.monotonic() + _SCAN
            if room > len(found):
                taken = await self._backlog.take(room - len(found))
                found += [Found(*one, 0) for one in taken]
        except StoreError as error:
            logger.warning("The store does not answer, trying again: %s", error)
        self._pause = _BUSY if found else min(_IDLE, self._pause * 1.5)
        return found

    async def rest(self) -> None:
        """Wait until it is time to look again, something has ended, or it is stopped."""
        # Jitter, so that processes that were started together do not look together.
        await self.stirred(self._pause * random.uniform(0.5, 1.0))

    async def stirred(self, seconds: float) -> None:
        """Wait until something has ended or it is stopped, but no longer than this."""
        try:
            await asyncio.wait_for(self._stirred.wait(), seconds)
        except TimeoutError:
            return
        self._stirred.clear()
