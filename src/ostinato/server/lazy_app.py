"""LazyApp: an ASGI app of another protocol that is built at its first request.

Its SDK costs more time and memory than the rest of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import MissingExtraError
from .problems import Problem, problem_response


def missing_protocol(protocol: str, error: MissingExtraError) -> Problem:
    """Return the problem of a protocol whose SDK is not installed."""
    return Problem(404, "NotFoundError", f"This server does not support {protocol}. {error}")


class LazyApp:
    """An ASGI app that is built at its first request.

    Args:
      protocol: the protocol's name, for the error.
      make: builds the app; raises MissingExtraError if the SDK is not installed.
    """

    def __init__(self, protocol: str, make: Callable[[], Awaitable[ASGIApp]]) -> None:
        self._protocol = protocol
        self._make = make
        self._app: ASGIApp | None = None
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            async with self._lock:
                if self._app is None:
                    self._app = await self._make()
        except MissingExtraError as error:
            await problem_response(missing_protocol(self._protocol, error))(scope, receive, send)
            return
        await self._app(scope, receive, send)
