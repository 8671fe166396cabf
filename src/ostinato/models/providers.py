"""The table of model providers: their models, adapters and requirements. The registry builds models
from this table; the command line shows it.

A provider is chosen by a prefix (`openai:gpt-5`), by its adapter's class as one (`Gemini:name`), or
by the look of a bare name (`gpt-5`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from .._adk_mode import follows_adk
from ..features.environment import is_enterprise_mode_enabled


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider of models, or one kind of server.

    Attributes:
      name: its prefix in front of `:` in a model's name.
      title: its name for people.
      home: the adapter, as "module:Class".
      extra: the extra of this package that it needs; empty if a plain install serves it.
      module: the import name of what the extra brings.
      keys: environment variables one of which holds the key; empty if there is no key.
      needs_key: whether it refuses requests without a key; servers of your own may take them.
      logged_in: returns whether another login than a key is available.
      names: regular expression of the names that are its own without that prefix; a group named
        `bare` holds what the adapter is given, if not all of it.
      base_url: where its servers are; None if the adapter knows.
      base_url_keys: environment variables that say otherwise.
      header_keys: further headers of each request, and the environment variables that hold them.
      fields: further fields of the adapter.
    """

    name: str
    title: str
    home: str
    extra: str = ""
    module: str = ""
    keys: tuple[str, ...] = ()
    needs_key: bool = True
    logged_in: Callable[[], bool] | None = None
    names: str = ""
    base_url: str | None = None
    base_url_keys: tuple[str, ...] = ()
    header_keys: dict[str, str] = field(default_factory=dict[str, str])
    fields: dict[str, str] = field(default_factory=dict[str, str])

    def takes(self, model: str) -> str | None:
        """Return the model name for the adapter, or None if another provider serves it."""
        prefix, colon, bare = model.partition(":")
        if colon and prefix == self.name and bare:
            return bare
        match = re.fullmatch(self.names, model) if self.names else None
        if match is None:
            return None
        return match.groupdict().get("bare") or model

    @property
    def key_name(self) -> str | None:
        """The environment variable that holds a key, or None if none is set."""
        return next((name for name in self.keys if os.environ.get(name)), None)

    @property
    def key(self) -> str | None:
        """The key from the environment."""
        return os.environ[self.key_name] if self.key_name else None

    @property
    def url_name(self) -> str | None:
        """The environment variable that holds the base URL, or None if none is set."""
        return next((name for name in self.base_url_keys if os.environ.get(name)), None)

    @property
    def url(self) -> str | None:
        """The base URL of its servers, or None if the adapter knows it."""
        return os.environ[self.url_name] if self.url_name else self.base_url

    @property
    def headers(self) -> dict[str, str]:
        """The further headers of each request, as far as the environment holds them."""
        found = ((header, os.environ.get(name)) for header, name in self.header_keys.items())
        return {header: value for header, value in found if value}

    @property
    def is_installed(self) -> bool:
        """Whether what it needs is installed; importing it is left to the first request."""
        if not self.module:
            return True
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # the package around it is not there
            return False

    @property
    def has_login(self) -> bool:
        """Whether a key or another login is available, or none is needed."""
        if not (self.keys and self.needs_key) or self.key_name is not None:
            return True
        return self.logged_in is not None and self.logged_in()

    @property
    def lack(self) -> str:
        """A short description of what is missing before it can be used, or ''."""
        lacks = (
            ("" if self.is_installed else f"{self.module} not installed"),
            "" if self.has_login else "no key",
        )
        return ", ".join(filter(None, lacks))

    @property
    def install_line(self) -> str:
        """The command that installs what it needs."""
        return f"pip install 'ostinato[{self.extra}]'"


_OPENAI_ACCOUNT = {
    "openai-organization": "OPENAI_ORG_ID",
    "openai-project": "OPENAI_PROJECT_ID",
}


