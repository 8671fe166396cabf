"""Programs for google-adk's MCP client, unchanged, through the alias of its modules."""

import asyncio
import subprocess
import sys
from typing import Annotated

import pytest
from mcp import types as mcp_types
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resolve import Resolve, Sample
from mcp.server.mcpserver.resources import TextResource
from starlette.requests import Request
from starlette.responses import JSONResponse

from tests.support.mcp import RAW_SERVER
from tests.support.mcp.http_server import serve_http

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


async def ask_model() -> Sample:
    content = mcp_types.TextContent(type="text", text="A line?")
    return Sample([mcp_types.SamplingMessage(role="user", content=content)], max_tokens=9)


def make_shapes_server() -> MCPServer:
    """Return the server that `adk_agents.py` describes."""
    server = MCPServer("shapes")

    @server.tool()
    async def whoami(ctx: ServerContext) -> str:
        headers = ctx.request_context.request.headers  # pyright: ignore[reportOptionalMemberAccess]
        return f"[{headers.get('authorization')}, {headers.get('x-tenant')}]"

    @server.tool()
    async def slow(ctx: ServerContext) -> str:
        await ctx.report_progress(1, 2, "half")
        return "slowly done"

    @server.tool()
    async def poem(answer: Annotated[mcp_types.CreateMessageResult, Resolve(ask_model)]) -> str:
        return answer.content.text  # pyright: ignore[reportAttributeAccessIssue]

    @server.custom_route("/token", methods=["POST"])
    async def grant(request: Request) -> JSONResponse:
        body = (await request.form()).get("assertion")
        token = "service-token" if body else "none"
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600})

    server.add_prompt(Prompt.from_function(lambda: "Greet in rhyme.", name="greet"))
    server.add_resource(TextResource(uri="news://today", name="news", text="It rains."))
    return server


SHAPES = {
    "stdio_server_agent": '"n": 1',
    "stdio_with_environment_agent": '"n": 2',
    "confirmed_agent": "paid",
    "sse_agent": "[None, sse]",
    "streamable_http_agent": "Greet in rhyme.",
    "dynamic_header_agent": "[None, tenant of ann]",
    "agent_tool_remote_agent": "[None, inner]",
    "agent_tool_stdio_agent": '"n": 3',
    "progress_agent": "slowly done",
    "sampling_agent": "a sampled line",
    "service_account_agent": "[Bearer service-token, None]",
    "toolset_auth_agent": "[Bearer consented, None]",
}


@pytest.mark.long
async def test_agents_of_twelve_shapes_run_unchanged():
    """The twelve ways in which google-adk's own samples use MCP servers."""
    async with (
        serve_http(make_shapes_server()) as (url, _),
        serve_http(make_shapes_server(), sse=True) as (sse_url, _),
    ):
        program = str(RAW_SERVER.with_name("adk_agents.py"))
        run = (
            "import runpy, sys; from ostinato import compat; compat.install(); "
            f"sys.argv[1:] = [{url!r}, {sse_url!r}, {url.replace('/mcp', '/token')!r}]; "
            f"runpy.run_path({program!r}, run_name='__main__')"
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "ignore",
            "-c",
            run,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    lines = out.decode().splitlines()
    said = dict(line.split(": ", 1) for line in lines if not line.startswith(" "))
    assert list(said) == list(SHAPES)
    assert {name: SHAPES[name] in text for name, text in said.items() if text} == dict.fromkeys(
        SHAPES, True
    ), out.decode()
    assert "  slow 1 of 2" in lines and "  asked by adk_request_credential" in lines
    assert "  asked by adk_request_confirmation" in lines
    assert "It rains." in said["streamable_http_agent"]
