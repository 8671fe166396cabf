"""AzureOpenAILlm: where requests go, and with which key or token."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import ModelUnavailableError
from ostinato.models.azure_openai_llm import AzureOpenAILlm
from ostinato.models.registry import LLMRegistry
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.asking import ask, request, texts
from tests.wire.chat import script
from tests.wire.fake_server import FakeServer, Received
from tests.wire.turns import Turn

_NAMES = ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "AZURE_OPENAI_ENDPOINT")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _NAMES:
        monkeypatch.delenv(name, raising=False)


async def _sent(place: str = "", **fields: Any) -> Received:
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        if place is not None and "base_url" not in fields:
            fields["base_url"] = server.url + place
        llm = AzureOpenAILlm(model="my-gpt", retry_policy=RetryPolicy(attempts=1), **fields)
        assert texts(await ask(llm, request(max_output_tokens=5))) == "Yes."
        return server.requests[0]


async def test_a_key_goes_into_its_own_header() -> None:
    sent = await _sent(api_key="azure-key-0123")
    assert sent.path == "/openai/v1/chat/completions"
    assert sent.headers["api-key"] == "azure-key-0123" and "authorization" not in sent.headers
    assert sent.json["model"] == "my-gpt" and sent.json["max_completion_tokens"] == 5


async def test_a_token_provider_is_asked_for_each_request() -> None:
    async def token() -> str:
        return "entra-token"

    sent = await _sent(token_provider=token, api_key="unused-key")
    assert sent.headers["authorization"] == "Bearer entra-token"
    assert "api-key" not in sent.headers
    assert (await _sent(token_provider=lambda: "t2")).headers["authorization"] == "Bearer t2"


async def test_a_classic_deployment_keeps_its_api_version() -> None:
    sent = await _sent("/openai/deployments/d?api-version=2024-10-21", api_key="azure-key-0123")
    assert sent.path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"


async def test_the_environment_holds_endpoint_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "entra-token")
    sent = await _sent()
    assert sent.headers["authorization"] == "Bearer entra-token"
    llm = LLMRegistry.new_llm("azure:my-gpt")
    assert isinstance(llm, AzureOpenAILlm) and llm.model == "my-gpt"
    with pytest.raises(ModelUnavailableError, match="set AZURE_OPENAI_ENDPOINT, or pass base_url"):
        await ask(llm, request())
