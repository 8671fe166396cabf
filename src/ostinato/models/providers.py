"""Providers: who serves which models, and what that needs. The registry builds models from this
table, the command line shows it.

A provider is chosen by a prefix (`openai:gpt-5`) or by the look of a bare name (`gpt-5`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec

from ..features.environment import is_enterprise_mode_enabled


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider of models, or one kind of server.

    Attributes:
      name: its prefix in front of `:` in a model's name.
      title: its name for people.
      home: the adapter, as "module:Class".
      extra: the extra of this package that brings its SDK.
      module: the SDK's import name.
      keys: environment variables one of which holds the key; empty where none is needed.
      logged_in: tells whether there is another way in than a key.
      names: regular expression of the names that are its own without that prefix; a group named
        `bare` holds what the adapter is given, if not all of it.
      base_url: where its servers are, where the SDK does not know.
      base_url_keys: environment variables that say otherwise.
      fields: further fields of the adapter.
    """

    name: str
    title: str
    home: str
    extra: str
    module: str
    keys: tuple[str, ...] = ()
    logged_in: Callable[[], bool] | None = None
    names: str = ""
    base_url: str | None = None
    base_url_keys: tuple[str, ...] = ()
    fields: dict[str, str] = field(default_factory=dict[str, str])

    def takes(self, model: str) -> str | None:
        """Return the name to give the adapter, or None where the model is not this provider's."""
        prefix, colon, bare = model.partition(":")
        if colon and prefix == self.name and bare:
            return bare
        match = re.fullmatch(self.names, model) if self.names else None
        if match is None:
            return None
        return match.groupdict().get("bare") or model

    @property
    def key_name(self) -> str | None:
        """The environment variable that holds a key, or None where none does."""
        return next((name for name in self.keys if os.environ.get(name)), None)

    @property
    def key(self) -> str | None:
        """The key from the environment."""
        return os.environ[self.key_name] if self.key_name else None

    @property
    def url(self) -> str | None:
        """Where its servers are; None leaves it to the SDK."""
        found = (os.environ.get(name) for name in self.base_url_keys)
        return next((url for url in found if url), self.base_url)

    @property
    def is_installed(self) -> bool:
        """Whether its SDK is installed; importing it is left to the first request."""
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # the package around it is not there
            return False

    @property
    def has_login(self) -> bool:
        """Whether a key, or another way in, is there or none is needed."""
        if not self.keys or self.key_name is not None:
            return True
        return self.logged_in is not None and self.logged_in()

    @property
    def lack(self) -> str:
        """What is missing before it can be used, in a few words; empty where nothing is."""
        lacks = (
            ("" if self.is_installed else "SDK not installed"),
            "" if self.has_login else "no key",
        )
        return ", ".join(filter(None, lacks))

    @property
    def install_line(self) -> str:
        """What to type to install what it needs."""
        return f"pip install 'ostinato[{self.extra}]'"


_CHAT = "ostinato.models.openai_llm:OpenAILlm"


def _compatible(
    name: str, title: str, base_url: str, *, keys: tuple[str, ...] = (), names: str = ""
) -> Provider:
    """Return a provider whose servers speak OpenAI's chat completions."""
    return Provider(
        name=name,
        title=title,
        home=_CHAT,
        extra="openai",
        module="openai",
        keys=keys,
        names=names,
        base_url=base_url,
        base_url_keys=(f"{name.upper()}_BASE_URL",),
        fields={"provider": name},
    )


