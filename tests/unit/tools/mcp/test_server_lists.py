"""The lists of MCP servers: whole, bounded, kept, forgotten, sorted and checked."""

import asyncio
import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp import types as mcp_types
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import MCPServer

from ostinato.agents import Agent
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.mcp import tool_listing
from ostinato.tools.mcp.tool_listing import fit_name
from ostinato.tools.mcp_tool import InProcessConnectionParams, McpCallError, McpToolset
from tests.support.mcp import raw_server
from tests.unit.tools.contexts import make_context


class Listing:
    """A server whose tools a test sets, and that counts the requests for them.

    Args:
      names: the tools; a dict is a whole description.
      ttl: the hint of the answers, in milliseconds.
    """

    def __init__(self, *names: Any, ttl: int = 0) -> None:
        self.names = list(names)
        self.ttl = ttl
        self.asked = 0
        self.server: Any = Server("shop", on_list_tools=self._list, on_call_tool=self._call)

    def toolset(self, **options: Any) -> McpToolset:
        """Return a toolset of the server."""
        params = InProcessConnectionParams(server=self.server)
        return McpToolset(connection_params=params, **options)

    async def _list(self, context: Any, params: Any) -> Any:
        self.asked += 1
        described = [one if isinstance(one, dict) else {"name": one} for one in self.names]
        tools = [mcp_types.Tool(**{"input_schema": {"type": "object"}, **one}) for one in described]
        return mcp_types.ListToolsResult(tools=tools, ttl_ms=self.ttl)

    async def _call(self, context: Any, params: Any) -> Any:
        text = mcp_types.TextContent(type="text", text=f"did {params.name}")
        return mcp_types.CallToolResult(content=[text])


async def names_of(toolset: McpToolset) -> list[str]:
    return [tool.name for tool in await toolset.get_tools()]


async def test_all_pages_are_read_sorted_and_cached(tmp_path: Path):
    asked = tmp_path / "asked"
    toolset = McpToolset(connection_params=raw_server("pages=50", f"asked={asked}"))
    first = await names_of(toolset)
    assert first == [f"tool_{page:03}" for page in range(50)]
    assert await names_of(toolset) == first
    assert asked.read_text().split().count("tools/list") == 50
    await toolset.close()


@pytest.mark.long
async def test_filter_finds_a_tool_of_a_later_page():
    toolset = McpToolset(connection_params=raw_server("pages=3"), tool_filter=["tool_002"])
    assert await names_of(toolset) == ["tool_002"]
    await toolset.close()


async def test_repeated_cursor_is_an_error_that_names_the_server():
    toolset = McpToolset(connection_params=raw_server("pages=3", "loop=yes"))
    with pytest.raises(McpCallError, match=r"raw_server.py: its list of tools .* repeats"):
        await toolset.get_tools()
    await toolset.close()


async def test_run_with_known_tools_asks_only_its_calls(tmp_path: Path):
    asked = tmp_path / "asked"
    toolset = McpToolset(connection_params=raw_server(f"asked={asked}"))
    await toolset.get_tools()
    before = len(asked.read_text().split())
    model = ScriptedModel([call("echo"), "done", call("read"), "done"])
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Go")
    await talk.say("Again")
    assert asked.read_text().split()[before:] == ["tools/call", "tools/call"]
    await toolset.close()


async def test_change_that_the_server_announces_is_seen_by_the_next_run():
    server = MCPServer("shop")

    def buy() -> str:
        return "bought"

    @server.tool()
    async def open_shop(ctx: ServerContext) -> str:
        server.add_tool(buy)
        await ctx.session.send_tool_list_changed()
        return "open"

    params = InProcessConnectionParams(server=server, mode="legacy")
    toolset = McpToolset(connection_params=params)
    model = ScriptedModel([call("open_shop"), "open", call("buy"), "bought"])
    talk = Conversation(Agent(name="root", model=model, tools=[toolset]))
    await talk.say("Open")
    await talk.say("Buy")
    assert [one.tool_names for one in model.requests] == [
        ["open_shop"],
        ["open_shop"],  # a run keeps the tools that it began with
        ["buy", "open_shop"],
        ["buy", "open_shop"],
    ]
    await toolset.close()


