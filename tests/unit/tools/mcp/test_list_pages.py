"""Lists with items that break the protocol: they are left out by name, and the others stay."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from ostinato.tools.mcp.list_pages import ListPages
from ostinato.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from tests.support.mcp.raw_http_server import serve_raw_http
from tests.unit.tools.contexts import make_context

SCHEMA = {"type": "object"}
GOOD = {"name": "good", "inputSchema": SCHEMA}
BAD_TOOLS: dict[str, Any] = {
    "another type": {"name": "bad", "inputSchema": {"type": "string"}},
    "no type": {"name": "bad", "inputSchema": {}},
    "reference to itself": {"name": "bad", "inputSchema": {"$ref": "#"}},
    "no schema": {"name": "bad"},
    "schema that is none": {"name": "bad", "inputSchema": [1]},
    "properties that are none": {"name": "bad", "inputSchema": SCHEMA | {"properties": [1]}},
    "hints that are none": GOOD | {"name": "bad", "annotations": {"readOnlyHint": "perhaps"}},
    "description that is none": GOOD | {"name": "bad", "description": 7},
}
NAMELESS: dict[str, Any] = {
    "number as a name": GOOD | {"name": 5},
    "no name": {"inputSchema": SCHEMA},
    "null": None,
    "text": "bad",
}


def clean(field: str, *items: Any, version: str | None = "2025-11-25", **more: Any) -> Any:
    """Return what is left of a page."""
    page = {field: list(items), **more}
    message = SimpleNamespace(message=SimpleNamespace(result=page))
    ListPages("shop", lambda: version, str).clean(message)
    return page[field]


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("name", BAD_TOOLS)
def test_invalid_tool_is_left_out_by_name(
    name: str, version: str | None, caplog: pytest.LogCaptureFixture
):
    assert clean("tools", BAD_TOOLS[name], GOOD, version=version) == [GOOD]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "MCP server shop: its tool 'bad' is left out: " in record.getMessage()


@pytest.mark.parametrize("name", NAMELESS)
def test_tool_without_a_name_is_left_out_by_number(name: str, caplog: pytest.LogCaptureFixture):
    assert clean("tools", GOOD, NAMELESS[name]) == [GOOD]
    assert "its tool number 2 is left out" in caplog.text


def test_newest_protocol_has_its_own_rules(caplog: pytest.LogCaptureFixture):
    more = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
    bad = BAD_TOOLS["no type"]
    assert clean("tools", bad, GOOD, version="2026-07-28", **more) == [GOOD]
    assert "its tool 'bad' is left out" in caplog.text


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("resources", {"name": "a", "uri": "file:///a"}, {"name": "bad"}),
        ("resourceTemplates", {"name": "a", "uriTemplate": "x/{a}"}, {"name": "bad"}),
        ("prompts", {"name": "a"}, {"name": "bad", "arguments": 5}),
    ],
)
def test_other_lists_are_cleaned_alike(
    field: str, good: Any, bad: Any, caplog: pytest.LogCaptureFixture
):
    assert clean(field, bad, good) == [good]
    assert "'bad' is left out" in caplog.text


def test_page_that_is_wrong_itself_is_left_to_the_sdk(caplog: pytest.LogCaptureFixture):
    bad = BAD_TOOLS["no type"]
    assert clean("tools", bad, GOOD, nextCursor=7) == [bad, GOOD]
    assert clean("other", bad) == [bad]
    assert not caplog.records


@pytest.mark.long
async def test_server_with_an_invalid_tool_keeps_its_others(caplog: pytest.LogCaptureFixture):
    async with serve_raw_http() as server:
        server.tools += [*BAD_TOOLS.values(), *NAMELESS.values()]
        params = StreamableHTTPConnectionParams(url=server.url, timeout=30, call_timeout=30)
        toolset = McpToolset(connection_params=params)
        context = make_context()
        tools = await toolset.get_tools(context)
        assert [tool.name for tool in tools] == ["pay"]
        paid = await tools[0].run_async(args={}, tool_context=context)
        assert paid["isError"] is False
        await toolset.close()
    assert caplog.text.count("is left out") == len(BAD_TOOLS) + len(NAMELESS)
