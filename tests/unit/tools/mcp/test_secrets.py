"""Secrets that a server repeats: no error and no log shows them."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server

from ostinato.tools.mcp.errors import McpCallError, McpConnectionError
from ostinato.tools.mcp_tool import (
    InProcessConnectionParams,
    McpToolset,
    StreamableHTTPConnectionParams,
)
from tests.support.mcp.raw_http_server import serve_raw_http, write_head, write_json
from tests.unit.tools.contexts import make_context

HEADERS = {"Authorization": "Bearer tok-s3cr3t", "X-Key": "k-s3cr3t", "X-Tenant": "acme-s3cr3t"}
REPEATED = f"bad {json.dumps(HEADERS)}"


def text(value: str) -> Any:
    return mcp_types.TextContent(type="text", text=value)


def ask(name: str) -> Any:
    nested: Any = {"type": "object", "properties": {name: {"type": "object"}}}
    form = mcp_types.ElicitRequestFormParams(message="Size?", requested_schema=nested)
    return mcp_types.InputRequiredResult(
        input_requests={"k": mcp_types.ElicitRequest(params=form)}, request_state="s"
    )


FAILURES: dict[str, Any] = {
    "text": mcp_types.CallToolResult(content=[text(REPEATED)], is_error=True),
    "value": mcp_types.CallToolResult(
        content=[text("bad")], structured_content={"seen": [HEADERS]}, is_error=True
    ),
    "key": mcp_types.CallToolResult(
        content=[text("bad")], structured_content={REPEATED: 1}, is_error=True
    ),
    "question": ask("bad k-s3cr3t"),
}


async def call_tool(result: Any) -> dict[str, Any]:
    """Return what the model is told of a call of a server that answers so."""

    async def list_tools(context: Any, params: Any) -> Any:
        tool = mcp_types.Tool(name="pay", input_schema={"type": "object"})
        return mcp_types.ListToolsResult(tools=[tool])

    async def answer(context: Any, params: Any) -> Any:
        return result

    server: Any = Server("shop", on_list_tools=list_tools, on_call_tool=answer)
    toolset = McpToolset(
        connection_params=InProcessConnectionParams(server=server),
        header_provider=lambda _: HEADERS,
    )
    (tool,) = await toolset.get_tools()
    answered = await tool.run_async(args={}, tool_context=make_context())
    await toolset.close()
    return answered


@pytest.mark.parametrize("kind", FAILURES)
async def test_a_failed_call_does_not_repeat_the_caller_s_secrets(
    kind: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG):
        answer = await call_tool(FAILURES[kind])
    assert "bad" in answer["error"] and "s3cr3t" not in str(answer)
    assert "s3cr3t" not in caplog.text


async def test_a_result_of_a_tool_that_did_not_fail_stays_as_it_is():
    answer = await call_tool(mcp_types.CallToolResult(content=[text(REPEATED)]))
    assert answer["content"] == [{"type": "text", "text": REPEATED}]


async def test_media_of_a_failed_call_stay_as_they_are():
    image = mcp_types.ImageContent(type="image", data="azMta3k=", mime_type="image/png")
    answer = await call_tool(mcp_types.CallToolResult(content=[image], is_error=True))
    assert answer["content"][0]["data"] == "azMta3k="


LONG = "k-s3cr3t-" + "x" * 80
ANSWERS = {
    "text": write_json(f"bad {LONG}"),
    "short text": write_json(f"bad {HEADERS['Authorization']}"),
    "content": write_json({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": LONG}]}}),
    "redirect": write_head(307, "location: /login/tok-s3cr3t"),
    "media type": write_head(200, "content-type: text/tok-s3cr3t"),
}


@pytest.mark.long
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "initialize"])
@pytest.mark.parametrize("kind", ANSWERS)
async def test_no_log_shows_what_a_server_repeats(
    method: str, kind: str, caplog: pytest.LogCaptureFixture
):
    async with serve_raw_http() as server:
        server.answers[method] = ANSWERS[kind]
        toolset = McpToolset(
            connection_params=StreamableHTTPConnectionParams(url=server.url, timeout=2.0),
            header_provider=lambda _: {**HEADERS, "X-Key": LONG},
        )
        with caplog.at_level(logging.INFO), caplog.at_level(logging.DEBUG, "mcp"):
            try:
                (tool,) = await toolset.get_tools(make_context())
                told = str(await tool.run_async(args={}, tool_context=make_context()))
            except (McpCallError, McpConnectionError) as error:
                told = str(error)
        await toolset.close()
    assert "raw" in told or "127.0.0.1" in told
    assert "s3cr3t" not in told + caplog.text and "xxxx" not in told + caplog.text


LISTED: dict[str, Any] = {
    "reference": {"inputSchema": {"type": "object", "properties": {"x": {"$ref": f"#/{LONG}"}}}},
    "long reference": {
        "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/" + "y" * 190 + LONG}}}
    },
    "type": {"inputSchema": {"type": LONG}},
    "schema": {"inputSchema": {"type": "object", "required": LONG}},
    "name": {"name": LONG, "inputSchema": {"type": "string"}},
    "same name": {"name": LONG, "inputSchema": {"type": "object"}},
    "hint": {"name": LONG, "inputSchema": {"type": "object"}, "annotations": {"title": [LONG]}},
}


@pytest.mark.parametrize("kind", LISTED)
async def test_a_tool_that_is_left_out_is_named_without_secrets(
    kind: str, caplog: pytest.LogCaptureFixture
):
    async with serve_raw_http() as server:
        server.tools = [{"name": "bad", **LISTED[kind]}] * 2
        toolset = McpToolset(
            connection_params=StreamableHTTPConnectionParams(url=server.url, timeout=2.0),
            header_provider=lambda _: {**HEADERS, "X-Key": LONG},
        )
        await toolset.get_tools(make_context())
        await toolset.close()
    warnings = [one.getMessage() for one in caplog.records if one.name.startswith("ostinato")]
    assert "is left out" in str(warnings)
    assert "s3cr3t" not in str(warnings) and "xxxx" not in str(warnings)


MIXED = "K-S3cr3t-" + "Zq" * 12


def write_error(message: str) -> Any:
    """Return an answer with an error of JSON-RPC."""

    def answer(path: str, number: Any) -> bytes:
        error = {"code": -32050, "message": message}
        return write_json({"jsonrpc": "2.0", "id": number, "error": error})

    return answer


CUT: dict[str, Any] = {
    "error": write_error("y" * 3_985 + MIXED),
    "media type": write_head(200, f"content-type: text/{MIXED}"),
    "long media type": write_head(200, f"content-type: text/{'y' * 80}{MIXED}"),
}


@pytest.mark.parametrize("kind", CUT)
async def test_secrets_are_taken_out_before_a_text_is_cut(
    kind: str, caplog: pytest.LogCaptureFixture
):
    async with serve_raw_http() as server:
        server.answers["tools/call"] = CUT[kind]
        toolset = McpToolset(
            connection_params=StreamableHTTPConnectionParams(url=server.url, timeout=2.0),
            header_provider=lambda _: {"X-Key": MIXED},
        )
        with caplog.at_level(logging.INFO), caplog.at_level(logging.DEBUG, "mcp"):
            (tool,) = await toolset.get_tools(make_context())
            told = str(await tool.run_async(args={}, tool_context=make_context()))
        await toolset.close()
    assert "execution failed" in told and len(told) < 4_500
    assert "k-s3c" not in (told + caplog.text).lower()