async def test_subscription_to_changes_of_the_newest_protocol():
    server = MCPServer("shop")

    def buy() -> str:
        return "bought"

    @server.tool()
    async def open_shop(ctx: ServerContext) -> str:
        server.add_tool(buy)
        await ctx.notify_tools_changed()
        return "open"

    toolset = McpToolset(connection_params=InProcessConnectionParams(server=server))
    (tool,) = await toolset.get_tools()
    await tool.run_async(args={}, tool_context=make_context())
    while len(await names_of(toolset)) < 2:  # noqa: ASYNC110 - the notice comes by itself
        await asyncio.sleep(0)
    assert await names_of(toolset) == ["buy", "open_shop"]
    await toolset.close()


@pytest.mark.parametrize(("options", "asked"), [({}, 1), ({"tool_list_cache_ttl_seconds": 0}, 2)])
async def test_cache_is_on_unless_switched_off(options: dict[str, Any], asked: int):
    listing = Listing("a")
    toolset = listing.toolset(**options)
    await toolset.get_tools()
    await toolset.get_tools()
    assert listing.asked == asked
    await toolset.close()


async def test_hint_of_the_server_limits_the_age(monkeypatch: pytest.MonkeyPatch):
    listing = Listing("a", ttl=60_000)
    toolset = listing.toolset()
    await toolset.get_tools()
    connection = await toolset._manager.connect()
    expires, _ = connection.lists._kept["tools"]
    now = connection._loop.time()
    assert now < expires <= now + 60
    await toolset.close()


async def test_new_connection_reads_the_list_anew():
    listing = Listing("a")
    toolset = listing.toolset()
    await toolset.get_tools()
    listing.names = ["b"]
    await toolset.close()
    assert await names_of(toolset) == ["b"]
    await toolset.close()


async def test_tools_that_no_model_could_call_are_left_out(caplog: pytest.LogCaptureFixture):
    listing = Listing(
        *("good", "transfer_to_agent", "adk_request_input", "set_model_response"),
        *("a.b", "a/b"),
        {
            "name": "bad_schema",
            "input_schema": {"type": "object", "properties": {"x": {"type": 3}}},
        },
        {
            "name": "lost",
            "input_schema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}},
        },
        {
            "name": "remote",
            "input_schema": {"type": "object", "properties": {"x": {"$ref": "http://x/y"}}},
        },
        {
            "name": "tree",
            "input_schema": {
                "type": "object",
                "properties": {"node": {"$ref": "#/$defs/node"}},
                "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
            },
        },
    )
    toolset = listing.toolset()
    with caplog.at_level(logging.WARNING):
        assert await names_of(toolset) == ["a_b", "good", "tree"]
    left_out = [record.getMessage() for record in caplog.records]
    assert len(left_out) == 7 and all("MCP server shop" in one for one in left_out)
    await toolset.close()


async def test_checking_many_tools_leaves_other_tasks_their_turn():
    tools = [
        {"name": f"t{n:03}", "input_schema": {"type": "object", "title": str(n)}}
        for n in range(200)
    ]
    toolset = Listing(*tools).toolset()
    context, turns = make_context(), 0
    await toolset._list_items("tools", context)  # connect, and read the list

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count_turns())
    assert len(await toolset.get_tools(context)) == 200
    counting.cancel()
    assert turns >= 15
    await toolset.close()


@pytest.mark.long
async def test_broken_toolset_does_not_stop_the_others(caplog: pytest.LogCaptureFixture):
    broken = McpToolset(connection_params=raw_server("mute=yes", timeout=0.2))
    whole = Listing("good").toolset()
    model = ScriptedModel([call("good"), "done"])
    talk = Conversation(Agent(name="root", model=model, tools=[broken, whole]))
    await talk.say("Go")
    assert model.requests[0].tool_names == ["good"]
    assert "raw_server.py cannot be reached: no answer within 0.2 s" in caplog.text
    await whole.close()


async def test_prefix_and_predicate():
    toolset = Listing("a", "b").toolset(
        tool_name_prefix="shop", tool_filter=lambda tool, readonly_context=None: tool.name == "b"
    )
    (tool,) = await toolset.get_tools_with_prefix()
    declaration = tool._get_declaration()
    assert tool.name == "shop_b" and declaration is not None and declaration.name == "shop_b"
    await toolset.close()


@pytest.mark.parametrize(
    ("name", "prefix", "fitted"),
    [("a.b/c", "", "a_b_c"), ("x" * 80, "", "x" * 64), ("y" * 80, "gh", "y" * 61)],
)
def test_names_fit_all_providers(name: str, prefix: str, fitted: str):
    assert fit_name(name, prefix) == fitted


