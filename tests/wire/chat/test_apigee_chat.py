"""ApigeeLlm in front of a proxy that speaks chat completions."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ostinato.errors import ModelAuthError
from ostinato.models.apigee_llm import ApigeeLlm, ApiType
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.asking import ask, fails, request, texts
from tests.wire.chat import script
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Turn


@pytest.fixture(autouse=True)
def other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set keys that are not the proxy's; none of them may be sent."""
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY", "APIGEE_PROXY_URL"):
        monkeypatch.setenv(name, f"http://not-{name}".lower())
    monkeypatch.setenv("OPENAI_ORG_ID", "not-this-org")


def _proxied(url: str, model: str = "apigee/openai/gpt-5", **fields: Any) -> ApigeeLlm:
    headers = {"Authorization": "Bearer proxy-token-0123"}
    policy = RetryPolicy(attempts=1)
    return ApigeeLlm(
        **{
            "model": model,
            "proxy_url": url,
            "custom_headers": headers,
            "retry_policy": policy,
            **fields,
        }
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("apigee/openai/gpt-5", {}),
        ("apigee/gpt-5", {"api_type": "chat_completions"}),
        ("apigee/openai/v1/gpt-5", {"api_type": ApiType.CHAT_COMPLETIONS}),
    ],
)
async def test_the_bare_model_is_asked_with_the_headers_of_the_proxy(
    model: str, fields: dict[str, Any], stream: bool
) -> None:
    async with FakeServer(script.answers([Turn("Yes.")], stream=stream)) as server:
        llm = _proxied(f"{server.url}/base", model, **fields)
        assert texts(await ask(llm, request(), stream=stream)) == "Yes."
        (sent,) = server.requests
    assert (sent.path, sent.json["model"]) == ("/base/chat/completions", "gpt-5")
    assert sent.headers["authorization"] == "Bearer proxy-token-0123"
    assert "not-" not in str(sent)
    assert llm.pairs_calls_by_id and not llm.capabilities.caching


async def test_a_whole_address_is_kept() -> None:
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        await ask(_proxied(f"{server.url}/v2/chat/completions"), request())
        assert server.requests[0].path == "/v2/chat/completions"


async def test_a_copy_asks_like_its_original() -> None:
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        await ask(copy.copy(_proxied(server.url)), request())
        assert server.requests[0].headers["authorization"] == "Bearer proxy-token-0123"


async def test_a_refusal_names_the_proxy_and_no_token() -> None:
    refusal = Answer({"error": {"message": "no proxy-token-0123"}}, status=401)
    async with FakeServer([refusal]) as server:
        found = await fails(_proxied(server.url), request())
    assert isinstance(found, ModelAuthError) and "Apigee" in str(found)
    assert "proxy-token" not in str(found)
