"""A call whose request fails over server-sent events ends alone, with the words of HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ostinato.tools.mcp_tool import McpToolset, SseConnectionParams
from tests.unit.tools.contexts import make_context


class SseServer:
    """A server of one connection. The call `wait` is answered once the test says so."""

    def __init__(self, status: str) -> None:
        self.status = status
        self.connections = 0
        self.has_waiting = asyncio.Event()
        self.is_released = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if head.startswith("get"):
            self.connections += 1
            self.events = writer
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            writer.write(b"event: endpoint\ndata: /post\n\n")
            return
        size = int(head.partition("content-length:")[2].partition("\r\n")[0])
        message = json.loads(await reader.readexactly(size))
        status = await self._handle(message) if "id" in message else "202 Accepted"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        writer.close()

    async def _handle(self, message: dict[str, Any]) -> str:
        method, number = message["method"], message["id"]
        if method == "initialize":
            info = {"name": "shop", "version": "1"}
            self._answer(number, {"protocolVersion": "2025-03-26", "capabilities": {"tools": {}},
                                  "serverInfo": info})  # fmt: skip
        elif method == "tools/list":
            schema = {"type": "object"}
            tools = [{"name": name, "inputSchema": schema} for name in ("fail", "wait")]
            self._answer(number, {"tools": tools})
        elif method != "tools/call":
            self._send(number, error={"code": -32601, "message": "unknown"})
        elif message["params"]["name"] == "fail":
            return self.status
        else:
            self.has_waiting.set()
            self.later = asyncio.create_task(self._answer_later(number))
        return "202 Accepted"

    async def _answer_later(self, number: int) -> None:
        await self.is_released.wait()
        self._answer(number, {"content": [{"type": "text", "text": "fine"}]})

    def _answer(self, number: int, result: Any) -> None:
        self._send(number, result=result)

    def _send(self, number: int, **fields: Any) -> None:
        text = json.dumps({"jsonrpc": "2.0", "id": number, **fields})
        self.events.write(f"event: message\ndata: {text}\n\n".encode())


@asynccontextmanager
async def serving(status: str) -> AsyncIterator[tuple[SseServer, McpToolset]]:
    made = SseServer(status)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/sse"
    toolset = McpToolset(connection_params=SseConnectionParams(url=url))
    try:
        yield made, toolset
    finally:
        await toolset.close()
        made.events.close()
        server.close()


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ("401 No", "refuses the credentials (HTTP 401). The call was not run."),
        ("404 No", "has ended the session (HTTP 404). The call was not run."),
        ("429 No", "answered with HTTP 429. The request was sent, so the call may have taken"),
        ("500 No", "answered with HTTP 500. The request was sent, so the call may have taken"),
    ],
)
async def test_a_refused_request_fails_its_own_call_only(status: str, wanted: str) -> None:
    async with serving(status) as (server, toolset):
        tools = {tool.name: tool for tool in await toolset.get_tools()}
        waiting = asyncio.create_task(tools["wait"].run_async(args={}, tool_context=make_context()))
        await server.has_waiting.wait()
        refused = await tools["fail"].run_async(args={}, tool_context=make_context())
        assert wanted in refused["error"] and "fail of http" in refused["error"]
        server.is_released.set()
        assert (await waiting)["content"][0]["text"] == "fine"
        assert server.connections == 1
