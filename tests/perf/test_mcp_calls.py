"""What a call over MCP adds to the same call with the SDK's bare client."""

import asyncio

from mcp import Client
from mcp.server.mcpserver import MCPServer

from ostinato.tools.mcp_tool import InProcessConnectionParams, McpToolset
from tests.perf.kit import calls
from tests.unit.tools.contexts import make_context

CALLS = 50


def make_server() -> MCPServer:
    server = MCPServer("adder")

    @server.tool()
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    return server


async def test_call_adds_at_most_half_of_a_bare_call():
    server, args, context = make_server(), {"a": 1, "b": 2}, make_context()
    toolset = McpToolset(connection_params=InProcessConnectionParams(server=server))
    (tool,) = await toolset.get_tools()

    async def call_tool() -> None:
        for _ in range(CALLS):
            await tool.run_async(args=args, tool_context=context)

    async with Client(server) as client:

        async def call_bare() -> None:
            for _ in range(CALLS):
                await client.call_tool("add", args)

        await call_bare()
        await call_tool()
        bare, ours = await calls(call_bare), await calls(call_tool)
    await toolset.close()
    print(f"calls of a bare call {bare / CALLS:.0f}, of a call of the tool {ours / CALLS:.0f}")
    assert ours < 1.5 * bare
