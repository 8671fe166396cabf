"""No value of a model becomes another parameter, a credential or another field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ostinato.tools.openapi.auth_helpers import token_to_scheme_credential
from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from tests.unit.tools.openapi.documents import make_document
from tests.unit.tools.openapi.recording_server import RecordingServer, serve_document

TEXT = {"type": "string"}
ANY = {"type": "object", "additionalProperties": True}
CLOSED = {"type": "object", "properties": {"x": TEXT}, "additionalProperties": False}
KEY = {"name": "key", "in": "query", "schema": TEXT, "x-idempotency-key": True}


def param(name: str, place: str = "query", schema: Any = TEXT, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, **more}


def operation(name: str, *parameters: Any, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "parameters": list(parameters), "responses": {}, **more}


def form(name: str, kind: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"a": ANY, "tenant": TEXT},
        "additionalProperties": True,
    }
    encoding = {"a": {"style": "form", "explode": True}}
    return operation(
        name, requestBody={"content": {kind: {"schema": schema, "encoding": encoding}}}
    )


DOCUMENT = make_document(
    {
        "/query?version=2": {
            "get": operation(
                "query",
                param("city"),
                param("free", schema={}),
                param("f", schema=ANY),
                param("g", schema=CLOSED),
                param("list", schema={"type": "array", "items": TEXT}),
                param("either", schema={"anyOf": [TEXT, ANY]}),
                param("deep", schema=ANY, style="deepObject"),
                param("deep[mine]"),
                param("tenant"),
            ),
            "post": operation("pay", KEY, param("f", schema=ANY)),
        },
        "/headers": {
            "get": operation(
                "heads",
                param("X-Api-Key", "header"),
                param("x-city", "header"),
                param("Cookie", "header"),
                param("c", "cookie", ANY),
                param("d", "cookie"),
            )
        },
        "/matrix{m}{tenant}": {
            "get": operation(
                "matrix",
                param("m", "path", ANY, style="matrix", explode=True, required=True),
                param("tenant", "path", style="matrix", required=True),
            )
        },
        "/path/{p}": {"get": operation("path", param("p", "path", required=True))},
        "/whole?version=2": {
            "get": operation(
                "whole",
                {
                    "name": "q",
                    "in": "querystring",
                    "content": {"application/x-www-form-urlencoded": {"schema": ANY}},
                },
            )
        },
        "/form": {"post": form("form", "application/x-www-form-urlencoded")},
        "/parts": {"post": form("parts", "multipart/form-data")},
    },
    version="3.2.0",
)


@pytest.fixture(scope="module")
def server() -> Iterator[RecordingServer]:
    with serve_document(DOCUMENT) as running:
        yield running


async def call(server: RecordingServer, name: str, key: tuple[Any, str] | None, **args: Any) -> Any:
    server.requests.clear()
    scheme, credential = token_to_scheme_credential("apikey", *key, "REAL") if key else (None, None)
    toolset = OpenAPIToolset(
        spec_dict=DOCUMENT,
        base_url=server.url,
        allow_private_network_access=True,
        auth_scheme=scheme,
        auth_credential=credential,
    )
    try:
        tool = toolset.get_tool(name)
        assert tool is not None
        return await tool.call(args=args, tool_context=None)
    finally:
        await toolset.close()


@pytest.mark.parametrize(
    ("name", "key", "args"),
    [
        ("query", None, {"city": {"tenant": "victim"}}),
        ("query", None, {"city": {"admin": True}}),
        ("query", None, {"city": ["a", "b"]}),
        ("query", None, {"free": {"admin": True}}),
        ("query", None, {"list": {"admin": True}}),
        ("query", None, {"f": {"tenant": "victim"}}),
        ("query", None, {"f": {"Tenant": "victim"}}),
        ("query", None, {"f": {"tenant[]": "victim"}}),
        ("query", None, {"f": {" tenant": "victim"}}),
        ("query", None, {"either": {"tenant": "victim"}}),
        ("query", None, {"f": {"version": "1"}}),
        ("query", None, {"f": {"deep[mine]": "1"}}),
        ("query", None, {"deep": {"mine": "1"}}),
        ("query", None, {"g": {"y": "1"}}),
        ("query", ("query", "api_key"), {"f": {"api_key": "forged"}}),
        ("pay", None, {"f": {"key": "forged"}}),
        ("whole", ("query", "api_key"), {"q": {"api_key": "forged"}}),
        ("whole", None, {"q": {"version": "1"}}),
        ("heads", None, {"x_city": {"a": "b"}}),
        ("heads", None, {"c": {"d": "forged"}}),
        ("heads", ("cookie", "session"), {"c": {"session": "forged"}}),
        ("matrix", None, {"m": {"tenant": "victim"}, "tenant": "mine"}),
        ("path", None, {"p": {"a": "b"}}),
        ("form", None, {"a": {"tenant": "victim"}}),
        ("form", None, {"additional_properties": {"tenant[]": "victim"}}),
        ("parts", None, {"additional_properties": {"tenant[]": "victim"}}),
    ],
)
async def test_a_value_never_becomes_another_parameter(
    server: RecordingServer, name: str, key: Any, args: dict[str, Any]
) -> None:
    answer = await call(server, name, key, **args)
    assert not server.requests and "error" in answer


async def test_objects_and_lists_of_their_own_are_sent(server: RecordingServer) -> None:
    answer = await call(
        server,
        "query",
        None,
        f={"x": 1, "y[]": 2},
        g={"x": "3"},
        list=["a"],
        free=["b"],
        deep={"other": 4},
        tenant="mine",
    )
    assert "error" not in answer
    assert server.take().query == (
        "free=b&x=1&y%5B%5D=2&x=3&list=a&deep%5Bother%5D=4&tenant=mine&version=2"
    )


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        (("header", "X-Api-Key"), {"x-api-key": "REAL", "cookie": "c=1"}),
        (("cookie", "session"), {"x-api-key": "forged", "cookie": "session=REAL"}),
    ],
)
async def test_a_credential_replaces_a_parameter_of_its_name(
    server: RecordingServer, key: Any, wanted: dict[str, str]
) -> None:
    await call(server, "heads", key, x_api_key="forged", cookie="c=1")
    got = server.take().headers
    assert {name: got[name] for name in wanted} == wanted
