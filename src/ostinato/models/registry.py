"""LLMRegistry: from a model's name to the class that serves it. LlmAgent asks it for strings.

Built-in adapters are named as text and imported when first asked for, so that no provider's SDK is
loaded without need.
"""

from __future__ import annotations

import re
from importlib import import_module

from ..errors import AgentConfigError, ModelUnavailableError
from .base_llm import BaseLlm

_BUILT_IN: dict[str, str] = {
    r"offline": "ostinato.models.offline_llm:OfflineLlm",
}

# Names whose adapters are not part of this release: pattern -> who serves such models.
_KNOWN: dict[str, str] = {
    r"(models/)?gemini-.*": "Google Gemini",
    r"projects/.+/(models|endpoints)/.+": "Google Vertex AI",
    r"(models/)?gemma-.*": "Google Gemma",
    r"openai[:/].+|gpt-.*|o\d(-.*)?|chatgpt-.*": "OpenAI",
    r"anthropic[:/].+|claude-.*": "Anthropic",
    r"ollama(_chat)?[:/].+": "Ollama",
    r"litellm([:/].+)?": "LiteLLM",
}

_REMEDY = (
    'pass your own BaseLlm object as the agent\'s model, or use model="offline", the rule-based '
    "stand-in that needs no key."
)

_users: list[tuple[str, type[BaseLlm]]] = []


class LLMRegistry:
    """Names of models and the classes behind them (Spec 2 §5)."""

    @staticmethod
    def new_llm(model: str) -> BaseLlm:
        """Return a new model object for a name.

        Raises:
          ModelUnavailableError: no class serves this name.
        """
        return LLMRegistry.resolve(model)(model=model)

    @staticmethod
    def resolve(model: str) -> type[BaseLlm]:
        """Return the class that serves a name.

        Registered classes are asked first, the last one registered before the others.

        Raises:
          ModelUnavailableError: no class serves this name; the message says what can be done.
        """
        for pattern, llm_cls in reversed(_users):
            if re.fullmatch(pattern, model):
                return llm_cls
        for pattern, home in _BUILT_IN.items():
            if re.fullmatch(pattern, model):
                module, _, name = home.partition(":")
                return getattr(import_module(module), name)
        raise ModelUnavailableError(_why_not(model))

    @staticmethod
    def register(llm_cls: type[BaseLlm]) -> None:
        """Let a class serve the names that its `supported_models()` match, before all others.

        Args:
          llm_cls: the class; its patterns are regular expressions of the whole name.

        Raises:
          AgentConfigError: the class names no pattern, or one that is no regular expression.
        """
        patterns = llm_cls.supported_models()
        if not patterns:
            raise AgentConfigError(
                f"{llm_cls.__name__}.supported_models() is empty; return the patterns of the model "
                "names it serves"
            )
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise AgentConfigError(
                    f"{llm_cls.__name__}.supported_models() holds {pattern!r}, which is not a "
                    f"regular expression: {error}"
                ) from error
        _users[:] = [entry for entry in _users if entry[1] is not llm_cls]
        _users.extend((pattern, llm_cls) for pattern in patterns)

    @staticmethod
    def unregister(llm_cls: type[BaseLlm]) -> None:
        """Forget a registered class; nothing happens where it is not registered."""
        _users[:] = [entry for entry in _users if entry[1] is not llm_cls]


def _why_not(model: str) -> str:
    """Say what was tried for `model`, and what to do instead."""
    registered = [pattern for pattern, _ in _users]
    tried = f"tried the registered classes ({', '.join(registered) or 'none'})"
    for pattern, provider in _KNOWN.items():
        if re.fullmatch(pattern, model):
            return (
                f"Model {model!r} is a {provider} name, and this release has no adapter for it yet "
                f"({tried}, then the built-in ones). Until it comes, {_REMEDY}"
            )
    patterns = [*registered, *_BUILT_IN, *_KNOWN]
    return (
        f"Model {model!r} not found: it matches none of the known names "
        f"({', '.join(patterns)}). Check the spelling, or {_REMEDY}"
    )
