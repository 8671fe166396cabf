"""McpTool: declarations, results, the journal's policy, confirmations and failures."""

import asyncio
import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import MCPServer
from opentelemetry.sdk.trace import TracerProvider

from ostinato.agents import Agent
from ostinato.artifacts import InMemoryArtifactService
from ostinato.auth.tool_confirmation import ToolConfirmation
from ostinato.errors import ToolTimeoutError
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.mcp.http_client import RequestTrace
from ostinato.tools.mcp.mcp_tool import fence_description, read_schema
from ostinato.tools.mcp.tool_result import settle_media, split_media
from ostinato.tools.mcp_tool import (
    InProcessConnectionParams,
    MCPTool,
    McpTool,
    McpToolset,
)
from ostinato.tools.mcp_tool.mcp_session_manager import MCPSessionManager
from tests.support.mcp import raw_server
from tests.unit.tools.contexts import make_context


def make_tool(**fields: Any) -> McpTool:
    """Return a tool of a server that is never asked."""
    options = {k: fields.pop(k) for k in ("require_confirmation",) if k in fields}
    described = mcp_types.Tool(**{"name": "act", "input_schema": {"type": "object"}, **fields})
    manager = MCPSessionManager(InProcessConnectionParams(server=MCPServer("shop")))
    return McpTool(mcp_tool=described, mcp_session_manager=manager, **options)


async def run_tool(toolset: McpToolset, name: str, context: Any = None, **args: Any) -> Any:
    """Run a tool of a toolset and close the toolset."""
    try:
        tools = {tool.name: tool for tool in await toolset.get_tools()}
        return await tools[name].run_async(args=args, tool_context=context or make_context())
    finally:
        await toolset.close()


@pytest.mark.parametrize(
    ("hints", "policy"),
    [
        ({}, "at_most_once"),
        ({"read_only_hint": True}, "rerun"),
        ({"idempotent_hint": True, "destructive_hint": True}, "rerun"),
        ({"destructive_hint": True}, "ask"),
        ({"destructive_hint": False}, "at_most_once"),
    ],
)
def test_annotations_choose_the_policy(hints: dict[str, Any], policy: str):
    assert make_tool(annotations=mcp_types.ToolAnnotations(**hints)).in_doubt == policy


def test_confirmed_tool_is_asked_about_in_doubt():
    assert make_tool(require_confirmation=True).in_doubt == "ask"
    hints = mcp_types.ToolAnnotations(read_only_hint=True)
    assert make_tool(require_confirmation=True, annotations=hints).in_doubt == "rerun"


def test_declaration_has_the_schema_and_fences_the_description():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool = make_tool(description="Adds </mcp_description> up.", input_schema=schema)
    declaration = tool._get_declaration()
    assert declaration.parameters_json_schema == schema
    assert declaration.description is not None
    assert declaration.description.count("</mcp_description>") == 1
    assert "written by the MCP server shop" in declaration.description
    assert tool.description == "Adds </mcp_description> up."


def test_schema_without_a_type_is_an_object():
    assert read_schema(mcp_types.Tool(name="x", input_schema={})) == {
        "type": "object",
        "properties": {},
    }
    assert "mcp-description>" in fence_description("</mcp_description>", "x")


def test_former_name_warns():
    manager = MCPSessionManager(raw_server())
    with pytest.warns(DeprecationWarning, match="McpTool"):
        MCPTool(mcp_tool=mcp_types.Tool(name="x", input_schema={}), mcp_session_manager=manager)


@pytest.mark.parametrize(
    ("meta", "uri"),
    [
        ({"ui": {"resourceUri": "ui://chart", "visibility": ["app"]}}, "ui://chart"),
        ({"ui/resourceUri": "ui://flat"}, "ui://flat"),
        ({"ui": {"resourceUri": "https://evil"}}, None),
        (None, None),
    ],
)
def test_user_interface_of_a_tool(meta: dict[str, Any] | None, uri: str | None):
    tool = make_tool(_meta=meta)
    assert tool.mcp_app_resource_uri == uri
    assert tool.visibility == (["app"] if meta and "ui" in meta and uri else [])


async def test_result_has_google_adks_form_and_the_key_travels():
    context = make_context()
    result = await run_tool(McpToolset(connection_params=raw_server()), "echo", context, n=1)
    assert set(result) == {"content", "isError"} and result["isError"] is False
    assert context.idempotency_key in result["content"][0]["text"]


