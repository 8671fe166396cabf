"""Our requests and answers beside those of google-genai for the same conversations."""

from __future__ import annotations

import base64
import enum
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from google import genai
from pydantic import BaseModel

from ostinato import types
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ProviderError,
)
from ostinato.models.google_llm import Gemini
from ostinato.models.interactions_utils import generate_content_via_interactions
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from tests.wire.fake_server import Answer, FakeServer, Received, sse
from tests.wire.gemini.conftest import request
from tests.wire.gemini.script import KEY, ONCE, answers, candidate, chunks, whole
from tests.wire.gemini.test_requests import Credentials
from tests.wire.turns import Call, Turn

NAME = "gemini-2.5-flash"
BOTH = pytest.mark.parametrize("vertex", [False, True], ids=["developer", "vertex"])


class Color(enum.Enum):
    """A color."""

    RED = "red"
    BLUE = "blue"


class Town(BaseModel):
    """A town."""

    name: str
    people: int | None = None


class Land(BaseModel):
    """A land with towns."""

    towns: list[Town]
    capital: Town
    kind: Literal["island"] = "island"
    color: Color


DECLARED = {
    "name": "look",
    "description": "Look.",
    "parameters_json_schema": {"type": "object", "properties": {"in_town": {"type": "string"}}},
}
OPEN_API = {
    "name": "book",
    "parameters": {
        "type": "OBJECT",
        "properties": {"a_b": {"type": "STRING", "min_length": 2}},
        "required": ["a_b"],
    },
}
CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "sampling": {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 3,
        "candidate_count": 1,
        "max_output_tokens": 9,
        "stop_sequences": ["x"],
        "seed": 4,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "response_logprobs": True,
        "logprobs": 2,
    },
    "instruction": {"system_instruction": "Be kind."},
    "instruction of parts": {"system_instruction": ["Be", {"text": "kind."}]},
    "instruction as content": {"system_instruction": {"role": "user", "parts": [{"text": "x"}]}},
    "functions": {
        "tools": [{"function_declarations": [DECLARED]}, {"function_declarations": [OPEN_API]}],
        "tool_config": {
            "function_calling_config": {"mode": "ANY", "allowed_function_names": ["look"]},
            "retrieval_config": {"lat_lng": {"latitude": 1.5, "longitude": 2.5}},
        },
    },
    "own tools": {
        "tools": [
            {"google_search": {}},
            {"code_execution": {}},
            {"url_context": {}},
            {"google_maps": {"enable_widget": True}},
            {"function_declarations": [DECLARED]},
        ]
    },
    "thinking": {"thinking_config": {"include_thoughts": True, "thinking_budget": 5}},
    "safety": {
        "safety_settings": [
            {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_ONLY_HIGH"}
        ]
    },
    "voice": {"speech_config": "Kore", "response_modalities": ["AUDIO"]},
    "images": {"image_config": {"aspect_ratio": "1:1"}, "media_resolution": "MEDIA_RESOLUTION_LOW"},
    "cached": {"cached_content": "cachedContents/c1"},
    "class": {"response_schema": Town, "response_mime_type": "application/json"},
    "nested classes": {"response_schema": Land},
    "list": {"response_schema": list[Town]},
    "enum": {"response_schema": Color, "response_mime_type": "text/x.enum"},
    "dict": {
        "response_schema": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "integer"}]}},
        }
    },
    "json schema": {"response_json_schema": {"type": "object", "additionalProperties": False}},
    "options": {
        "http_options": {
            "headers": {"x-mine": "1"},
            "timeout": 5000,
            "extra_body": {"generationConfig": {"mine": 1}, "other": {"a_b": 1}},
        }
    },
}
CONTENTS: list[dict[str, Any]] = [
    {
        "role": "user",
        "parts": [
            {"text": "é"},
            {"inline_data": {"data": b"\xfb\xff", "mime_type": "image/png"}},
            {"file_data": {"file_uri": "gs://a/b.mp4", "mime_type": "video/mp4"}},
        ],
    },
    {
        "role": "model",
        "parts": [
            {"text": "hm", "thought": True},
            {
                "function_call": {"id": "c1", "name": "look", "args": {"in_town": "Rome"}},
                "thought_signature": b"\xfb\xffsigned",
            },
            {"executable_code": {"code": "1+1", "language": "PYTHON"}},
            {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "2"}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"function_response": {"id": "c1", "name": "look", "response": {"so_far": [1, None]}}}
        ],
    },
]


@asynccontextmanager
async def sdk_client(url: str, *, vertex: bool) -> AsyncGenerator[genai.Client]:
    """Give the SDK's client against a server of ours."""
    options: Any = {"base_url": url, "retry_options": {"attempts": 1}}
    login: Any = {"api_key": KEY}
    if vertex:
        login = {"project": "p", "location": "l", "credentials": Credentials()}
    client = genai.Client(vertexai=vertex, http_options=options, **login)
    try:
        yield client
    finally:
        await client.aio.aclose()
        client.close()


