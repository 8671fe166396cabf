"""Programs and tests that replace google-genai's client, or catch its errors."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any
from unittest.mock import AsyncMock, MagicMock, patch

import pytest
from google import genai
from google.genai.errors import APIError, ClientError, ServerError

from ostinato._adk_mode import set_follows_adk
from ostinato.errors import ModelRateLimitError, ModelServerError, ProviderError
from ostinato.models import Gemini
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.fake_server import FakeServer
from tests.wire.gemini.conftest import ask
from tests.wire.gemini.script import llm
from tests.wire.gemini.test_failures import refusal

ANSWER = genai.types.GenerateContentResponse(
    candidates=[
        genai.types.Candidate(
            content=genai.types.Content(role="model", parts=[genai.types.Part(text="mocked")]),
            finish_reason=genai.types.FinishReason.STOP,
        )
    ]
)
ONCE = RetryPolicy(attempts=1)


@pytest.fixture
def adk_program() -> Iterator[None]:
    set_follows_adk(True)
    yield
    set_follows_adk(False)


@pytest.fixture
def client() -> MagicMock:
    made = MagicMock(vertexai=False)
    made.aio.models.generate_content = AsyncMock(return_value=ANSWER)
    return made


async def text_of(model: Gemini) -> str | None:
    (answer,) = await ask(model)
    assert answer.content is not None and answer.content.parts
    return answer.content.parts[0].text


@pytest.mark.parametrize("key", ["a-long-enough-key", ""])
async def test_a_patched_client_gets_the_request(
    client: MagicMock, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", key)
    with patch("google.genai.Client", return_value=client) as made:
        assert await text_of(Gemini()) == "mocked"
    assert made.call_count == client.aio.models.generate_content.await_count == 1


async def test_a_patched_method_gets_the_request() -> None:
    answer = AsyncMock(return_value=ANSWER)
    with patch.object(genai.models.AsyncModels, "generate_content", answer):
        assert await text_of(Gemini(api_key="key")) == "mocked"


@pytest.mark.usefixtures("adk_program")
async def test_an_adk_program_may_edit_the_client_that_it_reads() -> None:
    model = Gemini(api_key="key")
    model.api_client.aio.models.generate_content = AsyncMock(return_value=ANSWER)
    assert await text_of(model) == "mocked"
    assert model.api_client is model.api_client


async def fail(status: int) -> ProviderError:
    async with FakeServer([refusal(status)]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(llm(server.url, retry_policy=ONCE))
    return caught.value


@pytest.mark.usefixtures("adk_program")
@pytest.mark.parametrize(
    ("status", "kind", "ours"),
    [(429, ClientError, ModelRateLimitError), (500, ServerError, ModelServerError)],
)
async def test_an_adk_program_catches_the_error_of_google_genai(
    status: int, kind: type[APIError], ours: type[ProviderError]
) -> None:
    error: Any = await fail(status)
    assert isinstance(error, kind) and isinstance(error, ours)
    assert (error.code, error.status, type(error).__name__) == (status, status, ours.__name__)
    assert "Google Gemini" in str(error) and str(error) in repr(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.status) == (ours, str(error), status)


async def test_other_programs_get_errors_of_ostinato_only() -> None:
    assert not isinstance(await fail(429), APIError)
