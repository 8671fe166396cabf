"""Fifty generated documents: each is read, and a server gets what the arguments mean."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato.tools.json_fit import check_schema
from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.rest_request import RequestBuilder
from tests.unit.tools.openapi.documents import make_document

WORDS = st.text("abcXYZ_-ä", min_size=1, max_size=6)
SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=8),
    "integer": st.integers(-(2**40), 2**40),
    "boolean": st.booleans(),
}


def objects_of(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(WORDS, schemas, min_size=1, max_size=3).map(
        lambda found: {"type": "object", "properties": found}
    )


SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        inner.map(lambda found: {"type": "array", "items": found}),
        objects_of(inner),
        objects_of(inner).map(lambda found: {"allOf": [found, {"type": "object"}]}),
        st.sampled_from(["Node", "Leaf"]).map(lambda n: {"$ref": f"#/components/schemas/{n}"}),
    ),
    max_leaves=6,
)
COMPONENTS = {
    "schemas": {
        "Node": {"type": "object", "properties": {
            "next": {"$ref": "#/components/schemas/Node"}, "v": {"type": "integer"}}},
        "Leaf": {"type": "string"},
    }
}  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Return a document with a few operations."""
    paths: dict[str, Any] = {}
    for number in range(draw(st.integers(1, 4))):
        named = draw(st.lists(WORDS, unique=True, max_size=3))
        parameters = [
            {"name": name, "in": "query", "schema": draw(SCALARS), "required": draw(st.booleans())}
            for name in named
        ]
        operation: dict[str, Any] = {
            "operationId": draw(st.one_of(WORDS, st.just("same id"))),
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                *parameters,
            ],
            "responses": {"200": {"description": "ok"}},
        }
        if draw(st.booleans()):
            body = {"content": {"application/json": {"schema": draw(SCHEMAS)}}, "required": True}
            operation["requestBody"] = body
        paths[f"/p{number}/{{id}}"] = {draw(st.sampled_from(["get", "post", "put"])): operation}
    return make_document(paths, components=COMPONENTS)


def make_value(draw: st.DrawFn, schema: dict[str, Any], defs: dict[str, Any]) -> Any:
    """Return a value that fits a schema as the model gets it."""
    if "$ref" in schema:
        return make_value(draw, defs[schema["$ref"].removeprefix("#/$defs/")], {})
    kind = schema.get("type")
    if kind == "array":
        return [make_value(draw, schema["items"], defs) for _ in range(draw(st.integers(0, 2)))]
    if kind == "object":
        return {
            name: make_value(draw, one, defs)
            for name, one in schema.get("properties", {}).items()
            if "$ref" not in one or defs  # a node ends where no definitions are left
        }
    return draw(VALUES[kind]) if kind in VALUES else {}


@pytest.mark.long
@settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_generated_documents(data: st.DataObject) -> None:
    document = data.draw(documents())
    before = json.dumps(document)
    toolset = OpenAPIToolset(spec_dict=document)
    assert json.dumps(document) == before
    paths: dict[str, Any] = document["paths"]
    for number, (path, item) in enumerate(paths.items()):
        ((method, operation),) = item.items()
        tool = toolset.tools[number]
        schema: Any = tool.make_arguments_schema()
        json.dumps(schema)
        assert (tool.endpoint.path, tool.endpoint.method) == (path, method)
        defs = schema.get("$defs", {})
        draw: Any = data.draw
        args = {name: make_value(draw, one, defs) for name, one in schema["properties"].items()}
        args["id"] = "a/b"
        check_schema(args, schema, "args")
        check_request(tool, operation, args)


def check_request(tool: Any, operation: dict[str, Any], args: dict[str, Any]) -> None:
    """Check that a request says what the arguments mean."""

    async def load_file(name: str) -> Any:
        raise AssertionError(name)

    parameters = tool.parser.get_parameters()
    builder = RequestBuilder(
        tool.endpoint, tool.operation.raw.get("requestBody"), parameters, load_file
    )
    work = builder.build(args)
    with pytest.raises(StopIteration) as done:  # it waits for nothing
        work.send(None)
    request = done.value.value
    assert request.base_url.endswith("/a%2Fb")
    wanted = [
        (one.original_name, show(args[str(one.py_name)]))
        for one in parameters
        if one.param_location == "query"
    ]
    query = request.url.partition("?")[2]
    assert parse_qsl(query, keep_blank_values=True) == wanted
    body = [one for one in parameters if one.param_location == "body"]
    if "requestBody" not in operation:
        assert request.body == b"" and not body
        return
    sent = json.loads(request.body)
    if len(body) == 1 and sent == args[str(body[0].py_name)]:
        return
    assert sent == {one.original_name: args[str(one.py_name)] for one in body}


def show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_names_are_unique_and_short() -> None:
    paths = {f"/{n}": {"get": {"operationId": "x" * 90}} for n in range(12)}
    names = [tool.name for tool in OpenAPIToolset(spec_dict=make_document(paths)).tools]
    assert len({*names}) == 12 and max(map(len, names)) == 60
