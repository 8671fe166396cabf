"""The registry: user classes first, built-in names lazily, and errors that help."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from importlib.metadata import EntryPoint

import pytest

from ostinato.errors import AgentConfigError, ModelUnavailableError
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.models.offline_llm import OfflineLlm
from ostinato.models.providers import PROVIDERS, provider_of
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


NAMES = [
    ("gemini-2.5-flash", "google", "gemini-2.5-flash"),
    ("models/gemini-2.5-flash", "google", "models/gemini-2.5-flash"),
    ("google:gemini-2.5-flash", "google", "gemini-2.5-flash"),
    ("projects/p/locations/l/endpoints/7", "google", "projects/p/locations/l/endpoints/7"),
    ("gemma-3-27b-it", "gemma", "gemma-3-27b-it"),
    ("gemma-4-31b-it", "google", "gemma-4-31b-it"),
    ("openai:gpt-5", "openai", "gpt-5"),
    ("openai/gpt-5", "openai", "gpt-5"),
    ("gpt-5-mini", "openai", "gpt-5-mini"),
    ("o3", "openai", "o3"),
    ("openai-chat:gpt-5", "openai-chat", "gpt-5"),
    ("anthropic:claude-x", "anthropic", "claude-x"),
    ("anthropic/claude-x", "anthropic", "claude-x"),
    ("claude-3-opus", "anthropic", "claude-3-opus"),
    ("ollama:llama3.2", "ollama", "llama3.2"),
    ("ollama:library/llama3.2:1b", "ollama", "library/llama3.2:1b"),
    ("ollama_chat/llama3.2", "ollama", "llama3.2"),
    ("vllm:Qwen/Qwen3", "vllm", "Qwen/Qwen3"),
    ("groq:llama", "groq", "llama"),
    ("groq/llama", "litellm", "groq/llama"),
    ("litellm:bedrock/x", "litellm", "bedrock/x"),
    ("apigee/gemini/v1/gemini-2.5-flash", "apigee", "apigee/gemini/v1/gemini-2.5-flash"),
]


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        for name in provider.keys:
            monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("model", "provider", "given"), NAMES)
def test_a_name_finds_its_provider(no_keys: None, model: str, provider: str, given: str) -> None:
    found = provider_of(model)
    assert found is not None
    assert (found[0].name, found[1]) == (provider, given)


@pytest.mark.parametrize("model", ["openai:", "nobody:x", "gpt", "o", "x/y"])
def test_other_names_find_none(model: str) -> None:
    assert provider_of(model) is None


def test_a_bare_claude_goes_where_the_login_is(
    no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def served_by() -> str:
        found = provider_of("claude-sonnet-4-5")
        assert found is not None
        return found[0].name

    assert served_by() == "anthropic"
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    assert served_by() == "claude-vertex"
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert served_by() == "anthropic"


@pytest.mark.parametrize(
    ("model", "title", "key"),
    [
        ("gemini-2.5-flash", "Google Gemini", "GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("openai:gpt-5", "OpenAI", "OPENAI_API_KEY"),
        ("claude-3-opus", "Anthropic", "ANTHROPIC_API_KEY"),
        ("groq:llama", "Groq", "GROQ_API_KEY"),
    ],
)
def test_a_missing_key_is_named(no_keys: None, model: str, title: str, key: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        LLMRegistry.new_llm(model)
    message = str(caught.value)
    assert message.startswith(f"Model {model!r} is served by {title}, but no key is set")
    assert key in message
    assert 'model="offline"' in message
    assert "BaseLlm" in message


def test_a_missing_sdk_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr("ostinato.models.providers.find_spec", lambda name: None)
    with pytest.raises(ModelUnavailableError) as caught:
        LLMRegistry.new_llm("openai:gpt-5")
    assert "pip install 'ostinato[openai]'" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_an_unknown_name_lists_what_was_tried() -> None:
    LLMRegistry.register(Mine)
    with pytest.raises(ModelUnavailableError, match="Model 'gemni-2' not found") as caught:
        LLMRegistry.resolve("gemni-2")
    message = str(caught.value)
    for tried in (r"mine-\d+", "google:", "ollama:", "ostinato.models", "offline"):
        assert tried in message
    assert isinstance(caught.value, ValueError)


def test_an_entry_point_serves_names_that_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="mine", value=f"{__name__}:Mine", group="ostinato.models")
    monkeypatch.setattr("ostinato.models.registry.entry_points", lambda group: [entry])
    monkeypatch.setattr(EntryPoint, "load", lambda self: Mine)
    assert type(LLMRegistry.new_llm("mine-3")) is Mine
    with pytest.raises(ModelUnavailableError, match=r"entry points of 'ostinato.models' \(mine\)"):
        LLMRegistry.new_llm("other-3")


def test_an_entry_point_that_is_no_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="wrong", value="json:loads", group="ostinato.models")
    monkeypatch.setattr("ostinato.models.registry.entry_points", lambda group: [entry])
    with pytest.raises(AgentConfigError, match=r"'wrong'.*not a subclass of BaseLlm"):
        LLMRegistry.new_llm("other-3")


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
