"""MCP over streamable HTTP that fails after a call was sent: the outcome is unknown."""

import gzip
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato.tools.mcp import http_client
from ostinato.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from tests.support.mcp.raw_http_server import (
    RawHttpServer,
    serve_raw_http,
    write_head,
    write_json,
)
from tests.unit.tools.contexts import make_context

pytestmark = pytest.mark.long

JSON, EVENTS = "content-type: application/json", "content-type: text/event-stream"
UNKNOWN = "may have taken effect; it was not repeated"
FAULTS: dict[str, tuple[bytes, str]] = {
    "no answer": (b"", "the server did not answer (RemoteProtocolError)"),
    "half of a JSON": (write_head(200, JSON, length=99) + b'{"jsonrpc"', "the answer broke off"),
    "no body yet": (write_head(200, JSON, length=99), "the answer broke off"),
    "half of a chunk": (
        write_head(200, JSON, "transfer-encoding: chunked", length=None) + b"a\r\n{",
        "the answer broke off",
    ),
    "half of an event": (write_head(200, EVENTS, length=99) + b"data: {", "SSE stream ended"),
    "event that is no answer": (
        write_head(200, EVENTS, length=None) + b"data: {}\n\n",
        "not valid JSON-RPC",
    ),
    "broken compression": (
        write_head(200, JSON, "content-encoding: gzip", length=3) + b"zzz",
        "the answer broke off (DecodingError)",
    ),
    "HTML": (write_head(200, "content-type: text/html"), "answered with 'text/html'"),
    "no type": (write_head(200), "answered with ''"),
    "JSON of 300 levels": (
        write_head(200, JSON, length=600) + b"[" * 300 + b"]" * 300,
        "nested more than 200 levels deep",
    ),
    "event of 300 levels": (
        write_head(200, EVENTS, length=None) + b"data: " + b"[" * 300 + b"]" * 300 + b"\n\n",
        "nested more than 200 levels deep",
    ),
    "empty object": (write_json({}), "not valid JSON-RPC"),
    "list": (write_json([]), "not valid JSON-RPC"),
    "nothing": (write_head(200, JSON), "not valid JSON-RPC"),
    "accepted": (write_head(202), "HTTP 202 and no result"),
    "no content": (write_head(204), "answered with ''"),
    **{
        f"status {code}": (write_json({}, code), f"the server answered with HTTP {code}")
        for code in (400, 408, 409, 421, 429, 500, 503)
    },
    **{
        f"status {code} with {name}": (
            write_json(body, code),
            f"the server answered with HTTP {code}",
        )
        for code in (400, 408, 409, 429, 500)
        for name, body in {
            "an error of its own": {"error": {"message": "wait"}},
            "an error without a code": {"jsonrpc": "2.0", "id": 1, "error": {"message": "wait"}},
            "an error of another version": {"error": {"code": 1, "message": "wait"}},
        }.items()
    },
}


@pytest.fixture
async def server() -> AsyncGenerator[RawHttpServer]:
    async with serve_raw_http() as serving:
        yield serving


async def call_pay(server: RawHttpServer, toolset: McpToolset | None = None) -> dict[str, Any]:
    """Call the server's tool; return the result."""
    params = StreamableHTTPConnectionParams(url=server.url, timeout=30, call_timeout=30)
    own = toolset or McpToolset(connection_params=params)
    context = make_context()
    try:
        (tool,) = await own.get_tools(context)
        return await tool.run_async(args={"x": "1"}, tool_context=context)
    finally:
        if toolset is None:
            await own.close()


@pytest.mark.parametrize("name", FAULTS)
async def test_failure_that_is_no_answer_leaves_the_outcome_open(name: str, server: RawHttpServer):
    server.answers["tools/call"], wanted = FAULTS[name]
    error = (await call_pay(server))["error"]
    assert wanted in error and UNKNOWN in error
    assert server.count("tools/call") == 1


@pytest.mark.parametrize("is_packed", [False, True])
async def test_answer_that_is_too_long(
    is_packed: bool, server: RawHttpServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 50_000)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * 90_000}}).encode()
    head = [JSON]
    if is_packed:
        body = gzip.compress(body)
        head.append("content-encoding: gzip")
    server.answers["tools/call"] = write_head(200, *head, length=len(body)) + body
    error = (await call_pay(server))["error"]
    assert "longer than 50,000 bytes" in error and UNKNOWN in error


CUT = rb'{"content": [{"type": "text", "text": "a\ud83db \ud83d\ude00"}]}'
LATIN = b'{"content": [{"type": "text", "text": "a\xe9b \xf0\x9f\x98\x80"}]}'