def _has_aws_login() -> bool:
    """Return whether botocore, which signs requests, would find a login."""
    if find_spec("botocore") is None:
        return False
    names = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE")
    if any(map(os.environ.get, (*names, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"))):
        return True
    file = os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")
    return os.path.exists(os.path.expanduser(file))


_CHAT = "ostinato.models.openai_llm:OpenAILlm"


def _compatible(
    name: str, title: str, base_url: str, *, keys: tuple[str, ...] = (), names: str = ""
) -> Provider:
    """Return a provider whose servers speak OpenAI's chat completions.

    Without `keys` it is a server of the user's own, which may have a key.
    """
    return Provider(
        name=name,
        title=title,
        home=_CHAT,
        keys=keys or (f"{name.upper()}_API_KEY",),
        needs_key=bool(keys),
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
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        logged_in=is_enterprise_mode_enabled,
        names=(
            r"(models/)?(gemini-|gemma-4).*|model-optimizer-.*|projects/.+/locations/.+/endpoints/.+"
            r"|projects/.+/locations/.+/publishers/google/models/gemini.+"
        ),
        base_url_keys=("GOOGLE_GEMINI_BASE_URL",),
    ),
    Provider(
        name="gemma",
        title="Google Gemma",
        home="ostinato.models.gemma_llm:Gemma",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        logged_in=is_enterprise_mode_enabled,
        names=r"(models/)?gemma-(?!4).*",
    ),
    Provider(
        name="openai",
        title="OpenAI",
        home="ostinato.models.openai_responses_llm:OpenAIResponsesLlm",
        keys=("OPENAI_API_KEY",),
        names=r"openai/(?P<bare>.+)|gpt-\d.*|o\d(-.*)?|chatgpt-.*",
        base_url="https://api.openai.com/v1",
        base_url_keys=("OPENAI_BASE_URL",),
        header_keys=_OPENAI_ACCOUNT,
    ),
    Provider(
        name="openai-chat",
        title="OpenAI, chat completions",
        home=_CHAT,
        keys=("OPENAI_API_KEY",),
        base_url="https://api.openai.com/v1",
        base_url_keys=("OPENAI_BASE_URL",),
        header_keys=_OPENAI_ACCOUNT,
    ),
    Provider(
        name="openai-realtime",
        title="OpenAI Realtime",
        home="ostinato.models.openai_realtime_llm:OpenAIRealtimeLlm",
        extra="live",
        module="websockets",
        keys=("OPENAI_API_KEY",),
        names=r"gpt-realtime.*|gpt-4o(-mini)?-realtime.*",
        base_url="https://api.openai.com/v1",
        base_url_keys=("OPENAI_BASE_URL",),
        header_keys=_OPENAI_ACCOUNT,
    ),
    Provider(
        name="anthropic",
        title="Anthropic",
        home="ostinato.models.anthropic_llm:AnthropicLlm",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        names=r"anthropic/(?P<bare>.+)",
        base_url_keys=("ANTHROPIC_BASE_URL",),
    ),
    Provider(
        name="claude-vertex",
        title="Claude on Vertex AI",
        home="ostinato.models.anthropic_llm:Claude",
        extra="vertex",
        module="google.auth",
        keys=("GOOGLE_CLOUD_PROJECT",),
        names=r"projects/.+/locations/.+/publishers/anthropic/models/.+",
    ),
    Provider(
        name="bedrock",
        title="Amazon Bedrock",
        home="ostinato.models.bedrock_llm:BedrockLlm",
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        logged_in=_has_aws_login,
        names=r"((us|eu|apac|au|ca|jp|global|us-gov)\.)?[a-z0-9]+\.[a-z0-9.-]+-v\d+(:\d+)?",
        base_url_keys=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
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
    _compatible(
        "together", "Together AI", "https://api.together.xyz/v1", keys=("TOGETHER_API_KEY",)
    ),
    _compatible(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        keys=("FIREWORKS_API_KEY",),
    ),
    _compatible("cerebras", "Cerebras", "https://api.cerebras.ai/v1", keys=("CEREBRAS_API_KEY",)),
    _compatible(
        "cohere",
        "Cohere",
        "https://api.cohere.ai/compatibility/v1",
        keys=("COHERE_API_KEY", "CO_API_KEY"),
    ),
    Provider(
        name="azure",
        title="Azure OpenAI",
        home="ostinato.models.azure_openai_llm:AzureOpenAILlm",
        keys=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
        base_url_keys=("AZURE_OPENAI_ENDPOINT",),
    ),
    _compatible("compatible", "An OpenAI-compatible server", "http://127.0.0.1:8000/v1"),
    Provider(
        name="apigee",
        title="Apigee",
        home="ostinato.models.apigee_llm:ApigeeLlm",
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
            r"(ai21|azure|azure_ai|bedrock|vertex_ai|gemini|groq|mistral|cohere|deepseek|xai"
            r"|perplexity|together_ai|fireworks_ai|openrouter|huggingface|databricks|sagemaker"
            r"|nvidia_nim|hosted_vllm|lm_studio|watsonx)/.+"
        ),
    ),
)

# A bare Claude name is served by the API whose login the environment holds.
_BARE_CLAUDE = re.compile(r"claude-.*")

# Programs written for google-adk set up LiteLLM for these: keys, proxies, callbacks.
_SLASHED = re.compile(r"(openai|anthropic|ollama|ollama_chat)/.+")


def provider_named(name: str) -> Provider:
    """Return a provider of the table; raise KeyError if the name is unknown."""
    return _BY_NAME[name]


def provider_of(model: str) -> tuple[Provider, str] | None:
    """Return the provider that serves a name and the name to give its adapter, or None."""
    if _BARE_CLAUDE.fullmatch(model):
        direct, vertex = _BY_NAME["anthropic"], _BY_NAME["claude-vertex"]
        return (vertex if vertex.has_login and not direct.has_login else direct), model
    if follows_adk() and _SLASHED.fullmatch(model) and _BY_NAME["litellm"].is_installed:
        gemma = model.startswith("ollama/gemma3")
        return (_GEMMA_OLLAMA if gemma else _BY_NAME["litellm"]), model
    for provider in PROVIDERS:
        name = provider.takes(model)
        if name is not None:
            return provider, name
    for provider in PROVIDERS:
        bare = behind_class_name(model, provider.home.rpartition(":")[2])
        if bare:
            return provider, bare
    return None


def behind_class_name(model: str, class_name: str) -> str | None:
    """Return what follows the name of a class in front of `:`, or None if another prefix is there.

    The name counts in any case, with its ending `Llm` or without it.
    """
    prefix, colon, bare = model.partition(":")
    names = (class_name.lower(), class_name.lower().removesuffix("llm"))
    return bare if colon and prefix and prefix.lower() in names else None


_BY_NAME = {provider.name: provider for provider in PROVIDERS}

#: A server that is known by its `base_url` alone: no key of the environment is meant for it.
UNNAMED_SERVER = replace(_BY_NAME["compatible"], keys=(), base_url_keys=())
_GEMMA_OLLAMA = replace(_BY_NAME["litellm"], home="ostinato.models.gemma_llm:Gemma3Ollama")
