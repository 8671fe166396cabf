"""Many calls at once and in a row: none is lost, and nothing grows."""

import asyncio
import gc
import resource
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from tests.support.mcp import raw_server
from tests.unit.tools.contexts import make_context

pytestmark = pytest.mark.long


def make_server() -> MCPServer:
    server = MCPServer("adder")

    @server.tool()
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    return server


async def test_thousand_calls_at_once_through_ten_toolsets():
    toolsets = [McpToolset(connection_params=raw_server("reverse=10")) for _ in range(10)]
    listed = await asyncio.gather(*(toolset.get_tools() for toolset in toolsets))
    tools = [next(tool for tool in one if tool.name == "echo") for one in listed]

    async def call(number: int) -> Any:
        tool = tools[number % 10]
        return await tool.run_async(args={"n": number}, tool_context=make_context())

    results = await asyncio.gather(*(call(number) for number in range(1_000)))
    wrong = [n for n, one in enumerate(results) if f'"n": {n}}}' not in one["content"][0]["text"]]
    assert wrong == []
    for toolset in toolsets:
        await toolset.close()


async def test_three_thousand_calls_leave_nothing():
    toolset = McpToolset(connection_params=InProcessConnectionParams(server=make_server()))
    (tool,) = await toolset.get_tools()
    context = make_context()

    async def call_many(count: int) -> None:
        for _ in range(count // 100):
            await asyncio.gather(
                *(tool.run_async(args={"a": 1, "b": 2}, tool_context=context) for _ in range(100))
            )

    await call_many(500)
    gc.collect()
    objects, size = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tasks = len(asyncio.all_tasks())
    await call_many(3_000)
    gc.collect()
    assert len(asyncio.all_tasks()) == tasks
    assert len(gc.get_objects()) - objects < 2_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size < 20_000  # KiB
    await toolset.close()


async def test_two_hundred_tools_in_pages():
    toolset = McpToolset(connection_params=raw_server("pages=200"))
    assert len(await toolset.get_tools()) == 200
    await toolset.close()
