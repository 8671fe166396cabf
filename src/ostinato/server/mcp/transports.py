"""Transports of MCP: a route of the server, and standard input and output."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..._optional import need
from ...cli.service_registry import load_services_module
from ..bodies import check_media_type
from ..host import Host
from ..idempotency import refuse_key
from ..lazy_app import LazyApp
from ..problems import Problem, rpc_error
from ..settings import ServerSettings
from .tools import EXTRA, McpTools

_INVALID = -32600
_MANAGER = "mcp.server.streamable_http_manager"


class McpEndpoint:
    """The route /mcp."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._over = asyncio.Event()
        self._holding: asyncio.Task[None] | None = None

    def make_routes(self, prefix: str) -> list[BaseRoute]:
        """Return the route."""
        methods = ["GET", "POST", "DELETE"]
        app = LazyApp("MCP", self._start_manager)
        return [Route(f"{prefix}/mcp", _CheckedApp(app), methods=methods, include_in_schema=False)]

    async def _start_manager(self) -> ASGIApp:
        sdk = await asyncio.to_thread(need, _MANAGER, extra=EXTRA)
        manager = sdk.StreamableHTTPSessionManager(
            McpTools(self._host).make_server(), max_request_body_size=self._host.settings.max_body
        )
        ready = asyncio.Event()
        self._holding = asyncio.create_task(self._run_manager(manager, ready), name="ostinato-mcp")
        await ready.wait()
        return _add_error_bodies(
            _limit_body_time(manager.handle_request, self._host.settings.request_timeout)
        )

    async def _run_manager(self, manager: Any, ready: asyncio.Event) -> None:
        """Run the SDK's manager until shutdown; the same task has to enter and leave it."""
        async with manager.run():
            ready.set()
            await self._over.wait()

    async def close(self) -> None:
        """Stop the manager; called at shutdown."""
        self._over.set()
        if self._holding is not None:
            await self._holding


class _CheckedApp:
    """An ASGI app whose requests are checked first."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope)
        try:
            refuse_key(request.method, request.headers)
            if request.method == "POST":
                check_media_type(request.headers)
        except Problem as problem:
            refusal = rpc_error(_INVALID, problem.message, problem.status)
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _limit_body_time(app: ASGIApp, seconds: float) -> ASGIApp:
    """Return the SDK's app with a time limit for request bodies.

    A client that exceeds it counts as disconnected.
    """

    async def answer_request(scope: Scope, receive: Receive, send: Send) -> None:
        whole = False
        until = asyncio.get_running_loop().time() + seconds

        async def receive_in_time() -> Message:
            nonlocal whole
            if whole:
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                return {"type": "http.disconnect"}
            whole = not message.get("more_body", False)
            return message

        await app(scope, receive_in_time, send)

    return answer_request


def _add_error_bodies(app: ASGIApp) -> ASGIApp:
    """Return the SDK's app with a JSON body in errors that it sends without one."""

    async def answer_request(scope: Scope, receive: Receive, send: Send) -> None:
        is_replaced = False

        async def send_with_body(message: Message) -> None:
            nonlocal is_replaced
            start = message["type"] == "http.response.start"
            if start and message["status"] >= 400 and _is_empty(message):
                is_replaced = True
                status = HTTPStatus(message["status"])
                kept = {k.decode(): v.decode() for k, v in message["headers"] if k == b"allow"}
                refusal = rpc_error(_INVALID, status.phrase, status, kept)
                await refusal(scope, receive, send)
            elif not is_replaced:
                await send(message)

        await app(scope, receive, send_with_body)

    return answer_request


def _is_empty(start: Message) -> bool:
    return (b"content-length", b"0") in start.get("headers", ())


def serve_stdio(settings: ServerSettings) -> int:
    """Serve over standard input and output until the client closes it; return the exit code.

    Raises:
      MissingExtraError: the SDK is not installed.
    """
    need("mcp", extra=EXTRA)
    asyncio.run(_run_stdio(settings))
    return 0


async def _run_stdio(settings: ServerSettings) -> None:
    load_services_module(settings.agents)
    host = Host.from_settings(settings)
    await host.start()
    try:
        server = McpTools(host).make_server()
        async with need("mcp.server.stdio", extra=EXTRA).stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await host.close()
