"""An MCP server over streamable HTTP whose answers to calls are bytes that a test chooses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}


def write_head(status: int, *headers: str, length: int | None = 0) -> bytes:
    """Return the head of a response that ends its connection."""
    more = [] if length is None else [f"content-length: {length}"]
    return "\r\n".join(
        [f"HTTP/1.1 {status} Status", "connection: close", *more, *headers, "", ""]
    ).encode()


def write_json(value: Any, status: int = 200, *headers: str) -> bytes:
    """Return a response that is a JSON value."""
    body = json.dumps(value).encode()
    return write_head(status, "content-type: application/json", *headers, length=len(body)) + body


class RawHttpServer:
    """The server.

    Attributes:
      url: its address.
      received: HTTP method, path and method of the protocol of each request, oldest first.
      answers: what it answers, by the HTTP method or that of the protocol: bytes, or a function of
        the request's path and id; a request without an answer has its connection cut.
      tools: its list of tools.
    """

    def __init__(self) -> None:
        self.url = ""
        self.received: list[tuple[str, str, str]] = []
        self.answers: dict[str, bytes | Callable[[str, Any], bytes]] = {}
        self.tools: list[Any] = [{"name": "pay", "inputSchema": SCHEMA}]

    def count(self, method: str) -> int:
        """Return how many requests had a method of HTTP or of the protocol."""
        return sum(method in (one[0], one[2]) for one in self.received)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the request of one connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            verb, path, _ = head.split(" ", 2)
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:-2])
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            message: dict[str, Any] = json.loads(body) if body else {}
            self.received.append((verb, path, message.get("method", "")))
            answer = self.answers.get(message.get("method", verb))
            if answer is None:
                answer = self._answer(verb, message)
            writer.write(answer if isinstance(answer, bytes) else answer(path, message.get("id")))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            writer.close()

    def _answer(self, verb: str, message: dict[str, Any]) -> bytes:
        method, number = message.get("method", ""), message.get("id")
        if verb == "GET":
            return write_head(405)
        if number is None:
            return write_head(202 if verb == "POST" else 200)
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": number}
        if method == "initialize":
            hello = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            reply["result"] = hello | {"serverInfo": {"name": "raw", "version": "1"}}
            return write_json(reply, 200, "mcp-session-id: s1")
        if method == "tools/list":
            return write_json(reply | {"result": {"tools": self.tools}})
        if method == "tools/call":
            result = {"content": [{"type": "text", "text": "paid"}]}
            return write_json(reply | {"result": result})
        return write_json(reply | {"error": {"code": -32601, "message": f"no {method}"}})


@asynccontextmanager
async def serve_raw_http() -> AsyncGenerator[RawHttpServer]:
    """Run the server on the loopback."""
    server = RawHttpServer()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"
    try:
        yield server
    finally:
        listener.close()