# In the order in which names are tried.
PROVIDERS: tuple[Provider, ...] = (
    Provider(
        name="google",
        title="Google Gemini",
        home="ostinato.models.google_llm:Gemini",
        extra="google",
        module="google.genai",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        logged_in=is_enterprise_mode_enabled,
        names=(
            r"(models/)?gemini-.*|model-optimizer-.*|projects/.+/locations/.+/endpoints/.+"
            r"|projects/.+/locations/.+/publishers/google/models/gemini.+"
        ),
        base_url_keys=("GOOGLE_GEMINI_BASE_URL",),
    ),
    Provider(
        name="gemma",
        title="Google Gemma",
        home="ostinato.models.gemma_llm:Gemma",
        extra="google",
        module="google.genai",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        logged_in=is_enterprise_mode_enabled,
        names=r"(models/)?gemma-.*",
    ),
    Provider(
        name="openai",
        title="OpenAI",
        home="ostinato.models.openai_responses_llm:OpenAIResponsesLlm",
        extra="openai",
        module="openai",
        keys=("OPENAI_API_KEY",),
        names=r"openai/(?P<bare>.+)|gpt-\d.*|o\d(-.*)?|chatgpt-.*",
        base_url_keys=("OPENAI_BASE_URL",),
    ),
    Provider(
        name="openai-chat",
        title="OpenAI, chat completions",
        home=_CHAT,
        extra="openai",
        module="openai",
        keys=("OPENAI_API_KEY",),
        base_url_keys=("OPENAI_BASE_URL",),
    ),
    Provider(
        name="anthropic",
        title="Anthropic",
        home="ostinato.models.anthropic_llm:AnthropicLlm",
        extra="anthropic",
        module="anthropic",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        names=r"anthropic/(?P<bare>.+)",
        base_url_keys=("ANTHROPIC_BASE_URL",),
    ),
    Provider(
        name="claude-vertex",
        title="Claude on Vertex AI",
        home="ostinato.models.anthropic_llm:Claude",
        extra="anthropic",
        module="anthropic",
        keys=("GOOGLE_CLOUD_PROJECT",),
        names=r"projects/.+/locations/.+/publishers/anthropic/models/.+",
    ),
    _compatible(
        "ollama", "Ollama", "http://127.0.0.1:11434/v1", names=r"ollama(_chat)?/(?P<bare>.+)"
    ),
    _compatible("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
    _compatible("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    _compatible("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    _compatible(
        "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", keys=("OPENROUTER_API_KEY",)
    ),
    _compatible("groq", "Groq", "https://api.groq.com/openai/v1", keys=("GROQ_API_KEY",)),
    _compatible("deepseek", "DeepSeek", "https://api.deepseek.com", keys=("DEEPSEEK_API_KEY",)),
    _compatible("mistral", "Mistral", "https://api.mistral.ai/v1", keys=("MISTRAL_API_KEY",)),
    _compatible("xai", "xAI", "https://api.x.ai/v1", keys=("XAI_API_KEY",)),
    _compatible("compatible", "An OpenAI-compatible server", "http://127.0.0.1:8000/v1"),
    Provider(
        name="apigee",
        title="Apigee",
        home="ostinato.models.apigee_llm:ApigeeLlm",
        extra="google",
        module="google.genai",
        keys=("APIGEE_PROXY_URL",),
        names=r"apigee/.+",
    ),
    Provider(
        name="litellm",
        title="LiteLLM",
        home="ostinato.models.lite_llm:LiteLlm",
        extra="litellm",
        module="litellm",
        names=(
            r"(azure|azure_ai|bedrock|vertex_ai|gemini|groq|mistral|cohere|deepseek|xai|perplexity"
            r"|together_ai|fireworks_ai|openrouter|huggingface|databricks|sagemaker|nvidia_nim"
            r"|hosted_vllm|lm_studio|watsonx)/.+"
        ),
    ),
)

# A bare Claude name is served by the API whose login the environment holds.
_BARE_CLAUDE = re.compile(r"claude-.*")


def provider_named(name: str) -> Provider:
    """Return a provider of the table; raises KeyError where there is none."""
    return _BY_NAME[name]


def provider_of(model: str) -> tuple[Provider, str] | None:
    """Return the provider that serves a name and the name to give its adapter, or None."""
    if _BARE_CLAUDE.fullmatch(model):
        direct, vertex = _BY_NAME["anthropic"], _BY_NAME["claude-vertex"]
        return (vertex if vertex.has_login and not direct.has_login else direct), model
    for provider in PROVIDERS:
        name = provider.takes(model)
        if name is not None:
            return provider, name
    return None


_BY_NAME = {provider.name: provider for provider in PROVIDERS}
