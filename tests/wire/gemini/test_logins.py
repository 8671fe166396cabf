"""Logins of Google Cloud: application default credentials, service accounts, refreshed tokens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from ostinato.errors import ModelAuthError, ModelConnectionError, ModelUnavailableError
from ostinato.models.anthropic_llm import Claude
from ostinato.models.google_llm import Gemini
from ostinato.models.llm_request import LlmRequest
from tests.wire.anthropic import script as claude
from tests.wire.asking import said
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.gemini.conftest import ask
from tests.wire.gemini.script import KEY, ONCE, answers
from tests.wire.turns import Turn

TOKEN = "ya29.SECRET-token"


@pytest.fixture(autouse=True)
def no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "l")


@pytest.fixture(scope="module")
def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem.decode()


@pytest.fixture
def log_in(private_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that writes the file of a service account whose tokens come from a URL."""

    def write(url: str) -> None:
        file = tmp_path / "account.json"
        account = {
            "type": "service_account",
            "project_id": "mine",
            "private_key_id": "1",
            "private_key": private_key,
            "client_email": "me@mine.iam.gserviceaccount.com",
            "token_uri": f"{url}/token",
        }
        file.write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))

    return write


def tokens(seconds: int = 3600) -> dict[str, Any]:
    return {"/token": Answer({"access_token": TOKEN, "expires_in": seconds})}


def gemini(url: str, **fields: Any) -> Gemini:
    return Gemini(model="gemini-2.5-flash", base_url=url, vertexai=True, **ONCE, **fields)


async def test_a_service_accounts_file(log_in: Any) -> None:
    script = answers([Turn(text="Hi")] * 3, stream=False)
    async with FakeServer(script, paths=tokens()) as server:
        log_in(server.url)
        model = gemini(server.url, project="p")
        wanted = LlmRequest(contents=[said("Hi")])

        async def once() -> None:
            assert [x async for x in model.generate_content_async(wanted)]

        await asyncio.gather(once(), once(), once())
        await model.aclose()
    login, *sent = server.requests
    assert login.path == "/token" and "assertion" in parse_qs(login.body.decode())
    assert [one.path.startswith("/v1beta1/projects/p/locations/l/") for one in sent] == [True] * 3
    assert {one.headers["authorization"] for one in sent} == {f"Bearer {TOKEN}"}


async def test_the_logins_own_project(log_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeServer(paths=tokens()) as server:
        log_in(server.url)
        monkeypatch.delenv("GOOGLE_CLOUD_LOCATION")
        model = Gemini(model="gemini-2.5-flash", vertexai=True)
        place = await model._endpoint(None, None)  # pyright: ignore[reportPrivateUsage]
    url = "https://aiplatform.googleapis.com/v1beta1/projects/mine/locations/global/x"
    assert place.url("x") == url
    assert not server.requests


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("europe-west1", "europe-west1-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
    ],
)
async def test_the_host_of_a_region(location: str, host: str) -> None:
    model = Gemini(model="gemini-2.5-flash", vertexai=True, project="p", location=location)
    place = await model._endpoint(None, None)  # pyright: ignore[reportPrivateUsage]
    assert place.url("x") == f"https://{host}/v1beta1/projects/p/locations/{location}/x"
    claude_at = Claude(model="claude-x")._region_url  # pyright: ignore[reportPrivateUsage]
    name = f"projects/p/locations/{location}/publishers/anthropic/models/claude-x"
    assert claude_at(name)[0].startswith(f"https://{host}/v1/projects/p/locations/{location}/")


async def test_an_expired_token_is_refreshed(log_in: Any) -> None:
    script = answers([Turn(text="Hi")] * 2, stream=False)
    async with FakeServer(script, paths=tokens(seconds=0)) as server:
        log_in(server.url)
        model = gemini(server.url, project="p")
        for _ in range(2):
            wanted = LlmRequest(contents=[said("Hi")])
            assert [x async for x in model.generate_content_async(wanted)]
        await model.aclose()
    assert [one.path for one in server.requests].count("/token") == 2


async def test_a_key_for_vertex_ai() -> None:
    async with FakeServer(answers([Turn(text="Hi")], stream=False)) as server:
        await ask(gemini(server.url, api_key=KEY))
    [sent] = server.requests
    assert sent.path == "/v1beta1/publishers/google/models/gemini-2.5-flash:generateContent"
    assert sent.headers["x-goog-api-key"] == KEY


async def test_a_gateway_brings_its_own_login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_LOCATION")
    async with FakeServer(answers([Turn(text="Hi")], stream=False)) as server:
        await ask(gemini(f"{server.url}/gate"))
    [sent] = server.requests
    assert sent.path == "/gate" and "authorization" not in sent.headers


async def test_a_login_that_is_refused(log_in: Any) -> None:
    refusal = Answer({"error": "invalid_grant", "error_description": "Bad clock"}, status=400)
    async with FakeServer(paths={"/token": refusal}) as server:
        log_in(server.url)
        with pytest.raises(ModelAuthError, match="Bad clock"):
            await ask(gemini(server.url, project="p"))


async def test_a_login_server_that_is_gone(log_in: Any) -> None:
    async with FakeServer() as server:
        url = server.url
    log_in(url)
    with pytest.raises(ModelConnectionError):
        await ask(gemini(url, project="p"))


async def test_no_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(ModelUnavailableError, match="gcloud auth"):
        await ask(gemini("http://127.0.0.1:1", project="p"))


async def test_claude_with_a_service_account(log_in: Any) -> None:
    script = claude.answers([Turn(text="Hi")], stream=False)
    async with FakeServer(script, paths=tokens()) as server:
        log_in(server.url)
        name = "projects/p/locations/l/publishers/anthropic/models/claude-x"
        model = Claude(model=name, base_url=server.url)
        wanted = LlmRequest(contents=[said("Hi")])
        assert [x async for x in model.generate_content_async(wanted)]
        await model.aclose()
    assert server.requests[1].headers["authorization"] == f"Bearer {TOKEN}"
