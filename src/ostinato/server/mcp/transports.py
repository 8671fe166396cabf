"""MCP over HTTP as a route of the server, and over standard input and output as a program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from ..._optional import need
from ...errors import MissingExtraError
from ..host import Host
from ..settings import ServerSettings
from .tools import EXTRA, Tools


class Http:
    """The route /mcp, where the SDK is installed; `running` has to be entered before it is used.

    Args:
      host: the server's.
    """

    def __init__(self, host: Host) -> None:
        self._manager: Any = None
        try:
            manager = need("mcp.server.streamable_http_manager", extra=EXTRA)
        except MissingExtraError:
            return
        self._manager = manager.StreamableHTTPSessionManager(
            Tools(host).server(), max_request_body_size=host.settings.max_body
        )

    def routes(self, prefix: str) -> list[BaseRoute]:
        """Return the route, or none."""
        if self._manager is None:
            return []
        methods = ["GET", "POST", "DELETE"]
        return [Route(f"{prefix}/mcp", self, methods=methods, include_in_schema=False)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serve while the context lasts."""
        if self._manager is None:
            yield
            return
        ready, over = asyncio.Event(), asyncio.Event()

        async def hold() -> None:
            # The SDK wants to be left by the task that entered, which a lifespan need not be.
            async with self._manager.run():
                ready.set()
                await over.wait()

        holding = asyncio.create_task(hold(), name="ostinato-mcp")
        await ready.wait()
        try:
            yield
        finally:
            over.set()
            await holding


def serve_stdio(settings: ServerSettings) -> int:
    """Serve over standard input and output until the client closes it; return the exit code.

    Raises:
      MissingExtraError: the SDK is not installed.
    """
    need("mcp", extra=EXTRA)
    asyncio.run(_stdio(settings))
    return 0


async def _stdio(settings: ServerSettings) -> None:
    host = Host.build(settings)
    await host.start()
    try:
        server = Tools(host).server()
        async with need("mcp.server.stdio", extra=EXTRA).stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await host.close()
