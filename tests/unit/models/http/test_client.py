"""The clients of HttpTransport: the environment's proxies and certificates, loops, descriptors."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import pickle
from pathlib import Path
from typing import Any

import httpx2
import pytest

from ostinato.errors import ModelConnectionError
from ostinato.models.fallback_model import FallbackModel
from ostinato.models.http.client import translate_error
from ostinato.models.http.messages import HttpRequest, Timeouts
from ostinato.models.http.transport import HttpTransport
from ostinato.models.offline_llm import OfflineLlm
from ostinato.models.openai_llm import OpenAILlm
from tests.wire.asking import ask, fails, request
from tests.wire.chat import script
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Turn

KEY = "sk-SECRET-0123456789"
LOGIN = "user:hunter2hunter2"


def _llm(url: str = "https://127.0.0.1:1", **fields: Any) -> OpenAILlm:
    return OpenAILlm(model="gpt-5", provider="openai-chat", base_url=url, **fields)


@pytest.mark.parametrize(
    ("name", "url", "remedy"),
    [
        ("ALL_PROXY", f"gopher://{LOGIN}@127.0.0.1:1", "set ALL_PROXY to "),
        ("https_proxy", f"http://{LOGIN}@[::bad", "set https_proxy to "),
        ("HTTPS_PROXY", f"http://127.0.0.1:{LOGIN}", "set HTTPS_PROXY to "),
    ],
)
async def test_an_unusable_proxy_is_named_without_its_login(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str, remedy: str
) -> None:
    monkeypatch.setenv(name, url)
    found = await fails(_llm(api_key=KEY), request())
    assert isinstance(found, ModelConnectionError) and not found.retryable
    assert remedy in str(found) and "hunter2" not in str(found)


async def test_requests_go_through_the_environments_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    async with FakeServer(script.answers([Turn("Yes.")] * 2, stream=False)) as server:
        proxy = server.url.replace("://", f"://{LOGIN}@")
        monkeypatch.setenv("http_proxy", proxy)
        await ask(_llm("http://models.example/v1", api_key=KEY), request())
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        await ask(_llm(f"{server.url}/v1", api_key=KEY), request())
    proxied, direct = server.requests
    assert proxied.path == "http://models.example/v1/chat/completions"
    assert proxied.headers["proxy-authorization"].startswith("Basic ")
    assert proxied.headers["host"] == "models.example"
    assert direct.path == "/v1/chat/completions" and "proxy-authorization" not in direct.headers


async def test_a_socks_proxy_names_the_package_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "socksio", None)
    monkeypatch.setenv("HTTPS_PROXY", f"socks5h://{LOGIN}@127.0.0.1:1")
    found = await fails(_llm(api_key=KEY), request())
    assert isinstance(found, ModelConnectionError) and not found.retryable
    assert "HTTPS_PROXY" in str(found) and "pip install 'httpx2[socks]'" in str(found)
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("kind", ["missing", "garbage", "folder"])
async def test_certificates_that_cannot_be_loaded_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    path = tmp_path if kind == "folder" else tmp_path / "ca.pem"
    if kind == "garbage":
        path.write_text("garbage")
    _forget_certificates()
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    found = await fails(_llm(api_key=KEY), request())
    assert isinstance(found, ModelConnectionError) and not found.retryable
    assert f"SSL_CERT_FILE={str(path)!r}" in str(found)


async def test_a_key_log_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import certifi

    _forget_certificates()
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "missing" / "keys"))
    found = await fails(_llm(api_key=KEY), request())
    assert isinstance(found, ModelConnectionError) and "SSLKEYLOGFILE=" in str(found)


async def test_the_next_model_answers_if_the_environment_is_at_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://127.0.0.1:1")
    model = FallbackModel(models=[_llm(api_key=KEY), OfflineLlm()])
    assert (await ask(model, request()))[-1].content


def test_a_loop_that_ends_closes_its_connections() -> None:
    transport = HttpTransport()

    async def use() -> int:
        async with FakeServer([Answer({"b": 2})]) as server:
            await transport.send(HttpRequest("POST", server.url, body=b"{}"))
        return len(os.listdir("/proc/self/fd"))

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("counts descriptors in /proc")
    gc.collect()  # what other tests left is not closed between two counts
    counts = [asyncio.run(use()) for _ in range(5)]
    assert counts[-1] <= counts[0]


def test_exhausted_descriptors_are_named() -> None:
    error = httpx2.ConnectError("All connection attempts failed")
    error.__cause__ = OSError("All connection attempts failed")
    error.__cause__.__cause__ = ExceptionGroup("", [OSError(errno.EMFILE, "Too many open files")])
    found = translate_error(error, "http://h", Timeouts.of(1), has_begun=False)
    assert "too many open files" in str(found) and "ulimit -n" in str(found)


def test_models_pickle_without_clients_and_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def use(llm: OpenAILlm) -> bytes:
        async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
            llm.base_url = server.url
            unused = pickle.dumps(llm)
            await ask(llm, request())
            used = pickle.dumps(llm)
            both = pickle.dumps(FallbackModel(models=[llm]))
            assert KEY.encode() not in unused + used + both
            return used

    loaded = pickle.loads(asyncio.run(use(_llm())))
    assert (
        isinstance(loaded, OpenAILlm)
        and loaded.model_dump() == _llm(loaded.base_url or "").model_dump()
    )
    asyncio.run(use(loaded))


async def test_a_fallback_model_that_was_used_pickles() -> None:
    model = FallbackModel(models=[OfflineLlm()])
    await ask(model, request())
    loaded = pickle.loads(pickle.dumps(model))
    assert (await ask(loaded, request()))[-1].content


async def test_a_model_with_a_client_of_the_user_does_not_pickle() -> None:
    async with httpx2.AsyncClient() as client:
        with pytest.raises(TypeError, match="http_client cannot be pickled"):
            pickle.dumps(_llm(http_client=client))


@pytest.mark.parametrize("client", [httpx2.Client(), httpx2.AsyncClient, "client", 5])
def test_an_http_client_of_another_type_is_refused(client: object) -> None:
    with pytest.raises(ValueError, match=r"http_client takes an httpx2\.AsyncClient"):
        _llm(http_client=client)


def _forget_certificates() -> None:
    from ostinato.models.http import client

    client._trusted_certificates.cache_clear()  # pyright: ignore[reportPrivateUsage]
