"""The registry: user classes first, built-in names lazily, and errors that help."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from importlib.metadata import EntryPoint

import pytest

from ostinato import models
from ostinato._adk_mode import set_follows_adk
from ostinato.agents import LlmAgent
from ostinato.errors import AgentConfigError, ModelUnavailableError
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.models.offline_llm import OfflineLlm
from ostinato.models.providers import PROVIDERS, Provider, provider_of
from ostinato.models.registry import LLMRegistry, check_model
from ostinato.runners import InMemoryRunner


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
    ("claude-unknown-name", "anthropic", "claude-unknown-name"),
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


CLASSES = [
    ("gemini:gemini-2.5-flash", "google", "gemini-2.5-flash"),
    ("Gemini:some-name", "google", "some-name"),
    ("GEMMA:gemma-x", "gemma", "gemma-x"),
    ("Claude:claude-x", "claude-vertex", "claude-x"),
    ("AnthropicLlm:claude-x", "anthropic", "claude-x"),
    ("LiteLlm:openai/x", "litellm", "openai/x"),
    ("lite:ollama_chat/x:7b", "litellm", "ollama_chat/x:7b"),
    ("OpenAILlm:gpt-5", "openai-chat", "gpt-5"),
    ("openai:gpt-5", "openai", "gpt-5"),
]


@pytest.mark.parametrize(("model", "provider", "given"), CLASSES)
def test_a_prefix_may_name_the_class(no_keys: None, model: str, provider: str, given: str) -> None:
    found = provider_of(model)
    assert found is not None
    assert (found[0].name, found[1]) == (provider, given)


@pytest.mark.parametrize("prefix", ["MineLlm", "mine", "MINE", "mineLLM"])
def test_a_prefix_may_name_a_registered_class(prefix: str) -> None:
    class MineLlm(Mine):
        pass

    LLMRegistry.register(MineLlm)
    try:
        assert LLMRegistry.resolve(f"{prefix}:gpt-4") is MineLlm
        made = LLMRegistry.new_llm(f"{prefix}:gpt-4:b")
        assert (type(made), made.model) == (MineLlm, "gpt-4:b")
        assert LLMRegistry.new_llm("mine-7").model == "mine-7"
    finally:
        LLMRegistry.unregister(MineLlm)


def test_a_prefix_may_name_a_class_of_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="mine", value=f"{__name__}:Mine", group="ostinato.models")
    monkeypatch.setattr("ostinato.models.packaged_models.entry_points", lambda group: [entry])
    monkeypatch.setattr(EntryPoint, "load", lambda self: Mine)
    made = LLMRegistry.new_llm("mine:gpt-4")
    assert (type(made), made.model) == (Mine, "gpt-4")


SLASHES = ["openai/gpt-4o", "anthropic/claude-x", "ollama/llama3", "ollama_chat/x:7b", "ai21/jamba"]


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM, and nothing else, is installed."""
    find = {"litellm": object()}.get
    monkeypatch.setattr("ostinato.models.providers.find_spec", lambda name: find(name))


@pytest.fixture
def adk_program() -> Iterator[None]:
    set_follows_adk(True)
    yield
    set_follows_adk(False)


@pytest.mark.usefixtures("litellm", "adk_program", "no_keys")
@pytest.mark.parametrize("model", SLASHES)
def test_adk_programs_get_litellm_for_names_with_a_slash(model: str) -> None:
    made = LLMRegistry.new_llm(model)
    assert (type(made).__name__, made.model) == ("LiteLlm", model)
    assert LLMRegistry.resolve(model) is type(made)


@pytest.mark.usefixtures("litellm", "adk_program")
def test_adk_programs_get_gemma_for_its_name_at_ollama() -> None:
    made = LLMRegistry.new_llm("ollama/gemma3:12b")
    assert (type(made).__name__, made.model) == ("Gemma3Ollama", "ollama/gemma3:12b")


@pytest.mark.usefixtures("litellm", "adk_program")
@pytest.mark.parametrize("model", ["openai:gpt-4o", "models/gemini-x", "apigee/gemini-x", "gpt-5"])
def test_other_names_of_adk_programs_find_their_own_provider(model: str) -> None:
    found = provider_of(model)
    assert found is not None and found[0].name != "litellm"


@pytest.mark.usefixtures("litellm")
def test_without_the_alias_names_with_a_slash_find_their_own_provider() -> None:
    found = [provider_of(model) for model in SLASHES]
    names = [one[0].name for one in found if one is not None]
    assert names == ["openai", "anthropic", "ollama", "ollama", "litellm"]