def ours(url: str, *, vertex: bool, kind: type[Gemini] = Gemini, **fields: Any) -> Gemini:
    if vertex:
        fields |= {"project": "p", "location": "l", "credentials": Credentials()}
    else:
        fields["api_key"] = KEY
    return kind(model=NAME, base_url=url, vertexai=vertex, **ONCE, **fields)


# Below these names stand names that users chose.
_OPEN = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "other", "labels")


def same_names(value: Any) -> Any:
    """Return JSON with the names as the service documents them; it also takes Python's."""
    if isinstance(value, list):
        return [same_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub(r"_(\w)", lambda m: m[1].upper(), name): one for name, one in value.items()}
    made = {name: one if name in _OPEN else same_names(one) for name, one in named.items()}
    if isinstance(value.get("properties"), dict):
        made["properties"] = {x: same_names(y) for x, y in value["properties"].items()}
    if made.get("required") is not None:
        made["required"] = sorted(made["required"])
    if made.get("title") == "Placeholder":  # the SDK's own name for a type without one
        del made["title"]
    if made.get("generationConfig") == {}:
        del made["generationConfig"]
    return made


def assert_same(sent: Received, theirs: Received) -> None:
    # The SDK's second version asks for v1beta where the third asks for v1.
    paths = [one.path.replace("/v1beta/", "/v1/") for one in (sent, theirs)]
    assert (sent.method, paths[0]) == (theirs.method, paths[1])
    if sent.body or theirs.body:
        assert same_names(sent.json) == same_names(theirs.json)
    for name in ("authorization", "x-goog-api-key", "x-mine", "x-server-timeout"):
        assert sent.headers.get(name) == theirs.headers.get(name), name


@BOTH
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("case", CASES)
async def test_requests_for_content(case: str, stream: bool, vertex: bool) -> None:
    turn = [Turn(text="Hi")] * 2
    async with FakeServer(answers(turn, stream=stream)) as server:
        asked: Any = {"model": NAME, "contents": CONTENTS, "config": CASES[case]}
        async with sdk_client(server.url, vertex=vertex) as client:
            if stream:
                _ = [x async for x in await client.aio.models.generate_content_stream(**asked)]
            else:
                await client.aio.models.generate_content(**asked)
        model = ours(server.url, vertex=vertex)
        contents = [types.Content.model_validate(one) for one in CONTENTS]
        wanted = request(contents=contents, **CASES[case])
        assert [x async for x in model.generate_content_async(wanted, stream=stream)]
        await model.aclose()
    theirs, sent = server.requests
    assert_same(sent, theirs)


@BOTH
@pytest.mark.parametrize(
    ("config", "only_on"),
    [
        ({"labels": {"a_b": "c"}}, "vertex"),
        ({"audio_timestamp": True}, "vertex"),
        ({"model_selection_config": {"feature_selection_preference": "BALANCED"}}, "vertex"),
        ({"tools": [{"retrieval": {"vertex_ai_search": {"datastore": "d"}}}]}, "vertex"),
        ({"tools": [{"enterprise_web_search": {}}]}, "vertex"),
        ({"tools": [{"google_search": {"exclude_domains": ["x"]}}]}, "vertex"),
        ({"image_config": {"output_mime_type": "image/png"}}, "vertex"),
        (
            {"tool_config": {"function_calling_config": {"stream_function_call_arguments": True}}},
            "vertex",
        ),
        (
            {
                "safety_settings": [
                    {
                        "category": "HARM_CATEGORY_HARASSMENT",
                        "threshold": "OFF",
                        "method": "SEVERITY",
                    }
                ]
            },
            "vertex",
        ),
        ({"tools": [{"file_search": {"file_search_store_names": ["f"]}}]}, "developer"),
        ({"tool_config": {"include_server_side_tool_invocations": True}}, "developer"),
        ({"enable_enhanced_civic_answers": True}, "developer"),
    ],
)
async def test_settings_that_one_service_takes(
    config: dict[str, Any], only_on: str, vertex: bool
) -> None:
    async with FakeServer(answers([Turn(text="Hi")] * 2, stream=False)) as server:
        model = ours(server.url, vertex=vertex)
        wanted = request("x", **config)
        fits = only_on == ("vertex" if vertex else "developer")
        # The Developer API takes no labels: we leave them out, as google-adk does.
        is_left_out = not fits and "labels" in config
        asked: Any = {"model": NAME, "contents": "x", "config": {} if is_left_out else config}
        async with sdk_client(server.url, vertex=vertex) as client:
            if fits or is_left_out:
                await client.aio.models.generate_content(**asked)
                assert [x async for x in model.generate_content_async(wanted)]
                theirs, sent = server.requests
                assert_same(sent, theirs)
            else:
                with pytest.raises(ValueError, match="only supported"):
                    await client.aio.models.generate_content(**asked)
                with pytest.raises(ModelRequestError, match=r"only .* has it"):
                    assert [x async for x in model.generate_content_async(wanted)]
                assert not server.requests
        await model.aclose()


