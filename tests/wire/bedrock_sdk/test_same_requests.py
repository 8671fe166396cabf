"""Our requests beside those of boto3 for the same conversations, and our signatures."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from pydantic import BaseModel

from ostinato import types
from ostinato.errors import ModelUnavailableError
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.models.llm_request import LlmRequest
from tests.wire.asking import said
from tests.wire.bedrock.script import CLAUDE, answers, llm
from tests.wire.fake_server import Answer, FakeServer, Received
from tests.wire.turns import Call, Turn

LOGIN = Credentials("AKIDEXAMPLE", "SECRETEXAMPLE", "TOKENEXAMPLE")
REGION = "eu-central-1"
BOTH = pytest.mark.parametrize("stream", [False, True])


class City(BaseModel):
    name: str


def conversation() -> LlmRequest:
    """A request with most of what an agent sends."""
    look = types.FunctionDeclaration(
        name="look",
        description="Look.",
        parameters=types.Schema(
            type=types.Type.OBJECT, properties={"x": types.Schema(type=types.Type.STRING)}
        ),
    )
    call = types.FunctionCall(id="a", name="look", args={"x": "é"})
    answer = types.FunctionResponse(id="a", name="look", response={"result": "rain"})
    thought = types.Part(
        text="Hm", thought=True, thought_signature=b"sig", part_metadata={"anthropic": "thinking"}
    )
    image = types.Part(inline_data=types.Blob(data=b"\xff\xd8", mime_type="image/jpeg"))
    document = types.Part(inline_data=types.Blob(data=b"%PDF", mime_type="application/pdf"))
    return LlmRequest(
        contents=[
            types.Content(role="user", parts=[types.Part(text="Hi"), image, document]),
            types.Content(role="model", parts=[thought, types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=answer)]),
        ],
        config=types.GenerateContentConfig(
            system_instruction="Be kind.",
            temperature=0.5,
            top_k=3,
            max_output_tokens=5000,
            stop_sequences=["END"],
            tools=[types.Tool(function_declarations=[look])],
            thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=1024),
            response_schema=City,
        ),
        cache_config=ContextCacheConfig(ttl_seconds=3600, min_tokens=0),
    )


async def ours(stream: bool) -> Received:
    [answer] = answers([Turn(text="ok", calls=(Call("look"),))], stream=stream)
    async with FakeServer([answer]) as server:
        model = llm(server.url, api_key=None, credentials=LOGIN, region=REGION)
        assert [x async for x in model.generate_content_async(conversation(), stream=stream)]
        await model.aclose()
    return server.requests[0]


def with_bytes(value: Any, key: str = "") -> Any:
    """Return our JSON as boto3's arguments, where bytes are bytes."""
    if isinstance(value, dict):
        return {name: with_bytes(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [with_bytes(one) for one in value]
    return base64.b64decode(value) if key in ("bytes", "redactedContent") else value


@BOTH
async def test_boto3_sends_the_same(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    sent = await ours(stream)
    [answer] = answers([Turn(text="ok", calls=(Call("look"),))], stream=stream)
    async with FakeServer([answer]) as server:

        def ask() -> Any:
            client = boto3.client(
                "bedrock-runtime",
                endpoint_url=server.url,
                region_name=REGION,
                aws_access_key_id=LOGIN.access_key,
                aws_secret_access_key=LOGIN.secret_key,
                aws_session_token=LOGIN.token,
                config=Config(retries={"total_max_attempts": 1}),
            )
            method = client.converse_stream if stream else client.converse
            found = method(modelId=CLAUDE, **with_bytes(sent.json))
            read = list(found["stream"]) if stream else found["output"]["message"]["content"]
            client.close()
            return read

        read = await asyncio.to_thread(ask)
    theirs = server.requests[0]
    assert (sent.method, sent.path, sent.json) == (theirs.method, theirs.path, theirs.json)
    assert sent.headers["content-type"] == theirs.headers["content-type"]
    scope = theirs.headers["authorization"].partition("SignedHeaders")[0]
    assert sent.headers["authorization"].startswith(scope)
    # boto3 reads what our scripts write, so they are answers of the API.
    assert len(read) == (10 if stream else 2)


async def test_the_signature_is_that_of_the_request_as_it_came() -> None:
    sent = await ours(False)
    authorization = sent.headers["authorization"]
    signed = authorization.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    assert {"content-type", "host", "x-amz-date", "x-amz-security-token"} <= set(signed)
    headers = {name: sent.headers[name] for name in signed}
    url = f"http://{sent.headers['host']}{sent.path}"
    request = AWSRequest(method="POST", url=url, data=sent.body, headers=headers)
    request.context["timestamp"] = sent.headers["x-amz-date"]
    auth = SigV4Auth(LOGIN, "bedrock", REGION)
    canonical = auth.canonical_request(request)
    expected = auth.signature(auth.string_to_sign(request, canonical), request)
    assert authorization.endswith(f"Signature={expected}")


async def test_no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    async with FakeServer() as server:
        model = llm(server.url, api_key=None, region=REGION)
        with pytest.raises(ModelUnavailableError, match="AWS_BEARER_TOKEN_BEDROCK"):
            assert [x async for x in model.generate_content_async(LlmRequest(contents=[said("x")]))]
        await model.aclose()


async def test_the_region_of_a_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "config"
    config.write_text(
        "[profile mine]\nregion = eu-west-3\naws_access_key_id = A\naws_secret_access_key = B\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    async with FakeServer([Answer({"message": "no"}, 400)]) as server:
        model = llm(server.url, api_key=None, profile="mine")
        with pytest.raises(Exception, match="no"):
            assert [x async for x in model.generate_content_async(LlmRequest(contents=[said("x")]))]
        await model.aclose()
    assert (
        f"/{json.dumps('eu-west-3')[1:-1]}/bedrock/" in server.requests[0].headers["authorization"]
    )
