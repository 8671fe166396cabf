"""HttpLlm: what users hand in, and what is wrong with it."""

from __future__ import annotations

import logging
from typing import Any

import httpx2
import pytest

from ostinato.errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelRequestError,
    ProviderError,
)
from ostinato.models.llm_request import LlmRequest
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.registry import LLMRegistry
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.asking import ask, fails, request, said, texts
from tests.wire.chat import script
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Turn

KEY = "sk-SECRET-0123456789"
REFUSED = Answer({"error": {"message": "Incorrect API key"}}, status=401)


def _llm(url: str = "", **fields: Any) -> OpenAILlm:
    given: dict[str, Any] = {"retry_policy": RetryPolicy(attempts=1), **fields}
    if url:
        given["base_url"] = url
    return OpenAILlm(model="gpt-5", provider="openai-chat", **given)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_function_gives_the_key_of_each_request(is_async: bool) -> None:
    keys = iter(["sk-first-0123456", "sk-second-0123456"])

    async def later() -> str:
        return next(keys)

    async with FakeServer(script.answers([Turn("Yes.")] * 2, stream=False)) as server:
        llm = _llm(server.url, api_key=later if is_async else lambda: next(keys))
        for _ in range(2):
            await ask(llm, request())
        sent = [one.headers["authorization"] for one in server.requests]
    assert sent == ["Bearer sk-first-0123456", "Bearer sk-second-0123456"]
    assert "sk-" not in f"{llm!r} {llm.model_dump_json()}"


OWN_SERVERS = ["compatible", "ollama", "vllm", "llamacpp", "lmstudio"]


@pytest.mark.parametrize("server_name", OWN_SERVERS)
async def test_a_server_of_ones_own_gets_a_key_if_the_environment_holds_one(
    server_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"{server_name.upper()}_API_KEY"
    monkeypatch.delenv(variable, raising=False)
    async with FakeServer(script.answers([Turn("Yes.")] * 3, stream=False)) as server:
        monkeypatch.setenv(f"{server_name.upper()}_BASE_URL", server.url)
        await ask(LLMRegistry.new_llm(f"{server_name}:m"), request())
        monkeypatch.setenv(variable, KEY)
        await ask(LLMRegistry.new_llm(f"{server_name}:m"), request())
        await ask(OpenAILlm(model="m", base_url=server.url), request())
        sent = [one.headers.get("authorization") for one in server.requests]
    assert sent == [None, f"Bearer {KEY}", None]


async def test_a_refused_optional_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)
    async with FakeServer([REFUSED]) as server:
        monkeypatch.setenv("VLLM_BASE_URL", server.url)
        assert "Check VLLM_API_KEY." in str(await fails(LLMRegistry.new_llm("vllm:m"), request()))


async def test_a_server_that_does_not_run_names_the_variable_of_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    llm = OpenAILlm(model="m", provider="vllm", retry_policy=RetryPolicy(attempts=1))
    assert str(llm._unreachable("refused")).endswith(
        "Start the server, or set VLLM_BASE_URL to its address."
    )
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:1/v1")
    assert "Check VLLM_BASE_URL and the network." in str(await fails(llm, request()))


async def test_a_key_of_a_function_is_not_quoted() -> None:
    quoting = Answer({"error": {"message": "bad hunter2hunter2"}}, status=401)
    async with FakeServer([quoting]) as server:
        found = await fails(_llm(server.url, api_key=lambda: "hunter2hunter2"), request())
    assert isinstance(found, ModelAuthError) and "hunter2" not in str(found)


