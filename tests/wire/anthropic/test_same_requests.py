"""Our requests beside those of Anthropic's SDK for the same conversations."""

from __future__ import annotations

import enum
from typing import Any, Literal

import anthropic
import pytest
from anthropic.lib.vertex import AsyncAnthropicVertex
from pydantic import BaseModel, Field, SecretStr, TypeAdapter

from ostinato import types
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.models.llm_request import LlmRequest
from ostinato.models.wire.claude_schema import claude_schema
from ostinato.models.wire.faults import Unsendable
from tests.wire.anthropic.script import KEY, answers, llm
from tests.wire.anthropic.test_vertex import NAME, TOKEN, vertex
from tests.wire.fake_server import Answer, FakeServer, Received
from tests.wire.turns import Call, Turn

BOTH = pytest.mark.parametrize("stream", [False, True])
TURN = Turn(text="ok", thought="hm", calls=(Call("look", {"x": 1}),))


class Town(BaseModel):
    """A town."""

    name: str = Field(min_length=2, description="Its name.")
    people: int | None = Field(default=None, ge=0)


class Color(enum.Enum):
    RED = "red"


class Land(BaseModel):
    towns: list[Town] = Field(min_length=1)
    capital: Town
    kind: Literal["island"]
    color: Color
    pair: tuple[int, str]
    found: dict[str, int] = {}


def conversation(name: str) -> LlmRequest:
    look = types.FunctionDeclaration(
        name="look",
        description="Look.",
        parameters_json_schema={"type": "object", "properties": {"x": {"type": "integer"}}},
    )
    call = types.FunctionCall(id="a", name="look", args={"x": 1})
    answer = types.FunctionResponse(id="a", name="look", response={"result": "é"})
    image = types.Part(inline_data=types.Blob(data=b"\xff\xd8", mime_type="image/jpeg"))
    return LlmRequest(
        model=name,
        contents=[
            types.Content(role="user", parts=[types.Part(text="Hi"), image]),
            types.Content(role="model", parts=[types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=answer)]),
        ],
        config=types.GenerateContentConfig(
            system_instruction="Be kind.",
            temperature=0.5,
            stop_sequences=["END"],
            tools=[types.Tool(function_declarations=[look])],
            response_schema=Town,
        ),
        cache_config=ContextCacheConfig(ttl_seconds=3600, min_tokens=0),
    )


def arguments(sent: Received, **more: Any) -> dict[str, Any]:
    """Return a request as arguments of the SDK, which has none for what newer models refuse."""
    body = {**sent.json, **more}
    body.pop("anthropic_version", None)
    extra = {"temperature": body.pop("temperature")}
    return {**body, "extra_body": extra}


def assert_same(sent: Received, theirs: Received) -> None:
    assert (sent.method, sent.path, sent.json) == (theirs.method, theirs.path, theirs.json)
    for name in ("authorization", "x-api-key", "anthropic-version", "content-type"):
        assert sent.headers.get(name) == theirs.headers.get(name), name


@BOTH
async def test_the_api_itself(stream: bool) -> None:
    async with FakeServer(answers([TURN] * 2, stream=stream)) as server:
        model = llm(server.url)
        wanted = conversation("claude-opus-4-6")
        assert [x async for x in model.generate_content_async(wanted, stream=stream)]
        await model.aclose()
        [sent] = server.requests
        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url) as client:
            made: Any = await client.messages.create(**arguments(sent))
            kinds = [x.type async for x in made] if stream else [x.type for x in made.content]
    assert_same(sent, server.requests[1])
    # The SDK reads what our scripts write, so they are answers of the API.
    assert kinds[-1] == ("message_stop" if stream else "tool_use")


@BOTH
async def test_vertex_ai(stream: bool) -> None:
    async with FakeServer(answers([TURN] * 2, stream=stream)) as server:
        model = vertex(server.url, api_key=SecretStr(TOKEN))
        wanted = conversation(NAME)
        assert [x async for x in model.generate_content_async(wanted, stream=stream)]
        await model.aclose()
        [sent] = server.requests
        async with AsyncAnthropicVertex(
            project_id="my-project",
            region="europe-west1",
            access_token=TOKEN,
            base_url=server.url,
        ) as client:
            asked = arguments(sent, model="claude-opus-4-6")
            made: Any = await client.messages.create(**asked)
            _ = [x async for x in made] if stream else made
    assert_same(sent, server.requests[1])


async def test_tokens_are_counted_by_the_same_request() -> None:
    async with FakeServer(otherwise=Answer({"input_tokens": 17})) as server:
        model = llm(server.url)
        assert await model.count_tokens(conversation("claude-opus-4-6")) == 17
        await model.aclose()
        [sent] = server.requests
        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=server.url) as client:
            found = await client.messages.count_tokens(**sent.json)
    assert found.input_tokens == 17
    assert_same(sent, server.requests[1])


SCHEMAS: list[Any] = [
    Land.model_json_schema(),
    TypeAdapter(list[Town]).json_schema(),
    TypeAdapter(Town | Land | None).json_schema(),
    {"$ref": "#/$defs/A", "$defs": {"A": {"type": "string", "format": "uri"}}},
    {"type": "string", "format": "color", "pattern": "^x"},
    {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 3},
    {"type": "object", "additionalProperties": True, "title": "T", "description": "d"},
    {"oneOf": [{"type": "null"}, {"const": 3}]},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "boolean"}}}]},
    {"enum": ["a", 1, None], "type": "string"},
    {"enum": [{"a": 1}], "type": "object"},
    {"enum": [], "type": "string"},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=range(len(SCHEMAS)))
def test_schemas(schema: Any) -> None:
    before = repr(schema)
    assert claude_schema(schema) == anthropic.transform_schema(schema)
    assert repr(schema) == before


@pytest.mark.parametrize("schema", [{}, {"title": "x"}, {"type": "array", "items": {}}])
def test_schemas_that_say_nothing(schema: Any) -> None:
    with pytest.raises(ValueError, match="must have"):
        anthropic.transform_schema(schema)
    with pytest.raises(Unsendable, match="output schema"):
        claude_schema(schema)