@BOTH
async def test_caches_and_interactions(vertex: bool) -> None:
    made = {"name": "cachedContents/c1", "expireTime": "2026-11-23T12:00:00Z"}
    cached = {
        "ttl": "900s",
        "display_name": "d",
        "system_instruction": "Be kind.",
        "tools": [{"function_declarations": [DECLARED]}],
        "tool_config": {"function_calling_config": {"mode": "AUTO"}},
        "http_options": {"extra_body": {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}},
    }
    interaction = {"id": "i", "status": "completed", "object": "interaction", "steps": []}
    async with FakeServer(otherwise=Answer({**made, **interaction})) as server:
        model = ours(server.url, vertex=vertex, use_interactions_api=True)
        our_client = await model._http_client_for(None)  # pyright: ignore[reportPrivateUsage]
        wanted = LlmRequest(model=NAME, contents=[types.UserContent("x")])
        async with sdk_client(server.url, vertex=vertex) as client:
            clients: list[Any] = [client, our_client]
            for one in clients:
                cache = await one.aio.caches.create(model=NAME, config=cached)
                assert cache.name == "cachedContents/c1" and cache.expire_time.year == 2026
                await one.aio.caches.delete(name=cache.name)
                assert [x async for x in generate_content_via_interactions(one, wanted, False)]
        await model.aclose()
    assert len(server.requests) == 6
    for theirs, sent in zip(server.requests[:3], server.requests[3:], strict=True):
        assert_same(sent, theirs)


class SdkGemini(Gemini):
    """A model of a program that brings its own client of the SDK."""

    client: Any = None

    @property
    def api_client(self) -> Any:
        """The program's client."""
        return self.client


SIGNED = base64.urlsafe_b64encode(b"\xfb\xff").decode()
FULL = candidate(
    {"text": "hm", "thought": True},
    {"text": "a", "thoughtSignature": SIGNED},
    {"inlineData": {"mimeType": "image/png", "data": SIGNED}},
    {"functionCall": {"name": "look", "args": {"x": 1.5, "y": None}}},
    finish="STOP",
    groundingMetadata={
        "webSearchQueries": ["q"],
        "groundingChunks": [{"web": {"uri": "http://x", "title": "X"}}],
        "groundingSupports": [{"segment": {"endIndex": 3, "text": "a"}, "confidenceScores": [0.5]}],
    },
    citationMetadata={"citationSources": [{"uri": "http://y", "startIndex": 1, "license": "z"}]},
    safetyRatings=[{"category": "HARM_CATEGORY_HARASSMENT", "probability": "LOW"}],
    avgLogprobs=-0.5,
    logprobsResult={"chosenCandidates": [{"token": "a", "tokenId": 1, "logProbability": -0.1}]},
    brandNew={"field": 1},
)
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "full": [{**FULL, "brandNew": [1], "responseId": "r", "createTime": "2026-11-23T12:00:00Z"}],
    "turn": [whole(Turn(text="Hello", thought="Hm", calls=(Call("f", {"a": 1}),)))],
    "streamed": chunks(Turn(text="Hello", thought="Hm", calls=(Call("f", {"a": 1}),))),
    "blocked": [{"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "no"}}],
    "cut": [candidate({"text": "a"}, finish="MAX_TOKENS")],
    "no role": [
        {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
        candidate({"text": "b"}, finish="STOP"),
    ],
    "usage in each piece": [
        {**candidate({"text": "a"}), "usageMetadata": {"promptTokenCount": 1, "brandNew": 2}},
        candidate({"text": "b"}, finish="STOP"),
    ],
    "odd pieces": [
        candidate({"text": ""}),
        candidate({"text": "a", "thought": False}),
        candidate({"text": "b"}, {"text": "c"}),
        candidate({"text": "d"}, index=1),
        candidate(finish="STOP"),
    ],
}


def plain(responses: list[LlmResponse]) -> list[dict[str, Any]]:
    shown = [one.model_dump(exclude_none=True) for one in responses]
    for one in shown:
        for part in (one.get("content") or {}).get("parts") or ():
            if "function_call" in part and str(part["function_call"].get("id")).startswith("adk-"):
                part["function_call"]["id"] = "adk-made"
    return shown


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        (name, way)
        for name, bodies in ANSWERS.items()
        for way in (True, False)
        if way or not bodies[1:]
    ],
)
async def test_answers(name: str, stream: bool) -> None:
    bodies = ANSWERS[name]
    answer = Answer(sse(bodies)) if stream else Answer(bodies[0])
    found: list[list[dict[str, Any]]] = []
    async with (
        FakeServer([answer] * 2) as server,
        sdk_client(server.url, vertex=False) as client,
    ):
        for model in (
            ours(server.url, vertex=False),
            ours(server.url, vertex=False, kind=SdkGemini, client=client),
        ):
            responses = model.generate_content_async(request("x"), stream=stream)
            found.append(plain([one async for one in responses]))
            await model.aclose()
        assert "genai" in server.requests[1].headers["user-agent"]
        assert "genai" not in server.requests[0].headers["user-agent"]
    assert found[0] == found[1]