async def test_a_client_of_the_user_is_used_and_left_open() -> None:
    async with FakeServer(script.answers([Turn("Yes.")], stream=True)) as server:
        async with httpx2.AsyncClient(headers={"x-mine": "1"}) as client:
            llm = _llm(server.url, api_key=KEY, http_client=client)
            assert texts(await ask(llm, request(), stream=True)) == "Yes."
            assert not client.is_closed
        assert server.requests[0].headers["x-mine"] == "1"
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        found = await fails(llm, request())
    assert isinstance(found, ModelRequestError) and "http_client is closed" in str(found)


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}\r\nx: y", "clé-0123456789"])
async def test_a_key_that_cannot_be_sent_names_where_it_comes_from(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    async with FakeServer() as server:
        found = await fails(_llm(server.url), request())
        passed = await fails(_llm(server.url, api_key=key), request())
    assert isinstance(found, ModelAuthError) and isinstance(passed, ModelAuthError)
    assert "The key from OPENAI_API_KEY holds" in str(found)
    assert "The key from api_key holds" in str(passed)
    assert key.strip() not in str(found) + str(passed)


async def test_a_refused_key_names_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with FakeServer([REFUSED, REFUSED]) as server:
        assert "Check OPENAI_API_KEY." in str(await fails(_llm(server.url), request()))
        found = await fails(_llm(server.url, api_key=KEY), request())
    assert "Check the api_key that was passed." in str(found)


async def test_a_wrong_place_names_what_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeServer() as server:
        gone = server.url
    found = await fails(_llm(gone, api_key=KEY), request())
    assert isinstance(found, ModelConnectionError) and "Check base_url" in str(found)
    monkeypatch.setenv("OPENAI_BASE_URL", gone)
    found = await fails(_llm(api_key=KEY), request())
    assert "Check OPENAI_BASE_URL" in str(found)


@pytest.mark.parametrize(
    "place", ["127.0.0.1:8000/v1", "localhost", "ftp://host/v1", "http://", "http://[::bad/v1", "x"]
)
async def test_a_place_that_is_no_url(place: str) -> None:
    found = await fails(_llm(place, api_key=KEY), request())
    assert isinstance(found, ModelRequestError) and not found.retryable
    assert "starts with http:// or https://" in str(found)


@pytest.mark.parametrize(
    "place", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"]
)
async def test_a_policy_may_forbid_private_places(place: str) -> None:
    found = await fails(_llm(f"http://{place}:1/v1", api_key=KEY, public_only=True), request())
    assert isinstance(found, ModelRequestError) and "`public_only` forbids" in str(found)


async def test_plain_http_to_another_machine_is_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, json=script.whole(Turn("A"))))
    async with httpx2.AsyncClient(transport=transport) as client:
        for url in ("http://models.example/v1", "http://127.0.0.1:1", "https://models.example"):
            llm = _llm(url, api_key=KEY, http_client=client)
            with caplog.at_level(logging.WARNING, logger="ostinato"):
                await ask(llm, request())
                await ask(llm, request())
    warned = [record.getMessage() for record in caplog.records]
    assert len(warned) == 1 and "models.example" in warned[0] and "https" in warned[0]


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_drops_the_request_says_where_to(status: int) -> None:
    moved = Answer(status=status, headers={"location": "https://api.example/v1?key=hidden"})
    async with FakeServer([moved]) as server:
        found = await fails(_llm(server.url, api_key=KEY), request())
    assert isinstance(found, ProviderError) and not found.retryable
    assert "https://api.example/v1 " in str(found) and "base_url" in str(found)
    assert "hidden" not in str(found)


async def test_the_request_id_is_in_each_error() -> None:
    headers = {"x-request-id": "req_7"}
    broken = Answer({"choices": []}, headers=headers)
    async with FakeServer([Answer(REFUSED.body, status=401, headers=headers), broken]) as server:
        llm = _llm(server.url, api_key=KEY)
        for _ in range(2):
            found = await fails(llm, request())
            assert found.request_id == "req_7" and "Request id: req_7." in str(found)


