"""ApigeeLlm: Gemini's API behind a proxy."""

from __future__ import annotations

import pytest

from ostinato.errors import ModelAuthError, ModelUnavailableError
from ostinato.models.apigee_llm import ApigeeLlm
from ostinato.models.registry import LLMRegistry
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.gemini.conftest import ask, request, run, trace
from tests.wire.gemini.script import KEY, answers
from tests.wire.gemini.test_requests import Credentials
from tests.wire.turns import Turn


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "APIGEE_PROXY_URL", "GOOGLE_CLOUD_LOCATION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "l")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("apigee/gemini/v1/gemini-2.5-flash", "/base/v1/models/gemini-2.5-flash:"),
        ("apigee/v1beta/gemini-2.5-flash", "/base/v1beta/models/gemini-2.5-flash:"),
        (
            "apigee/vertex_ai/v1/gemini-2.5-flash",
            "/base/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:",
        ),
    ],
)
async def test_provider_version_and_model(model: str, path: str) -> None:
    async with FakeServer(answers([Turn(text="Hi")], stream=False)) as server:
        credentials = Credentials() if "vertex" in model else None
        proxied = ApigeeLlm(
            model=model,
            proxy_url=f"{server.url}/base",
            custom_headers={"x-proxy-key": "mine"},
            credentials=credentials,
        )
        await ask(proxied, request("x", model=model))
    received = server.requests[0]
    assert received.path.startswith(path)
    assert received.headers["x-proxy-key"] == "mine"
    if credentials is not None:
        assert received.headers["authorization"] == "Bearer vertex-token"


async def test_an_agent_runs_over_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeServer(answers([Turn(text="Hi")], stream=True)) as server:
        monkeypatch.setenv("APIGEE_PROXY_URL", server.url)
        monkeypatch.setenv("GOOGLE_API_KEY", KEY)
        events = await run(LLMRegistry.new_llm("apigee/gemini-2.5-flash"), stream=True)
    assert trace(events) == [["Hi"]]
    assert server.requests[0].headers["x-goog-api-key"] == KEY


async def test_a_refusal_names_the_proxy() -> None:
    refusal = Answer({"error": {"code": 401, "message": f"no {KEY}"}}, status=401)
    async with FakeServer([refusal]) as server:
        with pytest.raises(ModelAuthError, match="Apigee") as caught:
            await ask(ApigeeLlm(model="apigee/gemini-2.5-flash", proxy_url=server.url))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("model", ["apigee/", "apigee/a/b/c/d", "apigee/cohere/x", "gemini-2.5"])
def test_a_name_in_another_form(model: str) -> None:
    with pytest.raises(ModelUnavailableError, match="apigee/"):
        ApigeeLlm(model=model, proxy_url="http://127.0.0.1:1")


def test_no_proxy() -> None:
    with pytest.raises(ModelUnavailableError, match="APIGEE_PROXY_URL"):
        ApigeeLlm(model="apigee/gemini-2.5-flash")


def test_its_version_counts_for_what_it_can_do() -> None:
    model = ApigeeLlm(model="apigee/vertex_ai/gemini-2.5-flash", proxy_url="http://h")
    assert model.supports_output_schema_with_tools and model.capabilities.thinking