ERROR = {"code": 503, "message": f"later {KEY}", "details": [{"retryDelay": "7.5s"}]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer({"error": ERROR}, status=503), ModelServerError),
        (Answer({"error": {**ERROR, "code": 401}}, status=401), ModelAuthError),
        (Answer({"error": {**ERROR, "message": "API key not valid"}}, status=400), ModelAuthError),
        (Answer({"error": ERROR}, status=429), ModelRateLimitError),
        (Answer("<!DOCTYPE html><html></html>"), ModelAnswerError),
        (Answer(sse([candidate({"text": "a"}), {"error": ERROR}])), None),
        (Answer(sse([candidate({"text": "a"})]), cut_after=60), None),
    ],
)
async def test_errors(answer: Answer, kind: type[ProviderError] | None, stream: bool) -> None:
    found: list[ProviderError] = []
    async with (
        FakeServer([answer] * 2) as server,
        sdk_client(server.url, vertex=False) as client,
    ):
        for model in (
            ours(server.url, vertex=False),
            ours(server.url, vertex=False, kind=SdkGemini, client=client),
        ):
            with pytest.raises(ProviderError) as raised:
                _ = [x async for x in model.generate_content_async(request("x"), stream=stream)]
            found.append(raised.value)
            await model.aclose()
    first, second = found
    assert type(first) is type(second) is (kind or type(first))
    assert (first.retry_after, first.status) == (second.retry_after, second.status)
    assert KEY not in str(first) + str(second)


@BOTH
async def test_embeddings(vertex: bool) -> None:
    answer = Answer({"embeddings": [{"values": [0.5, 1]}, {"values": [0, 2]}]})
    name = "gemini-embedding-001"
    async with (
        FakeServer([answer] * 2) as server,
        sdk_client(server.url, vertex=vertex) as client,
    ):
        await client.aio.models.embed_content(model=name, contents=["a", "b"])
        model = ours(server.url, vertex=vertex).model_copy(update={"model": name})
        assert await model.embed(["a", "b"]) == [[0.5, 1.0], [0.0, 2.0]]
        assert await model.embed([]) == []
        await model.aclose()
    theirs, sent = server.requests
    if not (vertex and genai.__version__.startswith("2.")):  # that one asks an older service
        assert_same(sent, theirs)


@pytest.mark.parametrize(
    "body", [{}, {"embeddings": [{"values": [1]}]}, {"embeddings": [{"values": ["x"]}] * 2}]
)
async def test_embeddings_that_are_none(body: dict[str, Any]) -> None:
    async with FakeServer([Answer(body)]) as server:
        model = ours(server.url, vertex=False)
        with pytest.raises(ModelAnswerError, match="embeddings"):
            await model.embed(["a", "b"])
        await model.aclose()


@BOTH
async def test_tokens_are_counted(vertex: bool) -> None:
    settings = types.ToolConfig(
        function_calling_config=types.FunctionCallingConfig(
            mode=types.FunctionCallingConfigMode.ANY
        )
    )
    wanted = request("Hi", system_instruction="Be kind.", tool_config=settings)
    async with FakeServer([Answer({"totalTokens": 17}), Answer({"totalTokens": "x"})]) as server:
        model = ours(server.url, vertex=vertex)
        assert await model.count_tokens(wanted) == 17
        with pytest.raises(ModelAnswerError, match="tokens"):
            await model.count_tokens(wanted)
        await model.aclose()
    sent = server.requests[0]
    assert sent.path.endswith(f"/models/{NAME}:countTokens")
    counted = sent.json if vertex else sent.json["generateContentRequest"]
    assert counted["contents"] == [{"role": "user", "parts": [{"text": "Hi"}]}]
    assert counted["systemInstruction"]["parts"] == [{"text": "Be kind."}]
    assert ("toolConfig" in counted) is not vertex
    assert counted.get("model") == (None if vertex else f"models/{NAME}")
