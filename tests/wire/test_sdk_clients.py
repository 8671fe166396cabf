"""Clients of the provider's SDKs that a program hands in as `http_client`."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic.lib.vertex import AsyncAnthropicVertex
from google import genai

from ostinato import types
from ostinato.errors import (
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelTimeoutError,
)
from ostinato.models.anthropic_llm import AnthropicLlm, Claude
from ostinato.models.azure_openai_llm import AzureOpenAILlm
from ostinato.models.bedrock_llm import BedrockLlm
from ostinato.models.google_llm import Gemini
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.openai_realtime_llm import OpenAIRealtimeLlm
from ostinato.models.openai_responses_llm import OpenAIResponsesLlm
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.asking import ask, fails, request, texts
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Turn

KEY = "sk-SECRET-0123456789"
ONCE: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=1)}
MINE = {"x-mine": "1"}

pytestmark = pytest.mark.long  # importing the SDKs takes seconds

STREAMED = pytest.mark.parametrize("stream", [False, True])


def _openai(url: str, **fields: Any) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        api_key=KEY, base_url=f"{url}/v1", default_headers=MINE, organization="org-mine", **fields
    )


def _anthropic(url: str, **fields: Any) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key=KEY, base_url=url, default_headers=MINE, **fields)


MODELS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "chat": (OpenAILlm, _openai, "/v1/chat/completions"),
    "responses": (OpenAIResponsesLlm, _openai, "/v1/responses"),
    "anthropic": (AnthropicLlm, _anthropic, "/v1/messages"),
}
WIRES = pytest.mark.parametrize("wire", MODELS)


def _build(wire: str, url: str, *, model: str = "claude-sonnet-4-6", **fields: Any) -> Any:
    adapter, make, _ = MODELS[wire]
    return adapter(model=model, http_client=make(url, **fields), **ONCE)


@STREAMED
@WIRES
async def test_the_clients_key_headers_and_place_are_used(
    wire: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-the-environment")
    script = import_module(f"tests.wire.{wire}.script")
    async with FakeServer(script.answers([Turn("Yes, I do.")] * 2, stream=stream)) as server:
        llm = _build(wire, server.url)
        for _ in range(2):
            assert texts(await ask(llm, request(), stream=stream)) == "Yes, I do."
        assert not llm.http_client.is_closed()
        await llm.http_client.close()
    [sent, _] = server.requests
    assert sent.path == MODELS[wire][2] and server.connections == 1
    assert (sent.headers["authorization"], sent.headers["x-mine"]) == (f"Bearer {KEY}", "1")
    assert sent.headers["user-agent"].startswith(("AsyncOpenAI", "AsyncAnthropic"))
    if wire != "anthropic":
        assert sent.headers["openai-organization"] == "org-mine"
    assert KEY not in repr(llm)


@STREAMED
@WIRES
async def test_the_http_client_of_the_client_is_used(wire: str, stream: bool) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    async with (
        FakeServer(script.answers([Turn("Yes.")], stream=stream)) as server,
        httpx2.AsyncClient(headers={"x-below": "2"}) as below,
    ):
        llm = _build(wire, server.url, http_client=below)
        assert texts(await ask(llm, request(), stream=stream)) == "Yes."
    assert server.requests[0].headers["x-below"] == "2"


@STREAMED
@WIRES
async def test_errors_are_those_of_the_transport(wire: str, stream: bool) -> None:
    limited = Answer(
        {"error": {"message": "slow down"}}, 429, {"retry-after": "7", "x-request-id": "r7"}
    )
    async with FakeServer([limited]) as server:
        llm = _build(wire, server.url)
        found = await fails(llm, request(), stream=stream)
        assert isinstance(found, ModelRateLimitError)
        assert (found.retry_after, found.request_id) == (7, "r7") and "slow down" in str(found)
        url = server.url
    found = await fails(llm, request(), stream=stream)
    assert isinstance(found, ModelConnectionError) and url in str(found)
    await llm.http_client.close()
    found = await fails(llm, request(), stream=stream)
    assert isinstance(found, ModelRequestError) and "is closed" in str(found)


@WIRES
async def test_the_models_time_limit_holds(wire: str) -> None:
    async with FakeServer([Answer(silent=True)]) as server:
        llm = _build(wire, server.url)
        llm.timeout = 0.05
        found = await fails(llm, request())
        await llm.http_client.close()
    assert isinstance(found, ModelTimeoutError) and len(server.requests) == 1


@WIRES
async def test_the_models_retries_take_the_place_of_the_clients(wire: str) -> None:
    script = import_module(f"tests.wire.{wire}.script")
    broken = Answer({"error": {"message": "overloaded"}}, 503, {"retry-after": "0"})
    async with FakeServer([broken, *script.answers([Turn("Yes.")], stream=False)]) as server:
        llm = _build(wire, server.url, max_retries=5)
        assert (await fails(llm, request())).retryable
        assert len(server.requests) == 1
        llm.retry_policy = RetryPolicy(attempts=2, initial_delay=0)
        assert texts(await ask(llm, request())) == "Yes."
        await llm.http_client.close()


async def test_azures_client_chooses_the_deployments_path() -> None:
    script = import_module("tests.wire.chat.script")
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        client = openai.AsyncAzureOpenAI(
            api_key=KEY, azure_endpoint=server.url, api_version="2024-10-21"
        )
        llm = OpenAILlm(model="mine", http_client=client, **ONCE)
        assert texts(await ask(llm, request())) == "Yes."
        await client.close()
    [sent] = server.requests
    assert sent.path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert sent.headers["api-key"] == KEY


async def test_vertex_clients_change_the_request_as_they_do() -> None:
    script = import_module("tests.wire.anthropic.script")
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        client = AsyncAnthropicVertex(
            project_id="p", region="r", access_token="t", base_url=server.url
        )
        llm = AnthropicLlm(model="claude-sonnet-4-6", http_client=client, **ONCE)
        assert texts(await ask(llm, request())) == "Yes."
        await client.close()
    [sent] = server.requests
    assert sent.path == (
        "/projects/p/locations/r/publishers/anthropic/models/claude-sonnet-4-6:rawPredict"
    )
    assert "model" not in sent.json and sent.headers["authorization"] == "Bearer t"


@STREAMED
async def test_a_client_of_google_genai_is_used(
    stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")  # which service it is, the client says
    script = import_module("tests.wire.gemini.script")
    async with FakeServer(script.answers([Turn("Yes.")], stream=stream)) as server:
        options = genai.types.HttpOptions(base_url=server.url, headers=MINE)
        client = genai.Client(api_key=KEY, vertexai=False, http_options=options)
        llm = Gemini(model="gemini-2.5-flash", http_client=client, **ONCE)
        assert texts(await ask(llm, request(), stream=stream)) == "Yes."
        await client.aio.aclose()
        client.close()
    [sent] = server.requests
    assert (sent.headers["x-goog-api-key"], sent.headers["x-mine"]) == (KEY, "1")
    assert sent.path.startswith("/v1/models/gemini-2.5-flash:")
    assert json.loads(sent.body)["contents"] == [{"role": "user", "parts": [{"text": "Hello?"}]}]


@pytest.mark.parametrize(
    ("adapter", "client", "words"),
    [
        (OpenAILlm, openai.OpenAI(api_key=KEY), "use AsyncOpenAI"),
        (AnthropicLlm, anthropic.Anthropic(api_key=KEY), "use AsyncAnthropic"),
        (AnthropicLlm, _openai("http://127.0.0.1:1"), "takes a client of anthropic"),
        (OpenAILlm, _anthropic("http://127.0.0.1:1"), "takes a client of openai"),
        (Gemini, _openai("http://127.0.0.1:1"), "takes a client of google.genai"),
        (Claude, _anthropic("http://127.0.0.1:1"), "takes an httpx2.AsyncClient"),
        (AzureOpenAILlm, _openai("http://127.0.0.1:1"), "takes an httpx2.AsyncClient"),
        (OpenAIRealtimeLlm, _openai("http://127.0.0.1:1"), "takes an httpx2.AsyncClient"),
        (BedrockLlm, _openai("http://127.0.0.1:1"), "takes an httpx2.AsyncClient"),
        (Gemini, genai.Client(api_key=KEY, vertexai=False).models, "Pass the client itself"),
    ],
)
def test_a_client_of_another_kind_is_refused(adapter: Any, client: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words) as caught:
        adapter(model="claude-sonnet-4-6", http_client=client)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "field", [{"api_key": KEY}, {"base_url": "http://x"}, {"public_only": True}]
)
def test_settings_beside_a_client_are_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be combined with a client of openai"):
        OpenAILlm(model="m", http_client=_openai("http://127.0.0.1:1"), **field)


async def test_a_content_with_media_reaches_the_sdk_unchanged() -> None:
    script = import_module("tests.wire.anthropic.script")
    image = types.Part.from_bytes(data=b"\x89PNG" * 20_000, mime_type="image/png")
    wanted = types.Content(role="user", parts=[image])
    async with FakeServer(script.answers([Turn("Yes.")] * 2, stream=False)) as server:
        ours = AnthropicLlm(model="claude-sonnet-4-6", base_url=server.url, api_key=KEY, **ONCE)
        theirs = _build("anthropic", server.url)
        for llm in (ours, theirs):
            await ask(llm, request(wanted))
        await theirs.http_client.close()
    assert server.requests[0].json == server.requests[1].json
