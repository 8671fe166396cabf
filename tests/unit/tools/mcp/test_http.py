"""MCP over HTTP: headers of each caller, tokens that expire, both kinds and both eras."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from ostinato.auth import AuthCredential, AuthCredentialTypes
from ostinato.auth.auth_credential import HttpAuth, HttpCredentials
from ostinato.auth.auth_schemes import APIKey, APIKeyIn, HTTPBearer
from ostinato.tools.mcp_tool import (
    McpCallError,
    McpConnectionError,
    McpToolset,
    SseConnectionParams,
    StreamableHTTPConnectionParams,
)
from tests.support.mcp.http_server import Recorder, serve_http
from tests.unit.tools.contexts import make_context

pytestmark = pytest.mark.long


def make_server() -> MCPServer:
    server = MCPServer("shop")
    server.effects = 0  # pyright: ignore[reportAttributeAccessIssue]

    @server.tool()
    async def wait(n: int) -> str:
        await asyncio.sleep(0)
        return f"waited {n}"

    @server.resource("file:///note.txt", name="note")
    def note() -> str:
        return "a note"

    return server


@pytest.fixture
async def http() -> AsyncGenerator[tuple[str, Recorder]]:
    async with serve_http(make_server()) as served:
        yield served


def params_of(url: str) -> StreamableHTTPConnectionParams:
    return StreamableHTTPConnectionParams(url=url, timeout=30.0, headers={"x-static": "1"})


async def call_tool(toolset: McpToolset, context: Any, **args: Any) -> dict[str, Any]:
    (tool,) = [one for one in await toolset.get_tools(context) if one.name == "wait"]
    return await tool.run_async(args=args or {"n": 1}, tool_context=context)


@pytest.mark.parametrize("sse", [False, True])
async def test_both_kinds_carry_many_calls_at_once(sse: bool):
    async with serve_http(make_server(), sse=sse) as (url, _):
        kind = SseConnectionParams if sse else StreamableHTTPConnectionParams
        toolset = McpToolset(connection_params=kind(url=url, timeout=30.0))
        context = make_context()
        results = await asyncio.gather(*(call_tool(toolset, context, n=n) for n in range(50)))
        texts = [one["content"][0]["text"] for one in results]
        assert texts == [f"waited {n}" for n in range(50)]
        await toolset.close()


@pytest.mark.parametrize("sse", [False, True])
async def test_call_is_sent_once_though_it_is_redirected(sse: bool):
    async with serve_http(make_server(), sse=sse) as (url, recorder):
        kind = SseConnectionParams if sse else StreamableHTTPConnectionParams
        toolset = McpToolset(connection_params=kind(url=url, timeout=30.0))
        context = make_context()
        (tool,) = await toolset.get_tools(context)
        recorder.requests.clear()
        recorder.status, recorder.location = 307, "/again"
        failed = await tool.run_async(args={"n": 1}, tool_context=context)
        assert "redirects the call to http://127.0.0.1" in failed["error"]
        assert "may have taken effect" in failed["error"]
        assert [method for method, _ in recorder.requests] == ["POST"]
        await toolset.close()


async def test_older_protocol_with_sessions_that_the_server_forgets(http: tuple[str, Recorder]):
    url, recorder = http
    recorder.is_old = True
    toolset = McpToolset(connection_params=params_of(url))
    context = make_context()
    assert (await call_tool(toolset, context))["isError"] is False
    first = await toolset._manager.connect()
    assert first.client.protocol_version == "2025-11-25"
    recorder.status = 404
    forgotten = await call_tool(toolset, context)
    assert "has ended the session (HTTP 404). The call was not run." in forgotten["error"]
    recorder.status = None
    assert (await call_tool(toolset, context))["isError"] is False
    assert await toolset._manager.connect() is not first
    await toolset.close()
    assert recorder.values_of("x-static") == {"1"}
    assert recorder.requests[-1][0] == "DELETE"


async def test_each_request_has_the_headers_of_its_caller(http: tuple[str, Recorder]):
    url, recorder = http
    tokens = {"user": "first"}

    async def provide(context: Any) -> dict[str, str]:
        return {"x-token": tokens[context.user_id]}

    toolset = McpToolset(connection_params=params_of(url), header_provider=provide)
    context = make_context()
    await call_tool(toolset, context)
    assert recorder.values_of("x-token") == {"first"}
    recorder.requests.clear()
    tokens["user"] = "second"  # refreshed
    await call_tool(toolset, context)
    assert await toolset.list_resources(context) == ["note"]
    contents = await toolset.read_resource("note", context)
    assert contents[0].text == "a note"
    assert recorder.values_of("x-token") == {"second"}
    methods = [headers.get("mcp-method") for _, headers in recorder.requests]
    assert "server/discover" not in methods  # the session is the one that was there
    await toolset.close()


async def test_credential_beats_the_provider_whatever_its_case(http: tuple[str, Recorder]):
    url, recorder = http
    bearer = HttpAuth(scheme="bearer", credentials=HttpCredentials(token="secret"))
    toolset = McpToolset(
        connection_params=params_of(url),
        header_provider=lambda context: {"authorization": "Bearer other", "x-more": "2"},
        auth_scheme=HTTPBearer(),
        auth_credential=AuthCredential(auth_type=AuthCredentialTypes.HTTP, http=bearer),
    )
    await call_tool(toolset, make_context())
    assert recorder.values_of("authorization") == {"Bearer secret"}
    assert recorder.values_of("x-more") == {"2"}
    assert toolset.get_auth_config() is not None
    await toolset.close()


async def test_api_key_in_the_query_is_refused(http: tuple[str, Recorder]):
    toolset = McpToolset(
        connection_params=params_of(http[0]),
        auth_scheme=APIKey(in_=APIKeyIn.query, name="key"),  # pyright: ignore[reportCallIssue]
        auth_credential=AuthCredential(auth_type=AuthCredentialTypes.API_KEY, api_key="k"),
    )
    with pytest.raises(ValueError, match="goes into the query"):
        await toolset.get_tools(make_context())


async def test_token_that_expires_in_mid_run_is_told_and_renewed(http: tuple[str, Recorder]):
    url, recorder = http
    token = ["Bearer old"]
    recorder.valid = {"Bearer old"}
    toolset = McpToolset(
        connection_params=params_of(url), header_provider=lambda _: {"Authorization": token[0]}
    )
    context = make_context()
    assert (await call_tool(toolset, context))["isError"] is False
    recorder.valid = {"Bearer new"}
    refused = await call_tool(toolset, context)
    assert "refuses the credentials (HTTP 401). The call was not run." in refused["error"]
    token[0] = "Bearer new"
    assert (await call_tool(toolset, context))["isError"] is False
    await toolset.close()


async def test_refused_handshake_names_the_remedy(http: tuple[str, Recorder]):
    url, recorder = http
    recorder.valid = set()
    toolset = McpToolset(connection_params=params_of(url))
    with pytest.raises(McpConnectionError, match=r"refuses the credentials \(HTTP 401\)") as caught:
        await toolset.get_tools()
    assert caught.value.status == 401 and "invalid_token" in caught.value.challenge


async def test_one_failed_request_does_not_end_the_others(http: tuple[str, Recorder]):
    url, recorder = http
    toolset = McpToolset(connection_params=params_of(url))
    context = make_context()
    await call_tool(toolset, context)
    recorder.status = 502
    failed = await call_tool(toolset, context)
    assert "may have taken effect" in failed["error"]
    with pytest.raises(McpCallError):
        await toolset.list_resources(context)
    recorder.status = None
    assert (await call_tool(toolset, context))["isError"] is False
    await toolset.close()


async def test_server_that_comes_back_is_reached_again():
    server = make_server()
    async with serve_http(server) as (url, _):
        toolset = McpToolset(connection_params=params_of(url))
        context = make_context()
        tools = await toolset.get_tools(context)
    gone = await tools[0].run_async(args={"n": 1}, tool_context=context)
    assert "error" in gone
    await toolset.close()


async def test_users_have_connections_of_their_own_only_with_headers(http: tuple[str, Recorder]):
    shared = McpToolset(connection_params=params_of(http[0]))
    own = McpToolset(connection_params=params_of(http[0]), header_provider=lambda _: {})
    context = make_context()
    assert shared._callers.identify(context) == ""
    assert own._callers.identify(context) == "app/user"
    assert own._callers.identify(None) == ""
    named = McpToolset(connection_params=params_of(http[0]), identity=lambda _: "tenant")
    assert named._callers.identify(context) == "tenant"
