"""Later: what answers in another protocol, made at its first request, because its SDK costs more
time and memory than the rest of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import MissingExtraError
from .problems import Problem, problem_response


def unspoken(protocol: str, error: MissingExtraError) -> Problem:
    """Return what is said where the SDK of a protocol is not installed."""
    return Problem(404, "NotFoundError", f"This server does not speak {protocol}. {error}")


class Later:
    """An ASGI app that is made when it is first asked.

    Args:
      protocol: what it speaks, for the answer where that cannot be.
      make: makes it; raises MissingExtraError where the SDK is not installed.
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
            await problem_response(unspoken(self._protocol, error))(scope, receive, send)
            return
        await self._app(scope, receive, send)
