"""Documents with a part of another kind: what is broken is left out or named, and nothing else."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from ostinato.errors import AgentConfigError
from ostinato.tools.openapi.name_guard import ArgumentError
from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.parsed_operation import OperationEndpoint
from ostinato.tools.openapi.rest_api_tool import RestApiTool
from ostinato.tools.openapi.rest_request import RequestBuilder
from ostinato.tools.openapi.spec_document import SpecError
from ostinato.tools.openapi.spec_record import Operation
from tests.unit.tools.openapi.documents import make_document
from tests.unit.tools.openapi.sample_documents import DOCUMENTS

JUNK: list[Any] = [
    None, 7, "", "text", [], {}, [7], [None], {"a": 7}, True, {"$ref": "#/nowhere"},
    {"$ref": "#"}, {"$ref": 7}, {"type": 7}, {"in": "query"}, {"properties": []},
    {"allOf": [7]}, {"content": {"application/json": None}}, [[]], {"schema": "x"},
]  # fmt: skip


def list_places(node: Any) -> list[tuple[Any, Any]]:
    """Return each container of a document with each of its keys."""
    inner = list(node.items()) if isinstance(node, dict) else list(enumerate(node))
    found = [(node, key) for key, _ in inner]
    for _, one in inner:
        if isinstance(one, dict | list):
            found += list_places(one)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", DOCUMENTS)
def test_one_broken_part_breaks_nothing_else(name: str) -> None:
    whole = OpenAPIToolset(spec_dict=DOCUMENTS[name], base_url="https://x").tools
    source = random.Random(11)
    count = len(list_places(DOCUMENTS[name]))
    lost = 0
    for number in range(count):
        document = copy.deepcopy(DOCUMENTS[name])
        container, key = list_places(document)[number]
        container[key] = source.choice(JUNK)
        try:
            tools = OpenAPIToolset(spec_dict=document, base_url="https://x", strict=False).tools
        except SpecError:
            continue  # of the whole document
        for tool in tools:
            json.dumps(tool.make_arguments_schema())
        lost += len(tools) < len(whole) - 1
    # A part that operations share may be broken, too.
    assert lost < count / 3


def test_names_of_the_runtime_get_a_number() -> None:
    operation = {"operationId": "transfer_to_agent", "responses": {}}
    document = {"openapi": "3.1.0", "info": {}, "paths": {"/x": {"get": operation}}}
    (tool,) = OpenAPIToolset(spec_dict=document).tools
    assert tool.name == "transfer_to_agent_2"


SERVED = {"responses": {}, "servers": [{"url": "http://[::1"}]}


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        ({5: {"get": {"responses": {}}}}, "its path is not a text"),
        ({"/a": {"get": SERVED}}, "is no valid address"),
        ({"{p}": {"get": {"responses": {}}}}, "does not begin with a slash"),
        ({"a{p}": {"get": {"responses": {}}}}, "does not begin with a slash"),
        ([1], "paths are not an object but list"),
    ],
)
def test_odd_paths_and_servers_are_named(paths: Any, reason: str) -> None:
    document = make_document(paths)
    with pytest.raises(SpecError, match=reason):
        OpenAPIToolset(spec_dict=document)
    if isinstance(paths, dict):
        assert OpenAPIToolset(spec_dict=document, strict=False).tools == []


@pytest.mark.parametrize("paths", [{}, [], None])
def test_a_document_without_operations_is_told(
    paths: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert OpenAPIToolset(spec_dict=make_document(paths)).tools == []
    assert "gives no tools" in caplog.text


async def test_a_tool_of_no_valid_address_says_so() -> None:
    endpoint = OperationEndpoint(base_url="http://[::1", path="/a", method="get")
    tool = RestApiTool("a", "", endpoint, Operation({"operationId": "a", "responses": {}}))
    assert tool.tool_origin is not None
    with pytest.raises(AgentConfigError, match="no valid address"):
        await tool.call(args={}, tool_context=None)


@pytest.mark.parametrize("path", ["{p}", "a{p}", "a", "?a={p}"])
async def test_a_tool_whose_path_would_continue_the_host_sends_nothing(path: str) -> None:
    parameters = [{"name": "p", "in": "path", "required": True, "schema": {"type": "string"}}]
    operation = {"operationId": "a", "parameters": parameters, "responses": {}}
    endpoint = OperationEndpoint(base_url="https://api.example.com", path=path, method="get")
    tool = RestApiTool(
        "a", "", endpoint, Operation(operation), httpx_client_factory=lambda: pytest.fail("sent")
    )
    with pytest.raises(AgentConfigError, match="does not begin with a slash"):
        await tool.call(args={"p": ".evil.test"}, tool_context=None)


async def test_an_address_of_another_host_than_the_servers_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint = OperationEndpoint(base_url="https://api.example.com", path="/a", method="get")
    for found in ("https://evil.test/a", "http://api.example.com/a", "https://api.example.com:8/a"):
        monkeypatch.setattr(RequestBuilder, "_write_url", lambda *_, found=found: found)
        with pytest.raises(ArgumentError, match="would go to another server"):
            await RequestBuilder(endpoint, None, [], _load_nothing).build({})


async def _load_nothing(name: str) -> Any:
    raise AssertionError(name)
