"""LLMRegistry: from a model's name to the class that serves it. LlmAgent asks it for strings.

Adapters are named as text and imported when first asked for, so that no provider's SDK is loaded
without need.
"""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from ..errors import AgentConfigError, ModelUnavailableError
from .base_llm import BaseLlm
from .providers import PROVIDERS, Provider, provider_of

_OFFLINE = "ostinato.models.offline_llm:OfflineLlm"

#: Entry points of packages that bring models: each names a subclass of BaseLlm.
ENTRY_POINTS = "ostinato.models"

_REMEDY = (
    'pass your own BaseLlm object as the agent\'s model, or use model="offline", the rule-based '
    "stand-in that needs no key."
)

_users: list[tuple[str, type[BaseLlm]]] = []


class LLMRegistry:
    """Names of models and the classes behind them (Spec 2 §5)."""

    @staticmethod
    def new_llm(model: str) -> BaseLlm:
        """Return a new model object for a name such as `gemini-2.5-flash` or `openai:gpt-5`.

        Registered classes are asked first, then the providers of this package, then the entry
        points of others.

        Raises:
          ModelUnavailableError: no class serves this name, or its SDK or key is missing; the
            message says what was tried and what to do.
        """
        known = None if _registered(model) else provider_of(model)
        if known is not None:
            provider, name = known
            _check(provider, model)
            return _load(provider.home)(model=name, **cast(dict[str, Any], provider.fields))
        return LLMRegistry.resolve(model)(model=model)

    @staticmethod
    def resolve(model: str) -> type[BaseLlm]:
        """Return the class that serves a name, whether or not its SDK and key are there.

        Raises:
          ModelUnavailableError: no class serves this name; the message says what can be done.
        """
        if (registered := _registered(model)) is not None:
            return registered
        if model == "offline":
            return _load(_OFFLINE)
        if (known := provider_of(model)) is not None:
            return _load(known[0].home)
        if (brought := _brought(model)) is not None:
            return brought
        raise ModelUnavailableError(
            _not_found(model), model=model, reason="no model of that name is known"
        )

    @staticmethod
    def register(llm_cls: type[BaseLlm]) -> None:
        """Let a class serve the names that its `supported_models()` match, before all others.

        Args:
          llm_cls: the class; its patterns are regular expressions of the whole name.

        Raises:
          AgentConfigError: the class names no pattern, or one that is no regular expression.
        """
        patterns = _patterns(llm_cls)
        _users[:] = [entry for entry in _users if entry[1] is not llm_cls]
        _users.extend((pattern, llm_cls) for pattern in patterns)

    @staticmethod
    def unregister(llm_cls: type[BaseLlm]) -> None:
        """Forget a registered class; nothing happens where it is not registered."""
        _users[:] = [entry for entry in _users if entry[1] is not llm_cls]


def _patterns(llm_cls: type[BaseLlm]) -> list[str]:
    """Return a class's patterns; raise AgentConfigError where they are of no use."""
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
    return patterns


def _registered(model: str) -> type[BaseLlm] | None:
    """Return the class that was registered last among those that serve the name."""
    found = (llm_cls for pattern, llm_cls in reversed(_users) if re.fullmatch(pattern, model))
    return next(found, None)


def _brought(model: str) -> type[BaseLlm] | None:
    """Return the class of another package that serves the name.

    Only a name that nobody else knows comes here: looking through all installed packages is slow.
    """
    for entry in entry_points(group=ENTRY_POINTS):
        llm_cls: Any = entry.load()
        if not (isinstance(llm_cls, type) and issubclass(llm_cls, BaseLlm)):
            raise AgentConfigError(
                f"The entry point {entry.name!r} of {ENTRY_POINTS!r} is {entry.value!r}, which is "
                "not a subclass of BaseLlm"
            )
        if any(re.fullmatch(pattern, model) for pattern in _patterns(llm_cls)):
            return llm_cls
    return None


def _load(home: str) -> type[BaseLlm]:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def _check(provider: Provider, model: str) -> None:
    """Raise ModelUnavailableError where a provider's SDK or key is missing."""
    lacks: list[str] = []
    if not provider.is_installed:
        lacks.append(f"its SDK is not installed: {provider.install_line}")
    if not provider.has_login:
        lacks.append(f"no key is set: put it into {' or '.join(provider.keys)}")
    if lacks:
        raise ModelUnavailableError(
            f"Model {model!r} is served by {provider.title}, but {'; and '.join(lacks)}. "
            f"Or {_REMEDY}",
            provider=provider.name,
            model=model,
            reason=provider.lack,
        )


def _not_found(model: str) -> str:
    """Say what was tried for a name that nobody serves."""
    registered = ", ".join(pattern for pattern, _ in _users) or "none"
    brought = ", ".join(entry.name for entry in entry_points(group=ENTRY_POINTS)) or "none"
    prefixes = ", ".join(f"{provider.name}:" for provider in PROVIDERS)
    return (
        f"Model {model!r} not found. Tried the registered classes ({registered}), the names of the "
        f"built-in providers and their prefixes ({prefixes}), and the entry points of "
        f"{ENTRY_POINTS!r} ({brought}). Check the spelling, put the provider's prefix in front, "
        f"or {_REMEDY}"
    )
