"""A server of the same document receives what the arguments of a call mean."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import parse_qsl

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from ostinato import types
from ostinato.artifacts.in_memory_artifact_service import InMemoryArtifactService
from ostinato.context.context import Context
from ostinato.errors import AgentConfigError
from ostinato.tools.openapi.auth_helpers import token_to_scheme_credential
from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.request_body import BodyWriter
from tests.unit.tools.contexts import make_invocation
from tests.unit.tools.openapi.documents import make_body, make_document
from tests.unit.tools.openapi.recording_server import RecordingServer, serve_document

TEXT, NUMBERS = {"type": "string"}, {"type": "array", "items": {"type": "integer"}}
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}}
PART = {"type": "object", "required": ["a"], "properties": {"a": TEXT, "n": {"type": "integer"}}}


def param(name: str, place: str, schema: Any = TEXT, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **more}


def operation(name: str, *parameters: Any, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "parameters": list(parameters), "responses": {}, **more}


def body_of(name: str, schema: Any, kind: str = "application/json", **media: Any) -> Any:
    content = {kind: {"schema": schema, **media}}
    return operation(name, requestBody={"content": content, "required": True})


FILES = {
    "type": "object",
    "properties": {
        "title": TEXT,
        "meta": POINT,
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
    },
}
DOCUMENT = make_document(
    {
        "/path/{plain}/{list}": {
            "get": operation("paths", param("plain", "path"), param("list", "path", NUMBERS))
        },
        "/named/{name}": {"get": operation("named", param("name", "path", allowReserved=True))},
        "/label{p}": {"get": operation("label", param("p", "path", POINT, style="label"))},
        "/query": {
            "get": operation(
                "queries",
                param("f", "query", {"type": "boolean"}),
                param("n", "query", {"type": "integer"}),
                param("list", "query", NUMBERS, explode=False),
                param("deep", "query", POINT, style="deepObject"),
                param("json", "query", {}) | {"content": {"application/json": {"schema": POINT}}},
                param("limit", "query", {"type": "integer", "default": 7}, required=True),
                param("page", "query", {"type": "integer", "default": 1}),
            )
        },
        "/fixed?version=2&flag": {"get": operation("fixed", param("q", "query"))},
        "/headers": {
            "get": operation(
                "headers",
                param("X-Point", "header", POINT, explode=True),
                param("Accept", "header"),
                param("sid", "cookie"),
                param("ids", "cookie", NUMBERS, explode=False),
                param("raw", "cookie", style="cookie"),
            )
        },
        "/reserved": {
            "delete": operation(
                "reserved", param("c", "query", allowReserved=True), param("dry", "query")
            )
        },
        "/whole": {
            "get": operation(
                "whole",
                {"name": "q", "in": "querystring",
                 "content": {"application/x-www-form-urlencoded": {"schema": POINT}}},
            )
        },
        "/json": {"post": body_of("json_body", PART)},
        "/open": {"post": body_of("open_body", PART | {"additionalProperties": TEXT})},
        "/free": {"post": body_of("free_body", {"type": "object", "additionalProperties": True})},
        "/list": {"post": body_of("list_body", NUMBERS)},
        "/nullable": {"post": body_of("nullable_body", PART | {"type": ["object", "null"]})},
        "/merged": {"post": body_of("merged_body", {"allOf": [PART, {"properties": {"b": TEXT}}]})},
        "/either": {"post": body_of("either_body", {"oneOf": [PART, NUMBERS]})},
        "/text": {"post": body_of("text_body", TEXT, "text/plain")},
        "/xml": {"post": body_of("xml_body", PART, "application/xml")},
        "/xmls": {"post": body_of("xml_list", NUMBERS, "text/xml")},
        "/bytes": {"post": body_of("bytes_body", {}, "application/octet-stream")},
        "/image": {"post": body_of("image_body", {}, "image/*")},
        "/form": {
            "post": body_of(
                "form_body",
                {"type": "object", "properties": {"a": TEXT, "l": NUMBERS, "d": POINT, "j": POINT}},
                "application/x-www-form-urlencoded",
                encoding={"d": {"style": "deepObject", "explode": True}},
            )
        },
        "/files": {
            "post": body_of(
                "files_body",
                FILES,
                "multipart/form-data",
                encoding={"file": {"contentType": "image/png, image/jpeg"}},
            )
        },
        "/several": {
            "post": operation(
                "several",
                requestBody={"content": {
                    "multipart/form-data": {"schema": FILES},
                    "application/vnd.x+json": {"schema": PART},
                    "application/json; charset=utf-8": {"schema": PART},
                }},
            )
        },
        "/patch": {
            "patch": body_of("merge_patch", PART, "application/merge-patch+json")
        },
    },
    version="3.2.0",
)  # fmt: skip


@pytest.fixture(scope="module")
def running_server() -> Iterator[RecordingServer]:
    with serve_document(DOCUMENT) as running:
        yield running


@pytest.fixture
def server(running_server: RecordingServer) -> RecordingServer:
    running_server.requests.clear()
    running_server.answers.clear()
    return running_server


def make_toolset(server: RecordingServer, **options: Any) -> OpenAPIToolset:
    return OpenAPIToolset(
        **{"spec_dict": DOCUMENT, "base_url": server.url, "allow_private_network_access": True}
        | options
    )


async def call(server: RecordingServer, name: str, context: Any = None, /, **args: Any) -> Any:
    """Call an operation; return what the server received, or the answer if it received nothing."""
    server.requests.clear()
    toolset = make_toolset(server)
    try:
        tool = toolset.get_tool(name)
        assert tool is not None
        answer = await tool.call(args=args, tool_context=context)
    finally:
        await toolset.close()
    return server.take() if server.requests else answer


async def make_artifact_context(**artifacts: bytes) -> Context:
    invocation = make_invocation()
    invocation.artifact_service = InMemoryArtifactService()
    context = Context(invocation, function_call_id="call-1")
    for name, data in artifacts.items():
        blob = types.Blob(data=data, mime_type="image/png")
        await context.save_artifact(name, types.Part(inline_data=blob))
    return context


async def test_path_parameters(server: RecordingServer) -> None:
    got = await call(server, "paths", plain="a/b ä?", list=[1, 2])
    assert got.path == "/path/a%2Fb%20%C3%A4%3F/1,2"
    got = await call(server, "label", p={"x": 1, "y": "z"})
    assert got.path == "/label.x,1,y,z"


@pytest.mark.parametrize("value", ["", None, ".", ".."])
async def test_a_path_parameter_cannot_change_the_path(server: RecordingServer, value: Any) -> None:
    answer = await call(server, "paths", plain=value, list=[1])
    assert "The path parameter 'plain'" in answer["error"] and not server.requests


async def test_a_path_parameter_of_several_segments_stays_in_its_place(
    server: RecordingServer,
) -> None:
    assert (await call(server, "named", name="a/b:c")).path == "/named/a/b:c"
    assert "cannot be" in (await call(server, "named", name="a/%2e%2E/b"))["error"]
    answer = await call(server, "named", name="a/../b")
    assert "The path parameter 'name' cannot be" in answer["error"]


async def test_query_parameters(server: RecordingServer) -> None:
    got = await call(
        server,
        "queries",
        f=False,
        n=0,
        list=[1, 2],
        deep={"x": 1, "y": "a b"},
        json={"x": 1},
    )
    assert got.query == (
        "f=false&n=0&list=1,2&deep%5Bx%5D=1&deep%5By%5D=a%20b&json=%7B%22x%22%3A%201%7D&limit=7"
    )


async def test_numbers_that_are_not_finite_are_not_sent(server: RecordingServer) -> None:
    for name, value in (("n", math.nan), ("deep", {"x": math.inf}), ("list", [1, -math.inf])):
        answer = await call(server, "queries", **{name: value})
        assert f"'{name}' holds a number that is not finite" in answer["error"]


async def test_a_query_of_the_path_stays(server: RecordingServer) -> None:
    got = await call(server, "fixed", q="1")
    assert (got.path, got.query) == ("/fixed", "q=1&version=2&flag")


async def test_a_parameter_may_be_the_whole_query(server: RecordingServer) -> None:
    assert (await call(server, "whole", q={"x": 1, "y": "a&b"})).query == "x=1&y=a%26b"


async def test_headers_and_cookies(server: RecordingServer) -> None:
    got = await call(server, "headers", x_point={"x": 1, "y": "z"}, sid="a b", ids=[1, 2])
    assert got.headers["x-point"] == "x=1,y=z"
    assert got.headers["cookie"] == "sid=a%20b; ids=1,2"
    assert got.headers["accept"] == "*/*"
    assert "(tool: headers)" in got.headers["user-agent"]


async def test_an_argument_that_the_operation_has_not_is_refused(server: RecordingServer) -> None:
    answer = await call(server, "headers", x_point={"x": 1}, accept="text/css", dryRun=True)
    fault = "has no argument 'accept', 'dryRun'. It takes: ids, raw, sid, x_point."
    assert fault in answer["error"]
    assert server.requests == []


async def test_a_header_cannot_break_the_request(server: RecordingServer) -> None:
    answer = await call(server, "headers", x_point={"x": 1, "y": "z\r\nX-Evil: 1"})
    assert "The header 'X-Point' has a line break" in answer["error"]


async def test_a_value_cannot_drop_or_add_parameters(server: RecordingServer) -> None:
    got = await call(server, "reserved", c="C#1&admin=true", dry="yes")
    assert got.query == "c=C%231%26admin=true&dry=yes"


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("headers", {"x_point": {"y": "Zoë"}}, "The header 'X-Point' can hold ASCII"),
        ("headers", {"raw": "a; admin=1"}, "The cookie parameter 'raw' cannot be sent"),
        ("headers", {"sid": "\ud800"}, "The parameter 'sid' cannot be written"),
        ("fixed", {"q": "\ud800"}, "The parameter 'q' cannot be written"),
        ("paths", {"plain": "\ud800", "list": [1]}, "The parameter 'plain' cannot be written"),
        ("whole", {"q": {"x": "\ud800"}}, "The parameter 'q' cannot be written"),
        ("text_body", {"body": "\ud800"}, "The body cannot be written"),
        ("xml_body", {"body": {"a": "1"}}, "A body of the type application/xml is a text"),
        ("xml_list", {"array": [1]}, "A body of the type text/xml is a text"),
    ],
)
async def test_a_value_that_cannot_be_sent_is_an_error_for_the_model(
    server: RecordingServer, name: str, args: dict[str, Any], wanted: str
) -> None:
    answer = await call(server, name, **args)
    assert wanted in answer["error"] and not server.requests


@pytest.mark.parametrize("value", ["Zoë", "a\r\nX-Evil: 1"])
async def test_a_header_of_the_program_that_cannot_be_sent_is_an_error(
    server: RecordingServer, value: str
) -> None:
    for options in ({"header_provider": lambda _: {"X-Own": value}}, {}):
        toolset = make_toolset(server, **options)
        tool = toolset.get_tool("fixed")
        assert tool is not None
        if not options:
            tool.set_default_headers({"X-Own": value})
        context = await make_artifact_context()
        answer = await tool.call(args={}, tool_context=context)
        assert "The header 'X-Own'" in answer["error"] and value not in answer["error"]
        await toolset.close()


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("json_body", {"a": "ä", "n": 1}, {"a": "ä", "n": 1}),
        ("json_body", {}, {}),
        ("open_body", {"a": "x", "additional_properties": {"b": "y", "a": "z"}},
         {"a": "x", "b": "y"}),
        ("free_body", {"body": {"any": [1]}}, {"any": [1]}),
        ("list_body", {"array": [1, 2]}, [1, 2]),
        ("nullable_body", {"a": "x"}, {"a": "x"}),
        ("merged_body", {"a": "x", "b": "y"}, {"a": "x", "b": "y"}),
        ("either_body", {"body": [3]}, [3]),
    ],
)  # fmt: skip
async def test_json_bodies(
    server: RecordingServer, name: str, args: dict[str, Any], wanted: Any
) -> None:
    got = await call(server, name, **args)
    assert got.headers["content-type"] == "application/json"
    assert json.loads(got.body) == wanted


async def test_object_that_is_no_json_is_a_text(server: RecordingServer) -> None:
    got = await call(server, "xml_body", body="<p><a>1</a></p>")
    assert (got.headers["content-type"], got.body) == ("application/xml", b"<p><a>1</a></p>")
    got = await call(server, "xml_list", array="<n>1</n>")
    assert (got.headers["content-type"], got.body) == ("text/xml", b"<n>1</n>")


async def test_text_and_bytes(server: RecordingServer) -> None:
    got = await call(server, "text_body", body="artifact:ä")
    assert (got.headers["content-type"], got.body) == ("text/plain", "artifact:ä".encode())
    context = await make_artifact_context(cat=b"\x89PNG\0")
    got = await call(server, "bytes_body", context, body="artifact:cat")
    assert (got.headers["content-type"], got.body) == ("application/octet-stream", b"\x89PNG\0")
    got = await call(server, "image_body", context, body="artifact:cat")
    assert (got.headers["content-type"], got.body) == ("image/png", b"\x89PNG\0")
    answer = await call(server, "bytes_body", context, body="artifact:dog")
    assert "There is no artifact 'dog'" in answer["error"]


async def test_forms(server: RecordingServer) -> None:
    got = await call(server, "form_body", a="x & y+z", l=[1, 2], d={"x": 1}, j={"x": 2, "y": "q"})
    assert got.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qsl(got.body.decode()) == [
        ("a", "x & y+z"),
        ("l", "1"),
        ("l", "2"),
        ("d[x]", "1"),
        ("j", '{"x": 2, "y": "q"}'),
    ]


async def test_multipart_with_files(server: RecordingServer) -> None:
    context = await make_artifact_context(cat=b"\x89PNG\r\n")
    got = await call(
        server,
        "files_body",
        context,
        title="A\r\n--x",
        meta={"x": 1},
        file="artifact:cat",
        files=["one", "artifact:cat"],
    )
    assert got.form == {
        "title": ["A\r\n--x"],
        "meta": ['{"x": 1}'],
        "file": [b"\x89PNG\r\n"],
        "files": [b"one", b"\x89PNG\r\n"],
    }
    assert b'filename="cat"\r\nContent-Type: image/png' in got.body


async def test_a_content_type_of_a_part_that_breaks_its_head_is_not_sent(
    server: RecordingServer,
) -> None:
    kind = "multipart/form-data"
    asked = make_body({"type": "object", "properties": {"f": TEXT}}, kind=kind)
    asked["content"][kind]["encoding"] = {"f": {"contentType": "text/plain\r\nX-Evil: 1"}}
    document = make_document({"/a": {"post": {"operationId": "a", "requestBody": asked}}})
    tool = make_toolset(server, spec_dict=document).get_tool("a")
    assert tool is not None
    answer = await tool.call(args={"f": "1"}, tool_context=await make_artifact_context())
    assert "content type of 'f' has a line break" in answer["error"] and not server.requests


async def test_an_error_shows_no_value_of_a_header_provider(server: RecordingServer) -> None:
    server.answers["fixed"] = lambda request: PlainTextResponse(str(request.headers), 400)
    toolset = make_toolset(server, header_provider=lambda _: {"X-Who": "c4n4ry", "X-Id": "7"})
    tool = toolset.get_tool("fixed")
    assert tool is not None
    answer = await tool.call(args={}, tool_context=await make_artifact_context())
    assert "x-who" in answer["error"] and "c4n4ry" not in answer["error"]
    await toolset.close()


async def test_json_is_chosen_of_several_media_types(server: RecordingServer) -> None:
    got = await call(server, "several", a="x")
    assert got.headers["content-type"] == "application/vnd.x+json"
    got = await call(server, "merge_patch", n=3)
    assert got.headers["content-type"] == "application/merge-patch+json"


@pytest.mark.parametrize(
    ("response", "wanted"),
    [
        (JSONResponse([1, {"a": None}]), [1, {"a": None}]),
        (PlainTextResponse("plain"), {"text": "plain"}),
        (Response(status_code=204), {"text": ""}),
        (Response(b"{broken", media_type="application/json"), {"text": "{broken"}),
        (Response("ä".encode("latin-1"), media_type="text/plain"), {"text": "\ufffd"}),
    ],
)
async def test_results(server: RecordingServer, response: Response, wanted: Any) -> None:
    server.answers["fixed"] = lambda request: response
    toolset = make_toolset(server)
    tool = toolset.get_tool("fixed")
    assert tool is not None
    assert await tool.call(args={}, tool_context=None) == wanted
    await toolset.close()


async def test_an_operation_without_a_host_says_what_to_do() -> None:
    relative = {**DOCUMENT, "servers": [{"url": "/api/v3"}]}
    tool = OpenAPIToolset(spec_dict=relative).get_tool("fixed")
    assert tool is not None
    with pytest.raises(AgentConfigError, match=r"'/api/v3' names no host\. Pass base_url="):
        await tool.call(args={}, tool_context=None)


async def test_headers_of_a_provider(server: RecordingServer) -> None:
    async def provide(context: Any) -> dict[str, str]:
        return {"x-user": context.session.user_id, "user-agent": "mine"}

    for provider in (provide, lambda context: {"x-user": "user", "User-Agent": "mine"}):
        toolset = make_toolset(server, header_provider=provider)
        tool = toolset.get_tool("fixed")
        assert tool is not None
        tool.set_default_headers({"X-User": "default", "X-More": "1"})
        await tool.call(args={}, tool_context=await make_artifact_context())
        got = server.take().headers
        assert (got["x-user"], got["user-agent"], got["x-more"]) == ("user", "mine", "1")
        await toolset.close()


@pytest.mark.parametrize(("given", "told"), [
    ("x-user: ann", "returned str"), ([("x-user", "ann")], "returned list"),
    ({"Authorization": None}, "returned None for the header 'Authorization'"),
])  # fmt: skip
async def test_headers_that_a_provider_may_not_give(
    server: RecordingServer, given: Any, told: str
) -> None:
    toolset = make_toolset(server, header_provider=lambda context: given)
    tool = toolset.get_tool("fixed")
    assert tool is not None
    with pytest.raises(AgentConfigError, match=told):
        await tool.call(args={}, tool_context=await make_artifact_context())
    await toolset.close()


async def test_a_provider_replaces_no_credential_and_no_cookie(server: RecordingServer) -> None:
    more = {"x-key": "provider", "cookie": "mine=1; sid=provider"}
    places: list[tuple[Literal["header", "cookie"], str]] = [("header", "X-Key"), ("cookie", "sid")]
    for where, name in places:
        document = make_document({"/fixed": {"get": {
            "operationId": "a", "responses": {}, "security": [{"key": []}],
            "parameters": [param("shown", "cookie", required=True)]}}})  # fmt: skip
        key = {"type": "apiKey", "in": where, "name": name}
        document["components"] = {"securitySchemes": {"key": key}}
        scheme, credential = token_to_scheme_credential("apikey", where, name, "secret")
        toolset = make_toolset(
            server,
            spec_dict=document,
            auth_scheme=scheme,
            auth_credential=credential,
            header_provider=lambda context: more,
        )
        tool = toolset.get_tool("a")
        assert tool is not None
        answer = await tool.call(args={"shown": "yes"}, tool_context=await make_artifact_context())
        assert server.requests, answer
        got = server.take().headers
        sid = "secret" if where == "cookie" else "provider"
        assert got["x-key"] == ("provider" if where == "cookie" else "secret")
        assert sorted(got["cookie"].split("; ")) == ["mine=1", "shown=yes", f"sid={sid}"]
        await toolset.close()


async def test_names_with_a_prefix_and_a_filter(server: RecordingServer) -> None:
    toolset = make_toolset(server, tool_filter=["fixed", "label"], tool_name_prefix="shop")
    tools = await toolset.get_tools_with_prefix()
    assert [tool.name for tool in tools] == ["shop_label", "shop_fixed"]
    declaration = tools[1]._get_declaration()
    assert declaration is not None and declaration.name == "shop_fixed"
    assert await tools[1].run_async(args={}, tool_context=await make_artifact_context())
    assert "(tool: shop_fixed)" in server.take().headers["user-agent"]
    await toolset.close()


def test_a_body_of_two_kinds_is_described() -> None:
    toolset = OpenAPIToolset(spec_dict=make_document({"/a": {"post": {
        "operationId": "a", "requestBody": make_body(FILES, kind="multipart/form-data"),
        "responses": {}}}}))  # fmt: skip
    tool = toolset.get_tool("a")
    assert tool is not None
    schema: Any = tool._get_declaration().parameters_json_schema
    assert schema["properties"]["file"]["description"].endswith("artifact.")


CONNECTION = [param(name, "header") for name in ("Content-Length", "host", "Transfer-Encoding")]


async def test_headers_of_the_connection_are_no_arguments(server: RecordingServer) -> None:
    document = make_document({"/x": {"get": operation("fixed", *CONNECTION)}})
    toolset = make_toolset(server, spec_dict=document)
    tool = toolset.get_tool("fixed")
    assert tool is not None and tool.make_arguments_schema()["properties"] == {}
    await toolset.close()


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("Content-Length", "7", "belongs to the connection"),
        ("transfer-encoding", "chunked", "belongs to the connection"),
        ("X-Own", " lead", "begins or ends with a space"),
        ("X Own", "1", "is no name of a header"),
    ],
)
async def test_a_header_that_would_break_the_request_is_not_sent(
    server: RecordingServer, name: str, value: str, wanted: str
) -> None:
    toolset = make_toolset(server, header_provider=lambda _: {name: value})
    tool = toolset.get_tool("fixed")
    assert tool is not None
    answer = await tool.call(args={}, tool_context=await make_artifact_context())
    assert wanted in answer["error"] and not server.requests
    await toolset.close()


async def test_a_query_that_is_too_long_is_an_error_for_the_model(server: RecordingServer) -> None:
    answer = await call(server, "fixed", q="a" * 70_000)
    assert "The address is longer than" in answer["error"]


@pytest.mark.parametrize("args", [{}, {"q": None}])
async def test_a_call_without_a_required_query_parameter_is_not_sent(args: Any) -> None:
    asked = operation("ask", param("q", "query", required=True), param("h", "header"))
    toolset = OpenAPIToolset(spec_dict=make_document({"/a": {"get": asked}}))
    answer = await toolset.tools[0].call(args=args, tool_context=None)
    assert "The query parameter 'q' is missing." in answer["error"]


async def test_a_required_query_parameter_may_stand_in_the_path() -> None:
    asked = operation("ask", param("v", "query", required=True))
    toolset = OpenAPIToolset(spec_dict=make_document({"/a?v=2": {"get": asked}}, servers=[]))
    with pytest.raises(AgentConfigError, match="names no host"):
        await toolset.tools[0].call(args={}, tool_context=None)


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("text/plain; charset=latin-1", "é", b"\xe9"),
        ('text/plain; Charset="UTF-8"', "é", b"\xc3\xa9"),
        ("application/json; charset=utf-16le", "é", '"é"'.encode("utf-16le")),
        ("text/plain; charset=latin-1", "日", None),
        ("text/plain; charset=nonsense", "a", None),
        ("text/plain; charset=base64", "a", None),
    ],
)
async def test_a_body_has_the_charset_of_its_media_type(
    kind: str, text: str, wanted: bytes | None
) -> None:
    media = {"schema": TEXT}

    async def load_file(name: str) -> Any:
        raise AssertionError(name)

    writer = BodyWriter(kind, media, load_file)
    if wanted is None:
        with pytest.raises(ValueError):
            await writer.write(text)
    else:
        assert await writer.write(text) == (wanted, kind)
