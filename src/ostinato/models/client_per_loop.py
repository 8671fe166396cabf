"""ClientPerLoop: one HTTP client for each event loop, for the life of a model. Adapters hold one.

A client's connections belong to the loop they were opened on; a program that calls `asyncio.run`
twice must not meet the first loop's.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Client = TypeVar("Client")


class ClientPerLoop(Generic[Client]):
    """Opens a client on first use and keeps it for the loop.

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
            client = self._clients[loop] = self._make()
        return client

    async def aclose(self) -> None:
        """Close the running loop's client; the next use opens another."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await self._close(client)