def test_repr_shows_neither_login_nor_query_of_the_base_url() -> None:
    llm = _llm("https://user:hidden@models.example/v1?key=hidden")
    assert "base_url='https://models.example/v1'" in repr(llm)
    assert "hidden" not in f"{llm!r} {llm}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:hidden@a.example/v1", "https://a.example/v1"),
        ("https://a.example/v1?key=hidden&alt=sse", "https://a.example/v1?key=***&alt=sse"),
        ("https://a.example?api-version=2024-10-21", "https://a.example?api-version=2024-10-21"),
        ("https://a.example?hidden", "https://a.example?***"),
        ("user:hidden@a.example/v1", "a.example/v1"),
    ],
)
def test_a_dump_shows_neither_login_nor_keys_of_the_base_url(url: str, shown: str) -> None:
    llm = _llm(url)
    assert llm.model_dump()["base_url"] == shown and "hidden" not in llm.model_dump_json()
    assert llm.base_url == url


@pytest.mark.parametrize("is_foreign", [False, True])
async def test_the_log_shows_no_secrets_of_a_url(
    caplog: pytest.LogCaptureFixture, is_foreign: bool
) -> None:
    async with (
        FakeServer(script.answers([Turn("Yes.")], stream=False)) as server,
        httpx2.AsyncClient() as client,
    ):
        place = server.url.replace("://", "://user:hidden@") + "/v1?key=hidden"
        fields: dict[str, Any] = {"http_client": client} if is_foreign else {}
        llm = OpenAILlm(model="gpt-5", base_url=place, **fields)
        with caplog.at_level(logging.DEBUG):
            assert texts(await ask(llm, request())) == "Yes."
        assert server.requests[0].headers["authorization"].startswith("Basic ")
        assert server.requests[0].path.endswith("?key=hidden")
    logged = [one for one in caplog.messages if "/v1/chat/completions" in one]
    assert len(logged) == 1 + is_foreign and "hidden" not in caplog.text


async def test_a_login_in_the_url_does_not_replace_the_key() -> None:
    async with FakeServer() as server:
        place = server.url.replace("://", "://user:hidden@")
        found = await fails(_llm(place, api_key=KEY), request())
    assert isinstance(found, ModelRequestError) and not server.requests
    assert "holds a login" in str(found) and "hidden" not in str(found)


async def test_a_synchronous_client_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"httpx2\.Client, which is synchronous"):
        _llm(http_client=httpx2.Client())
    llm = _llm("http://127.0.0.1:1", api_key=KEY)
    llm.http_client = httpx2.Client()
    found = await fails(llm, request())
    assert isinstance(found, ModelRequestError) and "which is synchronous" in str(found)


def _raise_secret() -> str:
    raise RuntimeError("the vault said SECRET")


async def _fetch_in_vain() -> str:
    raise ConnectionError("SECRET")


def _return(value: object) -> Any:
    def key() -> object:
        return value

    return key


@pytest.mark.parametrize(
    ("function", "words", "retryable"),
    [
        (_raise_secret, "'_raise_secret' raised RuntimeError", False),
        (_fetch_in_vain, "'_fetch_in_vain' raised ConnectionError", True),
        (lambda name: name, "raised TypeError", False),
        (_return(None), "'key' is a NoneType", False),
        (_return(""), "'key' is empty", False),
        (_return(b"SECRET"), "'key' is a bytes", False),
    ],
)
async def test_a_function_that_gives_no_key_is_named(
    function: Any, words: str, retryable: bool
) -> None:
    async with FakeServer() as server:
        found = await fails(_llm(server.url, api_key=function), request())
    assert isinstance(found, ModelAuthError) and not server.requests
    assert words in str(found) and found.retryable is retryable


async def test_a_value_that_json_cannot_express_is_refused() -> None:
    llm = _llm("http://127.0.0.1:1", api_key=KEY, extra_body={"x": object()})
    found = await fails(llm, request())
    assert isinstance(found, ModelRequestError)
    assert "Object of type object is not JSON serializable" in str(found)


@pytest.mark.parametrize(
    "contents", [[], [said("")], [said("Hi"), said("I am", "model"), said("")]]
)
async def test_a_request_does_not_end_without_words_of_the_user(contents: list[Any]) -> None:
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        wanted = LlmRequest(contents=contents)
        assert texts(await ask(_llm(server.url, api_key=KEY), wanted)) == "Yes."
    last = server.requests[0].json["messages"][-1]
    assert last["role"] == "user" and last["content"]
