"""RestApiTool: construction, policy for calls in doubt, idempotency keys, crashes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, List  # noqa: UP035

import pytest
from pydantic import BaseModel, Field

from ostinato.agents import LlmAgent
from ostinato.errors import AgentConfigError
from ostinato.testing import FunctionModel, call
from ostinato.tools.openapi_tool import OpenAPIToolset, RestApiTool
from ostinato.tools.openapi_tool.common.common import ApiParameter, TypeHintHelper
from ostinato.tools.openapi_tool.openapi_spec_parser import (
    OpenApiSpecParser,
    OperationEndpoint,
    OperationParser,
    snake_to_lower_camel,
)
from tests.unit.durable.crash import Life, Scenario, World, flagged
from tests.unit.tools.contexts import make_context
from tests.unit.tools.openapi.documents import make_document, parse_one
from tests.unit.tools.openapi.recording_server import RecordingServer, serve_document

KEY = {"name": "Idempotency-Key", "in": "header", "required": True, "schema": {"type": "string"}}
MARKED = {"name": "requestId", "in": "query", "schema": {}, "x-idempotency-key": True}
DOCUMENT = make_document(
    {
        "/read": {"get": {"operationId": "read"}},
        "/pay": {"post": {"operationId": "pay"}},
        "/keyed": {"post": {"operationId": "keyed", "parameters": [KEY]}},
        "/marked": {"post": {"operationId": "marked", "parameters": [MARKED]}},
        "/put": {"put": {"operationId": "put"}},
        "/drop": {"delete": {"operationId": "drop"}},
        "/look": {"head": {"operationId": "look"}, "options": {"operationId": "choices"}},
        "/patch": {"patch": {"operationId": "change"}},
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[RecordingServer]:
    with serve_document(DOCUMENT) as running:
        yield running


def make_toolset(server: RecordingServer) -> OpenAPIToolset:
    return OpenAPIToolset(
        spec_dict=DOCUMENT, base_url=server.url, allow_private_network_access=True
    )


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("read", "rerun"),
        ("look", "rerun"),
        ("choices", "rerun"),
        ("keyed", "rerun"),
        ("marked", "rerun"),
        ("pay", "at_most_once"),
        ("put", "at_most_once"),
        ("drop", "at_most_once"),
        ("change", "at_most_once"),
    ],
)
def test_the_method_decides_about_calls_in_doubt(name: str, wanted: str) -> None:
    tool = OpenAPIToolset(spec_dict=DOCUMENT).get_tool(name)
    assert tool is not None and tool.in_doubt == wanted


def test_the_developer_may_decide_otherwise() -> None:
    parsed = OpenApiSpecParser().parse(DOCUMENT)
    tool = RestApiTool.from_parsed_operation(parsed[1], in_doubt="ask")
    assert (tool.name, tool.in_doubt) == ("pay", "ask")


@pytest.mark.parametrize(("name", "place"), [("keyed", "header"), ("marked", "query")])
async def test_an_idempotency_key_is_sent_and_not_asked_of_the_model(
    server: RecordingServer, name: str, place: str
) -> None:
    toolset = make_toolset(server)
    tool = toolset.get_tool(name)
    assert tool is not None
    schema: Any = tool._get_declaration().parameters_json_schema
    assert schema["properties"] == {} and schema["required"] == []
    sent: list[str] = []
    for context in (make_context(), make_context(), None, None):
        argument = "idempotency_key" if place == "header" else "request_id"
        await tool.call(args={argument: "chosen"}, tool_context=context)
        got = server.take()
        sent.append(got.headers["idempotency-key"] if place == "header" else got.query)
    await toolset.close()
    assert sent[0] == sent[1] and len({*sent}) == 3
    assert not any(word in sent[0] for word in ("user", "app", "call-1", "chosen"))
    assert len(sent[0].removeprefix("requestId=")) == 36


def test_a_person_can_edit_only_arguments_that_the_operation_has(server: RecordingServer) -> None:
    tool = make_toolset(server).get_tool("marked")
    assert tool is not None
    assert "no argument 'requestId'. It takes: request_id." in tool.find_argument_fault(
        {"requestId": "x"}
    )
    assert tool.find_argument_fault({}) == ""


def ask(name: str) -> FunctionModel:
    """A model that calls a tool once, and then says that it is done."""

    def answer(request: Any) -> Any:
        parts = [part for content in request.contents for part in content.parts or ()]
        return "Done." if any(part.function_call for part in parts) else call(name)

    return FunctionModel(answer)


# The commits of a turn are: message, call, response, final.
@pytest.mark.long
@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("name", "most"), [("pay", 1), ("put", 1), ("read", 2), ("keyed", 2)])
async def test_a_crash_at_any_commit_repeats_only_what_may_be_repeated(
    server: RecordingServer, tmp_path: Path, at: int, after: bool, name: str, most: int
) -> None:
    server.requests.clear()
    toolset = make_toolset(server)

    def tree(world: World) -> LlmAgent:
        return LlmAgent(name="clerk", model=ask(name), tools=[toolset])

    life = Life(Scenario(tree, "Go"), tmp_path / "s.db", resumable=False)
    assert not await life.process(at, after)
    while not await life.process():
        pass
    answers = [r for e in await life.log() for r in e.get_function_responses()]
    # The call's commit also says that it begins.
    in_doubt = (at, after) in ((2, True), (3, False))
    before = int(at == 3)
    assert len(server.requests) == (before + most - 1 if in_doubt else 1)
    assert len({one.headers.get("idempotency-key") for one in server.requests}) <= 1
    assert len(answers) == 1 and answers[0].name == name
    assert bool(flagged(await life.log())) == in_doubt
    if in_doubt and most == 1:
        assert answers[0].response is not None and "unknown" in answers[0].response["error"]
    else:
        assert answers[0].response == {"ok": True}


def test_a_tool_is_made_by_hand() -> None:
    operation = {
        "operationId": "getIt",
        "parameters": [{"name": "id", "in": "path", "schema": {"type": "string"}}],
    }
    endpoint = OperationEndpoint(base_url="https://x", path="/{id}", method="GET")
    by_records = RestApiTool("n" * 70, "d", endpoint, operation)  # type: ignore[arg-type]
    by_text = RestApiTool("n" * 70, "d", endpoint.model_dump_json(), json.dumps(operation))
    for tool in (by_records, by_text):
        assert (tool.name, tool.endpoint) == ("n" * 60, endpoint)
        schema: Any = tool._get_declaration().parameters_json_schema
        assert schema["required"] == ["id"]
    unread = RestApiTool("n", "d", endpoint, operation, should_parse_operation=False)  # type: ignore[arg-type]
    with pytest.raises(AgentConfigError, match="its operation was not read"):
        unread._get_declaration()


def test_a_tool_survives_its_json() -> None:
    document = make_document({"/a/{id}": {"post": {
        "operationId": "doIt",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {}},
            {"name": "q", "in": "query", "explode": False, "schema": {"type": "array"}}],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/x/N"}}}},
    }}}, x={"N": {"properties": {"n": {"$ref": "#/x/N"}}}})  # fmt: skip
    parsed = parse_one(document)
    tool = RestApiTool.from_parsed_operation(parsed)
    copy = RestApiTool.from_parsed_operation_str(parsed.model_dump_json())
    assert copy._get_declaration() == tool._get_declaration()
    assert [one.explode for one in copy.parser.get_parameters()] == [None, False, None]


def test_operations_of_another_library_are_read() -> None:
    class Theirs(BaseModel):
        operation_id: str = Field("getIt", serialization_alias="operationId")
        parameters: list[dict[str, Any]] = [{"name": "id", "in": "query", "schema": {}}]

    parser = OperationParser(Theirs())  # type: ignore[arg-type]
    assert parser.get_function_name() == "get_it"
    assert [one.py_name for one in parser.get_parameters()] == ["id"]
    assert parser.get_annotations() == {"id": Any, "return": Any}
    assert [one.name for one in parser.get_signature_parameters()] == ["id"]


def test_schemas_are_read_as_attributes() -> None:
    parameter = ApiParameter(
        original_name="photoUrls",
        param_location="query",
        param_schema='{"type": "array", "items": {"type": "integer"}, "description": "Ids."}',
    )
    schema = parameter.schema_record
    assert (schema.type, schema.items.type, schema.title) == ("array", "integer", None)
    assert (parameter.py_name, parameter.type_hint) == ("photo_urls", "List[int]")
    assert parameter.type_value == List[int]  # noqa: UP006
    assert parameter.description == "Ids."
    assert TypeHintHelper.get_type_hint(type(schema)(type="object")) == "Dict[str, Any]"
    assert parameter.to_arg_string() == "photo_urls=photo_urls"
    assert parameter.to_dict_property() == '"photo_urls": photo_urls'
    assert str(parameter) == "photo_urls: List[int]"
    assert parameter.model_dump() == {
        "original_name": "photoUrls",
        "param_location": "query",
        "param_schema": schema.raw,
        "description": "Ids.",
        "py_name": "photo_urls",
    }


@pytest.mark.parametrize(
    ("name", "wanted"), [("a_b_c", "aBC"), ("ab", "ab"), ("Two_words", "twoWords"), ("aB", "aB")]
)
def test_snake_to_lower_camel(name: str, wanted: str) -> None:
    assert snake_to_lower_camel(name) == wanted
