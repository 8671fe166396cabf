"""Read-only properties cannot be set, also where an object takes any further property."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from tests.unit.tools.openapi.documents import make_document
from tests.unit.tools.openapi.recording_server import RecordingServer, serve_document

TEXT = {"type": "string"}
LOCKED = {"type": "string", "readOnly": True}
NAMED = "#/components/schemas/"
USER = {
    "type": "object",
    "additionalProperties": True,
    "properties": {
        "name": TEXT,
        "role": LOCKED,
        "stamp": {"$ref": f"{NAMED}Stamp"},
        "Id": TEXT,
        "id": LOCKED,
        "boss": {"$ref": f"{NAMED}User"},
        "list": {"type": "array", "items": {"$ref": f"{NAMED}User"}},
        "by_key": {"type": "object", "additionalProperties": {"$ref": f"{NAMED}User"}},
        "either": {"oneOf": [TEXT, {"type": "object", "properties": {"role": LOCKED}}]},
    },
}
CASES = {
    "type": "object",
    "additionalProperties": True,
    "properties": {
        "kind": TEXT,
        "grade": LOCKED,
        "bag": {"type": "object", "unevaluatedProperties": {"properties": {"hidden": LOCKED}}},
    },
    "dependentSchemas": {"kind": {"properties": {"owner": LOCKED}}},
    "if": {"properties": {"kind": {"const": "admin"}, "grade": {"const": "a"}, "seal": LOCKED}},
    "then": {"properties": {"role": LOCKED, "either": TEXT}, "$ref": f"{NAMED}Deep"},
    "else": {"properties": {"rank": LOCKED, "either": LOCKED, "grade": {"minLength": 1}}},
}
DEEP = {"properties": {"inner": {"then": {"properties": {"role": LOCKED}}}}}
TREE = {
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {
        "children": {"type": "array", "items": {"$dynamicRef": "#node"}},
        "next": {"$dynamicRef": f"{NAMED}Tree"},
    },
}
OWNED_TREE = {
    "$dynamicAnchor": "node",
    "$ref": f"{NAMED}Tree",
    "additionalProperties": True,
    "properties": {"owner": LOCKED, "other": {"$dynamicRef": "#gone"}},
}
MIXED = {
    "allOf": [
        {"type": "object", "properties": {"role": LOCKED, "both": LOCKED}},
        {"type": "object", "properties": {"both": TEXT}},
    ]
}


def operation(name: str, kind: str, schema: Any) -> dict[str, Any]:
    body = {"content": {kind: {"schema": schema}}}
    return {"operationId": name, "requestBody": body, "responses": {}}


DOCUMENT = make_document(
    {
        "/user": {"post": operation("user", "application/json", {"$ref": f"{NAMED}User"})},
        "/form": {"post": operation("form", "application/x-www-form-urlencoded", USER)},
        "/parts": {"post": operation("parts", "multipart/form-data", USER)},
        "/mixed": {"post": operation("mixed", "application/json", MIXED)},
        "/cases": {"post": operation("cases", "application/json", CASES)},
        "/tree": {"post": operation("tree", "application/json", {"$ref": f"{NAMED}OwnedTree"})},
        "/all": {
            "post": operation("all", "application/json", {"type": "array", "items": USER}),
        },
    },
    components={
        "schemas": {
            "User": USER,
            "Stamp": LOCKED,
            "Deep": DEEP,
            "Tree": TREE,
            "OwnedTree": OWNED_TREE,
        }
    },
)


async def call(server: RecordingServer, name: str, args: dict[str, Any]) -> Any:
    server.requests.clear()
    toolset = OpenAPIToolset(
        spec_dict=DOCUMENT, base_url=server.url, allow_private_network_access=True
    )
    try:
        tool = toolset.get_tool(name)
        assert tool is not None
        return await tool.call(args=args, tool_context=None)
    finally:
        await toolset.close()


@pytest.fixture(scope="module")
def server() -> Iterator[RecordingServer]:
    with serve_document(DOCUMENT) as running:
        yield running


@pytest.mark.parametrize(
    ("name", "args", "place"),
    [
        ("user", {"additional_properties": {"role": "admin"}}, "role"),
        ("user", {"additional_properties": {"Role": "admin"}}, "Role"),
        ("user", {"additional_properties": {"stamp": "now"}}, "stamp"),
        ("user", {"additional_properties": {"id": "7"}}, "id"),
        ("user", {"boss": {"role": "admin"}}, "boss.role"),
        ("user", {"boss": {"boss": {"role": "admin"}}}, "boss.boss.role"),
        ("user", {"list": [{"name": "a"}, {"role": "admin"}]}, "list.1.role"),
        ("user", {"by_key": {"x": {"role": "admin"}}}, "by_key.x.role"),
        ("user", {"either": {"role": "admin"}}, "either.role"),
        ("form", {"additional_properties": {"role": "admin"}}, "role"),
        ("form", {"additional_properties": {"role[]": "admin"}}, "role[]"),
        ("form", {"boss": '{"role": "admin"}'}, "boss.role"),
        ("parts", {"additional_properties": {"role": "admin"}}, "role"),
        ("all", {"array": [{"role": "admin"}]}, "0.role"),
        ("cases", {"body": {"owner": "x"}}, "owner"),
        ("cases", {"body": {"seal": "x"}}, "seal"),
        ("cases", {"body": {"role": "x"}}, "role"),
        ("cases", {"body": {"rank": "x"}}, "rank"),
        ("cases", {"body": {"grade": "x"}}, "grade"),
        ("cases", {"body": {"inner": {"role": "x"}}}, "inner.role"),
        ("cases", {"body": {"bag": {"more": {"hidden": "x"}}}}, "bag.more.hidden"),
        ("tree", {"additional_properties": {"owner": "x"}}, "owner"),
        ("tree", {"children": [{"children": [{"owner": "x"}]}]}, "children.0.children.0.owner"),
        ("tree", {"next": {"children": [{"owner": "x"}]}}, "next.children.0.owner"),
    ],
)
async def test_a_read_only_property_is_refused(
    server: RecordingServer, name: str, args: dict[str, Any], place: str
) -> None:
    answer = await call(server, name, args)
    assert not server.requests
    assert f"'{place}' is read-only" in answer["error"]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("user", {"name": "a", "additional_properties": {"roles": "b"}}),
        ("user", {"either": "role", "boss": {"name": "b", "more": {"role": "c"}}}),
        ("form", {"name": '{"role": "admin"}'}),
        ("mixed", {"both": "b"}),
        ("cases", {"body": {"kind": "a", "either": "b"}}),
        ("tree", {"children": [{"children": []}], "other": {"name": "a"}}),
    ],
)
async def test_other_properties_are_sent(
    server: RecordingServer, name: str, args: dict[str, Any]
) -> None:
    assert "error" not in await call(server, name, args)
    assert len(server.requests) == 1
