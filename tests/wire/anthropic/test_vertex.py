"""Claude on Vertex AI: paths, login and body, through the SDK's own Vertex client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic
import pytest
from pydantic import SecretStr

from ostinato import errors
from ostinato.models.anthropic_llm import Claude
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Call, Turn

from .script import answers
from .test_answers import STREAMED, asking

NAME = "projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-opus-4-6"
TOKEN = "ya29.SECRET-0123456789"


def vertex(url: str, **fields: Any) -> Claude:
    return Claude(**{"model": NAME, "base_url": url, "api_key": SecretStr(TOKEN), **fields})


@STREAMED
async def test_a_turn(stream: bool) -> None:
    script = answers([Turn(text="Sure.", calls=(Call("f", {"x": 1}),))], stream=stream)
    async with FakeServer(script) as server:
        model = vertex(server.url)
        got = [r async for r in model.generate_content_async(asking(), stream=stream)]
        await model.aclose()
    assert got[-1].get_function_calls()[0].args == {"x": 1}
    request = server.requests[0]
    ask = "streamRawPredict" if stream else "rawPredict"
    assert request.path == f"/{NAME}:{ask}"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    body = request.json
    assert "model" not in body
    assert body.get("stream", False) is stream
    assert (
        body["anthropic_version"]
        == anthropic.AsyncAnthropic(api_key="x").default_headers["anthropic-version"]
    )


async def test_project_and_region_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "global")
    async with FakeServer(answers([Turn(text="x")], stream=False)) as server:
        model = vertex(server.url, model="claude-sonnet-4-5@20250929")
        assert [r async for r in model.generate_content_async(asking())]
        await model.aclose()
    place = "/projects/p/locations/global/publishers/anthropic/models/"
    assert server.requests[0].path == f"{place}claude-sonnet-4-5@20250929:rawPredict"


@pytest.mark.parametrize("lacking", ["GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"])
async def test_without_project_or_region(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "l")
    monkeypatch.delenv(lacking)
    model = vertex("http://127.0.0.1:1", model="claude-x")
    with pytest.raises(errors.ModelUnavailableError, match=lacking):
        assert [r async for r in model.generate_content_async(asking())]


async def test_without_a_login(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    login = tmp_path / "login.json"
    login.write_text("{}")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(login))
    async with FakeServer() as server:
        model = vertex(server.url, api_key=None)
        with pytest.raises(errors.ModelUnavailableError, match="gcloud auth") as raised:
            assert [r async for r in model.generate_content_async(asking())]
        await model.aclose()
    assert str(tmp_path) not in str(raised.value)


async def test_a_refused_token() -> None:
    async with FakeServer([Answer({"error": {"message": "expired"}}, status=401)]) as server:
        model = vertex(server.url)
        with pytest.raises(errors.ModelAuthError, match="Vertex AI"):
            assert [r async for r in model.generate_content_async(asking())]
        await model.aclose()
