"""Servers that break the protocol or try to do harm: the run goes on with a readable log."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import Agent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.events.event import Event
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.testing import Conversation, ScriptedModel, call
from ostinato.tools.mcp import line_codec
from ostinato.tools.mcp.session_manager import MCPSessionManager
from ostinato.tools.mcp_tool import McpConnectionError, McpToolset, StdioConnectionParams
from tests.support.mcp import RAW_SERVER

pytestmark = pytest.mark.long


def result(body: str) -> str:
    return '{"jsonrpc": "2.0", "id": ID, "result": ' + body + "}"


def content(*blocks: str) -> str:
    return result('{"content": [' + ", ".join(blocks) + "]}")


def text(words: str) -> str:
    return '{"type": "text", "text": "' + words + '"}'


def tools(*described: str) -> str:
    return result('{"tools": [' + ", ".join([*described, ACT]) + "]}")


def note(progress: str, token: str = "TOKEN") -> str:
    params = f'{{"progressToken": {token}, "progress": {progress}}}'
    return f'{{"jsonrpc": "2.0", "method": "notifications/progress", "params": {params}}}'


ACT = '{"name": "act", "inputSchema": {"type": "object"}}'
FINE = content(text("fine"))
DEEP = "[" * 3_000 + "]" * 3_000
DEEP_SCHEMA = '{"type": "object", "properties": {"a": ' * 400 + "{}" + "}}" * 400
CHANGED = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'
ASK = '{"jsonrpc": "2.0", "id": 77, "method": "%s", "params": {}}'
IMAGE = '{"type": "image", "data": "%s", "mimeType": "%s"}'
FILE = '{"type": "resource", "resource": {"uri": "%s", "blob": "aGk="}}'

CALLS: dict[str, list[Any]] = {
    "result is null": [result("null")],
    "result is a list": [result("[]")],
    "content is no list": [result('{"content": "fine"}')],
    "content of an unknown type": [content('{"type": "virus", "text": 1}')],
    "structured content of 3,000 levels": [
        result(f'{{"content": [], "structuredContent": {DEEP}}}')
    ],
    "structured content of 185 levels": [
        result(f'{{"content": [], "structuredContent": {{"a": {"[" * 184 + "]" * 184}}}}}')
    ],
    "block of 185 levels": [
        content('{"type": "text", "text": "a", "_meta": {"a": %s}}' % ("[" * 184 + "]" * 184))
    ],
    "structured content that is no number": [
        result('{"content": [], "structuredContent": {"a": NaN, "b": 1e999}}')
    ],
    "half of a surrogate pair": [content(text("a\\ud800b"))],
    "NUL and escape characters": [content(text("\\u0000\\u001b[2J\\u202e"))],
    "five megabytes on one line": [content(text("x" * 5_000_000))],
    "twenty thousand blocks": [content(*[text("y")] * 20_000)],
    "isError is a text": [result('{"content": [], "isError": "yes"}')],
    "another request's id": ['{"jsonrpc": "2.0", "id": 4711, "result": {}}', FINE],
    "two answers": [FINE, FINE],
    "answer and error at once": [
        '{"jsonrpc": "2.0", "id": ID, "result": {"content": []}, "error": {"code": 1}}'
    ],
    "error that is a text": ['{"jsonrpc": "2.0", "id": ID, "error": "no"}', {"exit": 0}],
    "error of a megabyte": [
        '{"jsonrpc": "2.0", "id": ID, "error": {"code": 1, "message": "%s"}}' % ("z" * 1_000_000)
    ],
    "no JSON-RPC": ['{"id": ID}', "[1, 2]", "null", '"text"', FINE],
    "progress of no number": [note('"much"'), note("null"), note("1e999"), note("-5"), FINE],
    "progress for another call": [note("1", '"other"'), note("1", "null"), FINE, note("2")],
    "flood of progress": [{"repeat": [note("1"), 20_000]}, FINE],
    "flood of changes": [{"repeat": [CHANGED, 2_000]}, FINE],
    "requests of the server": [
        ASK % "sampling/createMessage",
        ASK % "roots/list",
        ASK % "elicitation/create",
        ASK % "no/such",
        FINE,
    ],
    "image that is none": [
        content(IMAGE % ("?", "image/png"), IMAGE % ("aGk=", "image/png\\r\\nX: y"))
    ],
    "file names that lead out": [
        content(FILE % "../../etc/passwd", FILE % "user:secret", FILE % "")
    ],
    "exit without an answer": [{"exit": 3}],
}

NAMES = ("", "a\\u001b[2J", "x" * 3_000, "transfer_to_agent", "adk_request_input")
SCHEMAS = (
    DEEP_SCHEMA,
    '{"type": "array"}',
    '{"type": "object", "properties": 7}',
    '{"type": "object", "$ref": "#"}',
    '{"type": "object", "$ref": "file:///etc/passwd"}',
    '{"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}}',
    '{"$schema": "no", "type": "object", "required": [1]}',
)
LISTS: dict[str, list[Any]] = {
    "names of all kinds": [
        tools(*[f'{{"name": "{name}", "inputSchema": {{"type": "object"}}}}' for name in NAMES])
    ],
    "schemas of all kinds": [
        tools(*[f'{{"name": "t{n}", "inputSchema": {one}}}' for n, one in enumerate(SCHEMAS)])
    ],
    "list that is none": [result('{"tools": {}}')],
    "list without an end": [result('{"tools": [], "nextCursor": "again"}')],
    "list of nothing": [result("{}")],
}


async def talk_to(
    tmp_path: Path, script: dict[str, Any], *turns: Any, call_seconds: float = 20
) -> list[Event]:
    """Play the turns of a model against a hostile server; return the stored events."""
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    program = str(RAW_SERVER.with_name("hostile_server.py"))
    server = {"command": sys.executable, "args": ["-I", "-S", program, str(file)]}
    params = StdioConnectionParams(server_params=server, timeout=30, call_timeout=call_seconds)
    model = ScriptedModel([*turns, "Done."])
    agent = Agent(name="root", model=model, tools=[McpToolset(connection_params=params)])
    service = SqliteSessionService(str(tmp_path / "sessions.db"))
    talk = Conversation(Runner(app_name="app", agent=agent, session_service=service))
    try:
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        events = await talk.say("Go", run_config=config)
        assert talk.text == "Done." and len(events) < 1_000
        stored = (await talk.session()).events
        assert len("".join(event.model_dump_json() for event in stored)) < 500_000
        return stored
    finally:
        await talk.runner.close()


@pytest.mark.parametrize("progress", ["9" * 400, "-" + "9" * 400, '1, "total": ' + "9" * 400])
async def test_progress_of_400_digits_costs_no_call(progress: str, tmp_path: Path):
    answers = [note(progress), note("1"), FINE]
    stored = await talk_to(tmp_path, {"tools/call": answers}, call("act"))
    (response,) = [one for event in stored for one in event.get_function_responses()]
    assert "fine" in str(response.response)


@pytest.mark.parametrize("name", CALLS)
async def test_answer_of_a_call(name: str, tmp_path: Path):
    stored = await talk_to(tmp_path, {"tools/call": CALLS[name]}, call("act"))
    (response,) = [one for event in stored for one in event.get_function_responses()]
    assert response.response
    written = {path.name for path in tmp_path.parent.iterdir()}
    assert "passwd" not in written


async def test_what_is_nested_too_deeply_for_an_event_is_text_in_its_place(tmp_path: Path):
    deep = f'{{"a":{"[" * 184 + "]" * 184}}}'
    block = f'{{"type": "text", "text": "b", "_meta": {deep}}}'
    answer = f'{{"content": [{text("fine")}, {block}], "structuredContent": {deep}}}'
    stored = await talk_to(tmp_path, {"tools/call": [result(answer)]}, call("act"))
    (response,) = [one for event in stored for one in event.get_function_responses()]
    assert response.response is not None and response.response["structuredContent"] == deep
    first, second = response.response["content"]
    assert first == {"type": "text", "text": "fine"}
    assert second["type"] == "text" and deep in second["text"]


async def test_nul_is_replaced_in_texts_and_keys(tmp_path: Path):
    content = [{"type": "text", "text": "a\0b"}]
    answer = json.dumps({"content": content, "structuredContent": {"a\0": "\0"}})
    stored = await talk_to(tmp_path, {"tools/call": [result(answer)]}, call("act"))
    (response,) = [one for event in stored for one in event.get_function_responses()]
    assert response.response is not None
    assert response.response["content"][0]["text"] == "a\ufffdb"
    assert response.response["structuredContent"] == {"a\ufffd": "\ufffd"}


@pytest.mark.parametrize("name", LISTS)
async def test_list_of_tools(name: str, tmp_path: Path):
    await talk_to(tmp_path, {"tools/list": LISTS[name]})


async def test_broken_answer_fails_its_call_at_once(tmp_path: Path):
    """The SDK drops it like a line of a log, and the call would wait for minutes."""
    script = {"tools/call": ['INFO "id": 7', content(text("a\\x"))]}
    stored = await talk_to(tmp_path, script, call("act"), call_seconds=3_000)
    (response,) = [one for event in stored for one in event.get_function_responses()]
    assert "not valid JSON-RPC" in str(response.response)
    assert "may have taken effect" in str(response.response)


async def read_answer(tmp_path: Path, *lines: Any) -> str:
    """Return what the model reads of a call that gets the lines."""
    stored = await talk_to(tmp_path, {"tools/call": list(lines)}, call("act"), call_seconds=3_000)
    (response,) = [one for event in stored for one in event.get_function_responses()]
    return str(response.response)


@pytest.mark.parametrize("is_first", [True, False])
async def test_answer_that_is_nested_too_deeply_is_named(tmp_path: Path, is_first: bool):
    """Servers of the TypeScript SDK write the id behind the result."""
    deep = f'"result": {{"content": [{text("x" * 2_000)}], "structuredContent": {{"a": {DEEP}}}}}'
    named = '"jsonrpc": "2.0", "id": ID'
    line = "{" + ", ".join((named, deep) if is_first else (deep, named)) + "}"
    answer = await read_answer(tmp_path, line)
    assert "its answer is nested more than 200 levels deep" in answer
    assert "may have taken effect" in answer


@pytest.mark.parametrize(
    "line",
    [
        'INFO "id": ID handled',
        '{"level": "info", "id": ID}',
        '{"jsonrpc": "2.0", "result": {"id": ID, "text": "a\\x"}}',
        '{"jsonrpc": "2.0", "method": "note", "params": {"id": ID, "text": "a\\x"}}',
    ],
)
async def test_line_that_only_mentions_the_id_of_a_call_is_no_answer(tmp_path: Path, line: str):
    assert "fine" in await read_answer(tmp_path, line, FINE)


async def test_half_of_a_character_is_replaced(tmp_path: Path):
    answer = await read_answer(tmp_path, content(text("a\\ud83db\\\\ud83d\\ud83d\\ude00")))
    assert "a\ufffdb\\\\ud83d\U0001f600" in answer


async def test_line_without_an_end_ends_the_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(line_codec, "MAX_ANSWER_BYTES", 1_000_000)
    answer = await read_answer(tmp_path, {"flood": "z"})
    assert "MCP server " in answer and "longer than 1,000,000 bytes" in answer
    assert "may have taken effect" in answer


async def test_handshake_without_a_line_break_names_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(line_codec, "MAX_ANSWER_BYTES", 1_000_000)
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"server/discover": [{"flood": "z"}]}))
    program = str(RAW_SERVER.with_name("hostile_server.py"))
    server = {"command": sys.executable, "args": ["-I", "-S", program, str(file)]}
    params = StdioConnectionParams(server_params=server, timeout=3_000)
    with pytest.raises(McpConnectionError, match=r"longer than 1,000,000 bytes"):
        await MCPSessionManager(params).create_session()


@pytest.mark.parametrize("code", [-32000, -32001, 1])
async def test_error_of_the_server_is_its_answer(code: int, tmp_path: Path):
    error = '{"jsonrpc": "2.0", "id": ID, "error": {"code": CODE, "message": "no stock"}}'
    answer = await read_answer(tmp_path, error.replace("CODE", str(code)))
    assert "no stock" in answer and "may have taken effect" not in answer


@pytest.mark.parametrize("version", ['"9999-99-99"', "1", "null", '""'])
async def test_unknown_version_of_the_protocol(version: str, tmp_path: Path):
    hello = '{"protocolVersion": %s, "capabilities": {}, "serverInfo": {"name": "x"}}'
    await talk_to(tmp_path, {"initialize": [result(hello % version)]})