@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("result", [CUT, LATIN], ids=["half", "no UTF-8"])
async def test_broken_character_is_replaced(
    kind: str, is_packed: bool, result: bytes, server: RawHttpServer
):
    def answer(path: str, number: Any) -> bytes:
        body = b'{"jsonrpc": "2.0", "id": %d, "result": %s}' % (number, result)
        body = body if kind == JSON else b"event: message\ndata: %s\n\n" % body
        head = [kind, "content-encoding: gzip"] if is_packed else [kind]
        body = gzip.compress(body) if is_packed else body
        return write_head(200, *head, length=len(body)) + body

    server.answers["tools/call"] = answer
    assert (await call_pay(server))["content"][0]["text"] == "a\ufffdb \U0001f600"


@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize("content", [{"result": {"content": []}}, {"error": {"code": 1}}])
async def test_answer_to_another_request_ends_the_call(
    kind: str, content: dict[str, Any], server: RawHttpServer
):
    def answer(path: str, number: Any) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": number + 1_000, **content}).encode()
        body = body if kind == JSON else b"event: message\r\ndata: %s\r\n\r\n" % body
        return write_head(200, kind, length=len(body)) + body

    server.answers["tools/call"] = answer
    error = (await call_pay(server))["error"]
    assert UNKNOWN in error
    assert ("another request's id" if kind == JSON else "SSE stream ended") in error


@pytest.mark.parametrize("status", [200, 400, 408, 409, 429, 500])
async def test_error_of_the_protocol_is_an_answer(status: int, server: RawHttpServer):
    fault = {"code": -32602, "message": "x is wrong"}

    def answer(path: str, number: Any) -> bytes:
        return write_json({"jsonrpc": "2.0", "id": number, "error": fault}, status)

    server.answers["tools/call"] = answer
    error = (await call_pay(server))["error"]
    assert "x is wrong" in error
    assert (UNKNOWN in error) is (status in (408, 429, 500))


@pytest.mark.parametrize("status", [401, 403, 404, 502, None])
async def test_resumption_that_fails_says_nothing_of_the_call(
    status: int | None, server: RawHttpServer
):
    """The call was taken; that the rest of its stream is refused does not undo it."""
    head = write_head(200, EVENTS, length=None)
    server.answers["tools/call"] = head + b"id: 5\nretry: 1\ndata: \n\n"
    server.answers["GET"] = b"" if status is None else write_head(status)
    error = (await call_pay(server))["error"]
    assert "SSE stream ended" in error and UNKNOWN in error
    assert server.count("tools/call") == 1


@pytest.mark.parametrize(
    "location",
    ["/elsewhere", "http://localhost:1/mcp", "/mcp?key=secret", "http://u:secret@[::1]/"],
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_of_a_call_is_not_followed(
    status: int, location: str, server: RawHttpServer
):
    server.answers["tools/call"] = write_head(status, f"location: {location}")
    error = (await call_pay(server))["error"]
    assert "redirects the call to" in error and UNKNOWN in error and "secret" not in error
    assert server.count("tools/call") == 1


async def test_server_that_has_moved_is_asked_where_it_is(server: RawHttpServer):
    """The redirect of the handshake is followed, and later requests go there at once."""

    def move(then: Any) -> Any:
        def answer(path: str, number: Any) -> bytes:
            if path == "/mcp":
                return write_head(307, "location: /mcp/")
            return then(number)

        return answer

    methods = ("initialize", "notifications/initialized", "tools/list", "tools/call")
    for method in methods:
        server.answers[method] = move(
            lambda number, method=method: server._answer("POST", {"method": method, "id": number})
        )
    result = await call_pay(server)
    assert result["content"][0]["text"] == "paid"
    assert [one for one in server.received if one[2] == "tools/call"] == [
        ("POST", "/mcp/", "tools/call")
    ]


@pytest.mark.parametrize("value", ["Zoë-secret", "secret\r\nX-Evil: 1", "secret\ud800"])
async def test_header_that_cannot_be_sent_fails_its_call_alone(value: str, server: RawHttpServer):
    values = ["fine"]
    toolset = McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=server.url, timeout=30),
        header_provider=lambda _: {"X-Own": values[-1]},
    )
    context = make_context()
    (tool,) = await toolset.get_tools(context)
    connection = await toolset._manager.connect("app/user")
    values.append(value)
    error = (await tool.run_async(args={}, tool_context=context))["error"]
    assert "the header 'X-Own' holds" in error and "The call was not run." in error
    assert "secret" not in error and server.count("tools/call") == 0
    values.append("fine again")
    assert (await tool.run_async(args={}, tool_context=context))["isError"] is False
    assert await toolset._manager.connect("app/user") is connection
    await toolset.close()


async def test_redirects_in_a_circle_end(server: RawHttpServer):
    for method in ("tools/list", "GET", "DELETE"):
        server.answers[method] = write_head(307, "location: /mcp")
    params = StreamableHTTPConnectionParams(url=server.url, timeout=30, call_timeout=30)
    toolset = McpToolset(connection_params=params)
    with pytest.raises(Exception, match="could not list its tools"):
        await toolset.get_tools(make_context())
    await toolset.close()
    assert all(server.count(method) <= 6 for method in ("tools/list", "GET", "DELETE"))
