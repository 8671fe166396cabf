"""MCP over HTTP as a route of the server, and over standard input and output as a program."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..._optional import need
from ..host import Host
from ..later import Later
from ..settings import ServerSettings
from .tools import EXTRA, Tools

_INVALID = -32600
_MANAGER = "mcp.server.streamable_http_manager"


class Http:
    """The route /mcp.

    Args:
      host: the server's.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over = asyncio.Event()
        self._holding: asyncio.Task[None] | None = None

    def routes(self, prefix: str) -> list[BaseRoute]:
        """Return the route."""
        methods = ["GET", "POST", "DELETE"]
        app = Later("MCP", self._begin)
        return [Route(f"{prefix}/mcp", app, methods=methods, include_in_schema=False)]

    async def _begin(self) -> ASGIApp:
        sdk = await asyncio.to_thread(need, _MANAGER, extra=EXTRA)
        manager = sdk.StreamableHTTPSessionManager(
            Tools(self._host).server(), max_request_body_size=self._host.settings.max_body
        )
        ready = asyncio.Event()
        self._holding = asyncio.create_task(self._hold(manager, ready), name="ostinato-mcp")
        await ready.wait()
        return _with_words(manager.handle_request)

    async def _hold(self, manager: Any, ready: asyncio.Event) -> None:
        """Serve until the end: the SDK wants to be left by the task that entered."""
        async with manager.run():
            ready.set()
            await self._over.wait()

    async def close(self) -> None:
        """End what was begun; called when the server ends."""
        self._over.set()
        if self._holding is not None:
            await self._holding


def _with_words(app: ASGIApp) -> ASGIApp:
    """Return the SDK's app with a body for the refusals that it sends without one."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        told = False

        async def tell(message: Message) -> None:
            nonlocal told
            start = message["type"] == "http.response.start"
            if start and message["status"] >= 400 and _is_empty(message):
                told = True
                refusal = {"code": _INVALID, "message": HTTPStatus(message["status"]).phrase}
                body = {"jsonrpc": "2.0", "id": None, "error": refusal}
                kept = {k.decode(): v.decode() for k, v in message["headers"] if k == b"allow"}
                await JSONResponse(body, message["status"], kept)(scope, receive, send)
            elif not told:
                await send(message)

        await app(scope, receive, tell)

    return answer


def _is_empty(start: Message) -> bool:
    return (b"content-length", b"0") in start.get("headers", ())


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
