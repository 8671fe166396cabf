"""What the Bedrock adapter sends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.errors import ModelRequestError, ModelUnavailableError
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.models.llm_request import LlmRequest
from ostinato.models.registry import LLMRegistry
from tests.wire.asking import said
from tests.wire.bedrock.script import CLAUDE, KEY, answers, llm
from tests.wire.fake_server import FakeServer, Received
from tests.wire.turns import Turn

NOVA = "us.amazon.nova-pro-v1:0"


async def ask(wanted: LlmRequest, *, stream: bool = False, **fields: Any) -> Received:
    """Return the request that an LlmRequest becomes."""
    async with FakeServer(answers([Turn(text="ok")], stream=stream)) as server:
        model = llm(server.url, **fields)
        assert [one async for one in model.generate_content_async(wanted, stream=stream)]
        await model.aclose()
    return server.requests[0]


async def sent(*contents: types.Content, name: str = CLAUDE, **config: Any) -> dict[str, Any]:
    """Return the JSON of a request with these contents and settings."""
    settings = types.GenerateContentConfig(**config)
    wanted = LlmRequest(contents=list(contents) or [said("Hi")], config=settings)
    return (await ask(wanted, model=name)).json


def look(**fields: Any) -> types.Tool:
    declared = types.FunctionDeclaration(name="look", description="Look.", **fields)
    return types.Tool(function_declarations=[declared])


@pytest.mark.parametrize("stream", [False, True])
async def test_the_request_as_a_whole(stream: bool) -> None:
    config = types.GenerateContentConfig(
        system_instruction="Be kind.",
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=9,
        stop_sequences=["END"],
        tools=[look()],
        http_options=types.HttpOptions(
            headers={"x-a": "b"}, extra_body={"serviceTier": {"type": "flex"}}
        ),
    )
    got = await ask(LlmRequest(contents=[said("Hi")], config=config), stream=stream)
    method = "converse-stream" if stream else "converse"
    assert got.path == f"/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/{method}"
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-a"] == "b"
    schema = {"type": "object", "properties": {}}
    tool = {"name": "look", "description": "Look.", "inputSchema": {"json": schema}}
    assert got.json == {
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        "system": [{"text": "Be kind."}],
        "inferenceConfig": {
            "maxTokens": 9,
            "temperature": 0.5,
            "topP": 0.9,
            "stopSequences": ["END"],
        },
        "toolConfig": {"tools": [{"toolSpec": tool}]},
        "serviceTier": {"type": "flex"},
    }


def calls(*ids: str | None) -> types.Content:
    parts = [types.Part(function_call=types.FunctionCall(id=i, name="look")) for i in ids]
    return types.Content(role="model", parts=parts)


def results(*ids: str | None, **response: Any) -> types.Content:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=i, name="look", response=response))
        for i in ids
    ]
    return types.Content(role="user", parts=parts)


async def test_calls_and_results_are_paired() -> None:
    body = await sent(said("Hi"), calls("a", "b"), results("a", "b", error="no"), said("So?"))
    asked, answered = body["messages"][1:]
    assert [block["toolUse"]["toolUseId"] for block in asked["content"]] == ["a", "b"]
    *found, words = answered["content"]
    assert [block["toolResult"]["toolUseId"] for block in found] == ["a", "b"]
    assert found[0]["toolResult"]["status"] == "error"
    assert found[0]["toolResult"]["content"] == [{"text": '{"error": "no"}'}]
    assert words == {"text": "So?"}


async def test_a_history_with_calls_declares_what_they_called() -> None:
    body = await sent(said("Hi"), calls("a"), results("a", result=""))
    [tool] = body["toolConfig"]["tools"]
    assert tool["toolSpec"] == {"name": "look", "inputSchema": {"json": {"type": "object"}}}
    assert body["messages"][2]["content"][0]["toolResult"]["content"] == [{"json": {}}]


@pytest.mark.parametrize(
    ("mode", "names", "choice"),
    [
        ("ANY", None, {"any": {}}),
        ("ANY", ["look"], {"tool": {"name": "look"}}),
        ("AUTO", None, None),
    ],
)
async def test_whether_it_must_call(mode: str, names: list[str] | None, choice: Any) -> None:
    calling = types.FunctionCallingConfig(mode=mode, allowed_function_names=names)  # type: ignore[arg-type]
    config = types.ToolConfig(function_calling_config=calling)
    body = await sent(tools=[look()], tool_config=config)
    assert body["toolConfig"].get("toolChoice") == choice


async def test_no_tools_where_none_may_be_called() -> None:
    calling = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.NONE)
    config = types.ToolConfig(function_calling_config=calling)
    assert "toolConfig" not in await sent(tools=[look()], tool_config=config)


def media(mime_type: str, name: str | None = None) -> types.Part:
    blob = types.Blob(data=b"\xff\xfe", mime_type=mime_type, display_name=name)
    return types.Part(inline_data=blob)


@pytest.mark.parametrize(
    ("mime_type", "kind", "form"),
    [
        ("image/png", "image", "png"),
        ("image/jpeg", "image", "jpeg"),
        ("audio/wav", "audio", "wav"),
        ("video/mp4", "video", "mp4"),
        ("application/pdf", "document", "pdf"),
        ("text/x-python", "document", "txt"),
    ],
)
async def test_media(mime_type: str, kind: str, form: str) -> None:
    content = types.Content(role="user", parts=[types.Part(text="See"), media(mime_type)])
    body = await sent(content)
    block = body["messages"][0]["content"][1][kind]
    assert block["format"] == form and block["source"] == {"bytes": "//4="}


async def test_a_document_has_a_name_and_words_beside_it() -> None:
    document = media("application/pdf", "Q3_report: final.v2.pdf")
    body = await sent(types.Content(role="user", parts=[document]))
    [block, words] = body["messages"][0]["content"]
    assert block["document"]["name"] == "Q3 report final v2"
    assert words["text"]


async def test_files_lie_in_s3() -> None:
    file = types.FileData(file_uri="s3://bucket/a/b.mp4", mime_type="video/mp4")
    body = await sent(types.Content(role="user", parts=[types.Part(file_data=file)]))
    source = body["messages"][0]["content"][0]["video"]["source"]
    assert source == {"s3Location": {"uri": "s3://bucket/a/b.mp4"}}


@pytest.mark.parametrize(
    ("role", "part", "says"),
    [
        ("user", media("application/zip"), "application/zip"),
        ("model", media("image/png"), "only the user"),
        (
            "user",
            types.Part(
                file_data=types.FileData(file_uri="https://h/x?sig=SECRET", mime_type="image/png")
            ),
            "s3://",
        ),
    ],
)
async def test_content_that_it_does_not_take(role: str, part: types.Part, says: str) -> None:
    contents = [said("Hi"), types.Content(role=role, parts=[part]), said("So?")]
    async with FakeServer() as server:
        model = llm(server.url)
        with pytest.raises(ModelRequestError, match=says) as raised:
            assert [x async for x in model.generate_content_async(LlmRequest(contents=contents))]
    assert "SECRET" not in str(raised.value) and CLAUDE in str(raised.value)


async def test_thinking_is_a_field_of_claudes_own() -> None:
    thinking = types.ThinkingConfig(include_thoughts=True, thinking_budget=2000)
    body = await sent(thinking_config=thinking, top_k=5)
    extra = body["additionalModelRequestFields"]
    assert extra["thinking"]["budget_tokens"] == 2000 and extra["top_k"] == 5
    assert body["inferenceConfig"]["maxTokens"] > 2000
    newer = "us.anthropic.claude-opus-4-6-v1"
    level = types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW)
    body = await sent(name=newer, thinking_config=level)
    assert body["additionalModelRequestFields"] == {"thinking": {"type": "adaptive"}}
    assert body["outputConfig"] == {"effort": "low"}
    assert "additionalModelRequestFields" not in await sent(name=NOVA, thinking_config=thinking)


class City(BaseModel):
    name: str


async def test_an_output_schema() -> None:
    body = await sent(response_schema=City)
    form = body["outputConfig"]["textFormat"]
    described = form["structure"]["jsonSchema"]
    assert form["type"] == "json_schema" and described["name"] == "City"
    assert json.loads(described["schema"])["additionalProperties"] is False


async def test_cache_points_after_tools_system_and_the_last_two_user_messages() -> None:
    config = types.GenerateContentConfig(system_instruction="Be kind.", tools=[look()])
    contents = [said("a"), said("b", "model"), said("c"), said("d", "model"), said("e")]
    wanted = LlmRequest(
        contents=contents,
        config=config,
        cache_config=ContextCacheConfig(ttl_seconds=300, min_tokens=0),
    )
    body = (await ask(wanted)).json
    point = {"cachePoint": {"type": "default"}}
    assert body["system"][-1] == body["toolConfig"]["tools"][-1] == point
    marked = [one["content"][-1] == point for one in body["messages"]]
    assert marked == [False, False, True, False, True]


async def test_no_region(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
        monkeypatch.delenv(name, raising=False)
    model = llm("", base_url=None)
    with pytest.raises(ModelUnavailableError, match="AWS_REGION"):
        assert [x async for x in model.generate_content_async(LlmRequest(contents=[said("Hi")]))]


@pytest.mark.parametrize(
    "name", [f"bedrock:{CLAUDE}", CLAUDE, NOVA, "meta.llama3-1-8b-instruct-v1:0"]
)
def test_the_registry_knows_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    model = LLMRegistry.new_llm(name)
    assert type(model).__name__ == "BedrockLlm"
    assert model.model == name.removeprefix("bedrock:")
    assert model.capabilities.thinking is ("claude" in name)


async def test_equal_ids_in_one_message_belong_to_the_calls_in_order() -> None:
    calls = [types.FunctionCall(id="c", name="look", args={"x": x}) for x in (1, 2)]
    results = [
        types.FunctionResponse(id="c", name="look", response={"result": x}) for x in ("a", "b")
    ]
    body = await sent(
        said("Go"),
        types.Content(role="model", parts=[types.Part(function_call=x) for x in calls]),
        types.Content(role="user", parts=[types.Part(function_response=x) for x in results]),
    )
    blocks = [block for message in body["messages"] for block in message["content"]]
    ids = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
    got = [block["toolResult"] for block in blocks if "toolResult" in block]
    assert len(set(ids)) == 2 and [one["toolUseId"] for one in got] == ids
    assert [one["content"] for one in got] == [[{"text": "a"}], [{"text": "b"}]]


async def test_a_session_that_is_cached_is_marked_anew_in_each_request() -> None:
    talk = [said("Hi")]
    async with FakeServer(answers([Turn(text="ok")] * 3, stream=False)) as server:
        model = llm(server.url)
        for _ in range(3):
            cache = ContextCacheConfig(ttl_seconds=300, min_tokens=0)
            wanted = LlmRequest(contents=[*talk], cache_config=cache)
            assert [one async for one in model.generate_content_async(wanted)]
            talk += [said("ok", "model"), said("more")]
        await model.aclose()
    for one in server.requests:
        users = [m for m in one.json["messages"] if m["role"] == "user"]
        marked = ["cachePoint" in m["content"][-1] for m in users]
        assert marked == [False] * (len(users) - 2) + [True] * min(len(users), 2)