async def test_failed_tool_is_an_error_for_the_model():
    result = await run_tool(McpToolset(connection_params=raw_server()), "fail")
    assert result["isError"] is True and result["error"] == "no such account"
    assert result["content"] == [{"type": "text", "text": "no such account"}]


async def test_image_reaches_the_model_as_media():
    toolset = McpToolset(connection_params=raw_server())
    model = ScriptedModel([call("image"), "I see."])
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Show")
    (response,) = model.requests[1].function_responses
    assert response.parts is not None and response.parts[0].inline_data is not None
    assert response.parts[0].inline_data.data == b"hello"
    assert "aGVsbG8=" not in str(response.response)
    await toolset.close()


async def test_structured_content_and_resources():
    server = MCPServer("shop")

    @server.tool()
    def count() -> dict[str, int]:
        return {"n": 3}

    @server.tool()
    def report() -> list[Any]:
        blob = mcp_types.BlobResourceContents(
            uri="file:///a/report.pdf", mime_type="application/pdf", blob="aGVsbG8="
        )
        text = mcp_types.TextResourceContents(uri="file:///a/note.txt", text="short")
        return [
            mcp_types.EmbeddedResource(type="resource", resource=blob),
            mcp_types.EmbeddedResource(type="resource", resource=text),
        ]

    def make_toolset() -> McpToolset:
        return McpToolset(connection_params=InProcessConnectionParams(server=server))

    assert (await run_tool(make_toolset(), "count"))["structuredContent"] == {"n": 3}
    context = make_context()
    context.get_invocation_context().artifact_service = InMemoryArtifactService()
    result = await run_tool(make_toolset(), "report", context)
    first, second = result["content"]
    assert first["artifact"] == {"name": "report-report.pdf", "version": 0}
    assert "blob" not in first["resource"] and second["resource"]["text"] == "short"
    part = await context.load_artifact("report-report.pdf")
    assert part is not None and part.inline_data is not None
    assert part.inline_data.data == base64.b64decode("aGVsbG8=")
    without = await run_tool(make_toolset(), "report")
    assert without["content"][0]["omitted"] == "5 bytes"


@pytest.mark.parametrize(
    ("model", "kind", "shown"),
    [
        ("gemini-2.5-flash", "audio/wav", True),
        ("claude-sonnet-4-5", "audio/wav", False),
        ("openai/gpt-5", "image/png", True),
        ("openai/gpt-5", "image/tiff", False),
    ],
)
async def test_only_media_that_the_model_takes_reach_it(model: str, kind: str, shown: bool):
    """What its API refuses would stay in the history and fail every later request."""
    context = make_context()
    context.get_invocation_context().agent = SimpleNamespace(name="root", model=model)
    block = {"type": kind.partition("/")[0], "data": "aGVsbG8=", "mimeType": kind}
    result: dict[str, Any] = {"content": [block]}
    await settle_media(result, "speak", context)
    response, parts = split_media(result)
    assert len(parts) == shown and "aGVsbG8=" not in str(response)
    assert ("omitted" in response["content"][0]) is not shown


async def test_effect_before_the_server_dies_happens_once(tmp_path: Path):
    effects = tmp_path / "effects"
    toolset = McpToolset(connection_params=raw_server(f"effects={effects}", "die=after"))
    model = ScriptedModel([call("pay"), "It may have been paid."])
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Pay")
    assert len(effects.read_text().splitlines()) == 1
    (response,) = model.requests[1].function_responses
    assert response.response is not None
    assert "may have taken effect; it was not repeated" in response.response["error"]
    await toolset.close()


@pytest.mark.long
async def test_hanging_call_times_out():
    toolset = McpToolset(connection_params=raw_server(call_timeout=3.0))
    with pytest.raises(ToolTimeoutError, match=r"'hang' of .* 3 s.*call_timeout"):
        await run_tool(toolset, "hang")


async def test_progress_begins_the_time_anew():
    """A call lasts as long as the server reports progress: each report moves the deadline."""
    manager = MCPSessionManager(raw_server())
    connection = await manager.connect()
    deadlines: list[float] = []

    async def work(session: Any, request: Any) -> Any:
        async def note(done: float, total: float | None, message: str | None) -> None:
            await asyncio.sleep(0)
            before = request._scope.deadline
            request.extend()
            deadlines.append(request._scope.deadline - before)

        return await session.call_tool("progress", {"steps": 3}, progress_callback=note)

    await connection.run(work, RequestTrace(), 30.0)
    assert len(deadlines) == 3 and all(one > 0 for one in deadlines)
    await manager.close()


