"""The registry: user classes first, built-in names lazily, and errors that help."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator

import pytest

from ostinato.errors import AgentConfigError, ModelUnavailableError
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.models.offline_llm import OfflineLlm
from ostinato.models.registry import LLMRegistry


class Mine(BaseLlm):
    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"mine-\d+", r"gemini-2\.5-flash"]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse()


class Other(Mine):
    pass


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    LLMRegistry.unregister(Mine)
    LLMRegistry.unregister(Other)


def test_offline_is_built_in() -> None:
    model = LLMRegistry.new_llm("offline")
    assert type(model) is OfflineLlm
    assert model.model == "offline"


def test_a_registered_class_serves_its_names_and_wins_over_known_ones() -> None:
    LLMRegistry.register(Mine)
    assert LLMRegistry.resolve("mine-7") is Mine
    assert type(LLMRegistry.new_llm("gemini-2.5-flash")) is Mine


def test_patterns_match_whole_names() -> None:
    LLMRegistry.register(Mine)
    with pytest.raises(ModelUnavailableError):
        LLMRegistry.resolve("mine-7b")


def test_the_last_registered_class_is_asked_first() -> None:
    LLMRegistry.register(Mine)
    LLMRegistry.register(Other)
    assert LLMRegistry.resolve("mine-1") is Other
    LLMRegistry.register(Mine)
    assert LLMRegistry.resolve("mine-1") is Mine
    LLMRegistry.unregister(Mine)
    assert LLMRegistry.resolve("mine-1") is Other


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("gemini-2.5-flash", "Gemini"),
        ("openai:gpt-4o", "OpenAI"),
        ("gpt-4o-mini", "OpenAI"),
        ("anthropic:claude-x", "Anthropic"),
        ("claude-3-opus", "Anthropic"),
        ("ollama:llama3", "Ollama"),
        ("litellm:groq/x", "LiteLLM"),
    ],
)
def test_known_names_say_that_the_adapter_is_missing(model: str, provider: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        LLMRegistry.new_llm(model)
    message = str(caught.value)
    assert repr(model) in message
    assert provider in message
    assert 'model="offline"' in message
    assert "BaseLlm" in message


def test_an_unknown_name_lists_what_is_known() -> None:
    LLMRegistry.register(Mine)
    with pytest.raises(ModelUnavailableError, match="Model 'gemni-2' not found") as caught:
        LLMRegistry.resolve("gemni-2")
    assert r"mine-\d+" in str(caught.value)
    assert "offline" in str(caught.value)
    assert "gemini-" in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_class_without_patterns_is_refused() -> None:
    class Silent(Mine):
        @classmethod
        def supported_models(cls) -> list[str]:
            return []

    class Broken(Mine):
        @classmethod
        def supported_models(cls) -> list[str]:
            return ["("]

    with pytest.raises(AgentConfigError, match=r"Silent.supported_models\(\) is empty"):
        LLMRegistry.register(Silent)
    with pytest.raises(AgentConfigError, match=r"Broken.*not a regular expression"):
        LLMRegistry.register(Broken)


def test_adapters_are_imported_on_first_use_only() -> None:
    code = (
        "import sys; from ostinato.models import LLMRegistry\n"
        "assert 'ostinato.models.offline_llm' not in sys.modules\n"
        "LLMRegistry.resolve('offline')\n"
        "assert 'ostinato.models.offline_llm' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
