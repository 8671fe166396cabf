"""MCP servers over HTTP on the loopback, and what they were asked with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer

from tests.support.prompt_uvicorn import make_uvicorn_prompt

make_uvicorn_prompt()


class Recorder:
    """ASGI middleware that notes the headers of requests, and refuses tokens.

    Args:
      app: the server.

    Attributes:
      requests: method and headers of each request.
      valid: tokens that are accepted, or None for any request.
      status: a status to answer every POST with, or None.
      location: where these answers redirect to.
      is_old: whether the protocol without a handshake is unknown to the server.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.valid: set[str] | None = None
        self.status: int | None = None
        self.location = ""
        self.is_old = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.requests.append((scope["method"], headers))
        status = self.status if scope["method"] == "POST" else None
        if self.valid is not None and headers.get("authorization") not in self.valid:
            status = 401
        if self.is_old and headers.get("mcp-method") == "server/discover":
            status = 400
        if status is None:
            await self._app(scope, receive, send)
            return
        challenge = (b"www-authenticate", b'Bearer error="invalid_token"')
        headers_sent = [challenge, *([(b"location", self.location.encode())] * bool(self.location))]
        await send({"type": "http.response.start", "status": status, "headers": headers_sent})
        await send({"type": "http.response.body", "body": b"no"})

    def values_of(self, header: str) -> set[str | None]:
        """Return the values that requests had of a header."""
        return {headers.get(header) for _, headers in self.requests}


class _Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serve_http(
    server: MCPServer, *, sse: bool = False, **options: Any
) -> AsyncGenerator[tuple[str, Recorder]]:
    """Serve over HTTP; yield the address and the recorder."""
    recorder = Recorder(server.sse_app() if sse else server.streamable_http_app(**options))
    config = uvicorn.Config(recorder, port=0, log_level="critical", timeout_graceful_shutdown=1)
    http = _Server(config)
    serving = asyncio.create_task(http.serve())
    await http.ready.wait()
    port = http.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/{'sse' if sse else 'mcp'}", recorder
    finally:
        http.should_exit = True
        await serving
