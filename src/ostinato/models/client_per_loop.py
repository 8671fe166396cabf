"""ClientPerLoop: one HTTP client for each event loop, for the life of a model. Adapters hold one.

A client's connections belong to the loop they were opened on; a program that calls `asyncio.run`
twice must not meet the first loop's.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from .._log import get_logger

logger = get_logger(__name__)

Client = TypeVar("Client")


class ClientPerLoop(Generic[Client]):
    """Opens a client on first use and keeps it for the loop.

    A loop that shuts down closes its clients, whose sockets cannot be closed afterwards.

    Args:
      make: opens a client.
      close: closes one.
    """

    def __init__(
        self, make: Callable[[], Client], close: Callable[[Client], Awaitable[object]]
    ) -> None:
        self._make, self._close = make, close
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Client] = (
            weakref.WeakKeyDictionary()
        )

    def get(self) -> Client:
        """Return the running loop's client."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            self._forget_closed_loops()
            client = self._make()
            with _lock:
                self._clients[loop] = client
            _close_at_shutdown(loop, self)
        return client

    async def aclose(self) -> None:
        """Close the running loop's client; the next use opens another."""
        self._forget_closed_loops()
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self._close(client)

    def _forget_closed_loops(self) -> None:
        """Let the collector have the clients of loops that were closed without a shutdown."""
        with _lock:
            for loop in [*self._clients]:
                if loop.is_closed():
                    self._clients.pop(loop, None)


_Owners = weakref.WeakSet[ClientPerLoop[Any]]


def _close_at_shutdown(loop: asyncio.AbstractEventLoop, owner: ClientPerLoop[Any]) -> None:
    """Close an owner's client when the running loop shuts down.

    A loop closes its asynchronous generators before it closes itself (`asyncio.run` makes it do
    so); a generator that waits for this is the only hook that a loop offers.
    """
    with _lock:
        known = _guards.get(loop)
        if known is None:
            for other in [*_guards]:
                if other.is_closed():
                    _guards.pop(other, None)
            owners: _Owners = weakref.WeakSet()
            guard = _close_owners(owners)
            with suppress(StopIteration):
                guard.__anext__().__await__().send(None)  # it yields without waiting
            _guards[loop] = known = (guard, owners)
    known[1].add(owner)


async def _close_owners(owners: _Owners) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        with _lock:
            _guards.pop(asyncio.get_running_loop(), None)
        for owner in [*owners]:
            try:
                await owner.aclose()
            except Exception as error:  # boundary: one client must not keep others open
                logger.debug("A client was not closed with its loop: %r.", error)


# Threads share both kinds of dictionaries; a finalizer may run while its thread holds the lock.
_lock = threading.RLock()
_guards: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, tuple[AsyncGenerator[None, None], _Owners]
] = weakref.WeakKeyDictionary()
