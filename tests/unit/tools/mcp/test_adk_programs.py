"""Programs for google-adk's MCP client, unchanged, through the alias of its modules."""

import subprocess
import sys

import pytest

from tests.support.mcp import RAW_SERVER

PROGRAM = f"""
import asyncio, sys
from typing import Any, Dict
from google.adk.agents import LlmAgent
from google.adk.agents.mcp_instruction_provider import McpInstructionProvider
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.tools import McpToolset
from google.adk.tools.load_mcp_resource_tool import LoadMcpResourceTool
from google.adk.tools.mcp_tool import MCPTool, StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_session_manager import (
    MCPSessionManager, SseConnectionParams, SseServerParams, StreamableHTTPConnectionParams,
    StreamableHTTPServerParams)
from google.adk.tools.mcp_tool.mcp_tool import McpTool, ProgressCallbackFactory
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset as Same, McpToolsetConfig
from mcp import StdioServerParameters

assert Same is McpToolset and SseServerParams is SseConnectionParams
server = StdioServerParameters(command=sys.executable, args=["-I", "-S", {str(RAW_SERVER)!r}])

def headers(context: ReadonlyContext) -> Dict[str, str]:
    return {{"X-User": context.user_id}}

toolset = McpToolset(
    connection_params=StdioConnectionParams(server_params=server, timeout=30),
    tool_filter=["echo", "read"], tool_name_prefix="raw", header_provider=headers,
    require_confirmation=lambda **args: False, errlog=sys.stderr)
shop = McpToolset(
    connection_params=StreamableHTTPConnectionParams(
        url="http://127.0.0.1:1/mcp", headers={{"a": "b"}}),
    use_mcp_resources=True)
agent = LlmAgent(
    name="root", model="gemini-2.5-flash", tools=[toolset, shop],
    instruction=McpInstructionProvider(SseConnectionParams(url="http://127.0.0.1:1/sse"), "greet"))

async def main() -> None:
    tools = await toolset.get_tools()
    assert all(isinstance(tool, McpTool) for tool in tools)
    print([tool.name for tool in tools], tools[0].raw_mcp_tool.name)
    manager = MCPSessionManager(connection_params=server)
    session = await manager.create_session()
    result = await session.call_tool("echo", arguments={{"n": 1}})
    print(result.content[0].text)
    listed = await session.list_tools()
    print(len(listed.tools))
    await manager.close()
    await toolset.close()

asyncio.run(main())
"""


@pytest.mark.long
def test_program_for_google_adk_runs_unchanged():
    command = [sys.executable, "-c", f"from ostinato import compat; compat.install()\n{PROGRAM}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "['echo', 'read'] echo" and '"n": 1' in lines[1] and lines[2] == "8"
