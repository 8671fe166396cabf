"""Closing of a toolset that others still use: other threads, and Runners of one event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from tests.unit.tools.contexts import make_context


class Slow:
    """A server whose calls wait until they are released.

    Attributes:
      has_begun: set once a call is under way.
      release: lets calls end.
      toolset: of the server.
    """

    def __init__(self) -> None:
        self.has_begun, self.release = threading.Event(), threading.Event()
        server: Any = Server("slow", on_list_tools=self._list, on_call_tool=self._call)
        self.toolset = McpToolset(connection_params=InProcessConnectionParams(server=server))

    async def call(self) -> Any:
        (tool,) = await self.toolset.get_tools()
        return await tool.run_async(args={}, tool_context=make_context())

    async def wait_begun(self) -> None:
        await asyncio.to_thread(self.has_begun.wait, 30)

    async def _list(self, context: Any, params: Any) -> Any:
        tool = mcp_types.Tool(name="work", input_schema={"type": "object"})
        return mcp_types.ListToolsResult(tools=[tool])

    async def _call(self, context: Any, params: Any) -> Any:
        self.has_begun.set()
        await asyncio.to_thread(self.release.wait, 30)
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="done")])


def text_of(answer: Any) -> str:
    return answer["content"][0]["text"]


async def test_close_leaves_a_call_of_another_event_loop_alone():
    slow, answers = Slow(), list[Any]()
    thread = threading.Thread(target=lambda: answers.append(asyncio.run(slow.call())))
    thread.start()
    await slow.wait_begun()
    await slow.toolset.get_tools()
    await slow.toolset.close()
    slow.release.set()
    await asyncio.to_thread(thread.join, 30)
    assert [text_of(one) for one in answers] == ["done"]


async def test_close_lets_a_call_under_way_end():
    slow = Slow()
    under_way = asyncio.create_task(slow.call())
    await slow.wait_begun()
    connection = await slow.toolset._manager.connect()
    await slow.toolset.close()
    assert not connection.is_open
    slow.release.set()
    assert text_of(await under_way) == "done"
    await connection.wait_end(30)
    assert text_of(await slow.call()) == "done"  # by a new connection
    await slow.toolset.close()


async def test_close_ends_an_idle_connection_at_once():
    slow = Slow()
    await slow.toolset.get_tools()
    connection = await slow.toolset._manager.connect()
    await slow.toolset.close()
    assert connection._owner.done()