@pytest.mark.usefixtures("adk_program")
def test_without_litellm_names_with_a_slash_find_their_own_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ostinato.models.providers.find_spec", lambda name: None)
    found = provider_of("openai/gpt-4o")
    assert found is not None and (found[0].name, found[1]) == ("openai", "gpt-4o")


@pytest.mark.parametrize("model", ["openai:", "gemini:", "nobody:x", "gpt", "o", "x/y"])
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
        check_model(model)
    message = str(caught.value)
    assert message.startswith(f"Model {model!r} is served by {title}, but no key is set")
    assert key in message
    assert 'model="offline"' in message
    assert "BaseLlm" in message


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "openai:gpt-5", "claude-3-opus"])
async def test_a_model_is_made_without_a_key_which_the_first_request_asks_for(
    no_keys: None, model: str
) -> None:
    agent = LlmAgent(name="clerk", model=model)
    assert agent.canonical_model.model == model.removeprefix("openai:")
    with pytest.raises(ModelUnavailableError, match=r'_API_KEY.*api_key.*model="offline"'):
        await InMemoryRunner(agent).run_debug("Hi", quiet=True)


def test_a_missing_sdk_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setattr("ostinato.models.providers.find_spec", lambda name: None)
    assert LLMRegistry.new_llm("openai:gpt-5").model == "gpt-5"
    with pytest.raises(ModelUnavailableError) as caught:
        LLMRegistry.new_llm("gpt-realtime")
    assert "pip install 'ostinato[live]'" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_an_unknown_name_says_what_may_be_meant_and_what_to_do() -> None:
    LLMRegistry.register(Mine)
    with pytest.raises(ModelUnavailableError, match="Model gemni-2 not found") as caught:
        LLMRegistry.resolve("gemni-2")
    message = str(caught.value)
    for said in ("Did you mean 'gemini-2'?", r"mine-\d+", "openrouter:gemni-2", "offline"):
        assert said in message
    assert len(message) < 400 and "google:" not in message
    with pytest.raises(ModelUnavailableError, match="Did you mean 'openrouter:a/b-c'"):
        LLMRegistry.resolve("opnrouter:a/b-c")
    with pytest.raises(ModelUnavailableError, match=r"not found\. Check the spelling\. "):
        LLMRegistry.resolve("zzz")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("mine:x", "No provider 'mine' is known. Register a class that serves the name: by "),
        ("opnai:x", "No provider 'opnai' is known. Did you mean 'openai:x'? Or register a class "),
        ("openai:", "No name follows the prefix: write 'openai:NAME'."),
    ],
)
def test_an_unknown_prefix_is_named_with_the_ways_to_register_one(model: str, said: str) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        LLMRegistry.resolve(model)
    message = str(caught.value)
    assert message.startswith(f"Model {model} not found. {said}")
    assert "needs it in front" not in message
    assert ("group ostinato.models" in message) is not model.endswith(":")


def test_an_entry_point_serves_names_that_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="mine", value=f"{__name__}:Mine", group="ostinato.models")
    monkeypatch.setattr("ostinato.models.packaged_models.entry_points", lambda group: [entry])
    monkeypatch.setattr(EntryPoint, "load", lambda self: Mine)
    assert type(LLMRegistry.new_llm("mine-3")) is Mine
    with pytest.raises(ModelUnavailableError, match=r"Registered here: .*mine"):
        LLMRegistry.new_llm("other-3")


def test_an_entry_point_that_is_no_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="wrong", value="json:loads", group="ostinato.models")
    monkeypatch.setattr("ostinato.models.packaged_models.entry_points", lambda group: [entry])
    with pytest.raises(AgentConfigError, match=r"'wrong'.*not a subclass of BaseLlm"):
        LLMRegistry.new_llm("other-3")


def test_an_entry_point_that_cannot_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint(name="gone", value="no_such_module:GoneLlm", group="ostinato.models")
    monkeypatch.setattr("ostinato.models.packaged_models.entry_points", lambda group: [entry])
    with pytest.raises(AgentConfigError, match=r"'gone'.*cannot be imported: ModuleNotFoundError"):
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


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_every_adapter_is_importable_from_the_package(provider: Provider) -> None:
    name = provider.home.rpartition(":")[2]
    assert name in models.__all__
    assert getattr(models, name).__name__ == name


def test_adapters_are_imported_on_first_use_only() -> None:
    code = (
        "import sys; from ostinato.models import LLMRegistry\n"
        "assert 'ostinato.models.offline_llm' not in sys.modules\n"
        "LLMRegistry.resolve('offline')\n"
        "assert 'ostinato.models.offline_llm' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