@pytest.mark.parametrize("name", ["a.b", "a_b", "x_a_b"])
async def test_settings_take_every_spelling_of_a_name(name: str):
    made = Listing("a.b", "other")
    toolset = made.toolset(
        tool_filter=[name], require_confirmation={name: True}, tool_name_prefix="x"
    )
    (tool,) = await toolset.get_tools_with_prefix()
    assert tool.name == "x_a_b" and await tool.asks_user({}, make_context())
    await toolset.close()


async def test_the_setting_that_asks_counts_of_two_for_one_tool():
    toolset = Listing("a.b").toolset(require_confirmation={"a.b": False, "a_b": True})
    (tool,) = await toolset.get_tools()
    assert await tool.asks_user({}, make_context())
    await toolset.close()


async def test_a_name_that_no_tool_has_is_warned_of(caplog: pytest.LogCaptureFixture):
    made = Listing("pay")
    toolset = made.toolset(require_confirmation={"payy": True}, tool_filter=["nope", "pay"])
    with caplog.at_level(logging.WARNING, "ostinato"):
        await toolset.get_tools()
        await toolset.get_tools()
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert told.count("require_confirmation names 'payy', but there is no such tool") == 1
    assert told.count("tool_filter names 'nope', but there is no such tool") == 1
    await toolset.close()


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("adk", "request_confirmation"),
        ("adk", "framework"),
        ("transfer", "to_agent"),
        ("transfer", "to.agent"),
        (None, "transfer.to.agent"),
        (None, "adk.framework"),
    ],
)
async def test_a_reserved_name_is_left_out_however_it_comes_about(
    prefix: str | None, name: str, caplog: pytest.LogCaptureFixture
):
    toolset = Listing(name, "other").toolset(tool_name_prefix=prefix)
    with caplog.at_level(logging.WARNING, "ostinato"):
        tools = await toolset.get_tools_with_prefix()
    assert len(tools) == 1 and tools[0].name.endswith("other")
    assert "is left out" in caplog.text and "reserves" in caplog.text
    await toolset.close()


def with_properties(count: int, schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{number}": schema for number in range(count)}}


async def test_a_schema_that_takes_long_to_check_is_left_out_unchecked(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    schemas = {
        "props": with_properties(5_000, {"type": "string"}),
        "refs": {"$defs": {"d": {}}, **with_properties(5_000, {"$ref": "#/$defs/d"})},
        "any": with_properties(300, {"anyOf": [{"type": "string"}] * 50}),
        "types": with_properties(1, {"type": [{"a": number} for number in range(501)]}),
    }
    checked: list[str] = []

    def check(text: str) -> str:
        checked.append(text)
        return ""

    monkeypatch.setattr(tool_listing, "_check_schema", check)
    toolset = Listing(
        *[{"name": name, "input_schema": schema} for name, schema in schemas.items()], "other"
    ).toolset()
    with caplog.at_level(logging.WARNING, "ostinato"):
        assert await names_of(toolset) == ["other"]
    for name in schemas:
        assert f"its tool '{name}' is left out: its arguments have " in caplog.text
    assert checked == ['{"properties": {}, "type": "object"}']
    await toolset.close()


async def test_a_large_schema_is_checked_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch):
    threads: list[Any] = []

    def check(text: str) -> str:
        threads.append(threading.current_thread())
        return ""

    monkeypatch.setattr(tool_listing, "_check_schema", check)
    large = with_properties(2_490, {"enum": ["a"] * 20})
    toolset = Listing({"name": "large", "input_schema": large}, "small").toolset()
    assert await names_of(toolset) == ["large", "small"]
    assert [one is threading.main_thread() for one in threads] == [False, True]
    await toolset.close()


async def test_a_prefix_has_only_characters_that_models_take():
    toolset = Listing("pay").toolset(tool_name_prefix="a b/é")
    (tool,) = await toolset.get_tools_with_prefix()
    assert tool.name == "a_b___pay"
    await toolset.close()


async def test_an_error_does_not_repeat_the_caller_s_secrets(caplog: pytest.LogCaptureFixture):
    headers = {"Authorization": "Bearer tok-s3cr3t", "X-Key": "k-s3cr3t"}
    made = Listing("pay")

    async def refuse(context: Any, params: Any) -> Any:
        raise MCPError(-32_000, f"bad {json.dumps(headers)}")

    made.server = Server("shop", on_list_tools=made._list, on_call_tool=refuse)
    toolset = made.toolset(header_provider=lambda _: headers)
    (tool,) = await toolset.get_tools()
    answer = await tool.run_async(args={}, tool_context=make_context())
    assert "bad" in answer["error"] and "s3cr3t" not in answer["error"] + caplog.text
    await toolset.close()