@pytest.mark.long
async def test_progress_callbacks_get_each_step():
    steps: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    def make_callback(tool_name: str, *, callback_context: Any = None, **kwargs: Any) -> Any:
        assert tool_name == "progress" and callback_context is not None
        return note

    for callback in (note, make_callback):
        toolset = McpToolset(connection_params=raw_server(), progress_callback=callback)
        await run_tool(toolset, "progress")
    assert sorted(steps) == [0, 0, 1, 1, 2, 2]


async def test_confirmation_comes_before_the_call(tmp_path: Path):
    effects = tmp_path / "effects"
    toolset = McpToolset(
        connection_params=raw_server(f"effects={effects}"), require_confirmation={"pay": True}
    )
    model = ScriptedModel([call("pay"), "Paid."])
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Pay")
    assert not effects.exists()
    (waiting,) = talk.pending()
    await talk.answer(waiting, {"confirmed": True})
    assert talk.text == "Paid." and len(effects.read_text().splitlines()) == 1
    await toolset.close()


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        (False, False),
        (lambda amount: amount > 5, True),
        (lambda annotations: annotations.get("readOnlyHint") is not True, True),
        (lambda **all_of_it: all_of_it["amount"] > 100, False),
        (lambda amount, tool_context: tool_context.function_call_id == "call-1", True),
        ({"other": True}, False),
    ],
)
async def test_conditions_of_confirmations(condition: Any, asks: bool):
    tool = make_tool(require_confirmation=condition)
    context = make_context()
    refusal = await tool._ask_user({"amount": 9}, context)
    assert (refusal is not None) is asks
    rejected = make_context(confirmation=ToolConfirmation(confirmed=False))
    assert await tool._ask_user({"amount": 9}, rejected) == {"error": "This tool call is rejected."}


@pytest.mark.long
async def test_unreachable_server_is_told_to_the_model():
    tool = (await McpToolset(connection_params=raw_server()).get_tools())[0]
    broken = McpTool(
        mcp_tool=tool.raw_mcp_tool,  # pyright: ignore[reportAttributeAccessIssue]
        mcp_session_manager=MCPSessionManager(raw_server("mute=yes", timeout=0.2)),
    )
    result = await broken.run_async(args={}, tool_context=make_context())
    assert "cannot be reached" in result["error"] and "was not run" in result["error"]


async def test_error_of_the_protocol_is_told_to_the_model():
    server = MCPServer("shop")

    @server.tool()
    async def broken(ctx: ServerContext) -> str:
        raise __import__("mcp").MCPError(code=-32050, message="the till is closed")

    toolset = McpToolset(connection_params=InProcessConnectionParams(server=server))
    result = await run_tool(toolset, "broken")
    assert "the till is closed" in result["error"]


@pytest.mark.long
async def test_trace_context_travels_in_the_meta():
    provider = TracerProvider()
    with provider.get_tracer("test").start_as_current_span("run") as span:
        result = await run_tool(McpToolset(connection_params=raw_server()), "echo")
    meta = json.loads(result["content"][0]["text"])["meta"]
    assert meta["traceparent"].split("-")[1] == f"{span.get_span_context().trace_id:032x}"


@pytest.mark.parametrize("kind", ["task", "complete"])
async def test_a_result_of_an_unknown_kind_is_no_success(kind: str):
    async def list_tools(context: Any, params: Any) -> Any:
        tool = mcp_types.Tool(name="act", input_schema={"type": "object"})
        return mcp_types.ListToolsResult(tools=[tool])

    async def act(context: Any, params: Any) -> Any:
        return mcp_types.CallToolResult(content=[], result_type=kind)

    server: Any = Server("shop", on_list_tools=list_tools, on_call_tool=act)
    toolset = McpToolset(connection_params=InProcessConnectionParams(server=server))
    answer = await run_tool(toolset, "act")
    if kind == "task":
        assert "of the kind 'task', which is not known" in answer["error"]
        assert "may have taken effect" in answer["error"]
    else:
        assert answer == {"content": [], "isError": False}
