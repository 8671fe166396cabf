"""LLMRegistry, which maps model names to the classes that serve them.

Adapters are imported on first use, so that no provider's SDK is loaded without need.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

from ..errors import ModelUnavailableError
from .base_llm import BaseLlm
from .packaged_models import GROUP, find_packaged_class, list_entry_names, read_patterns
from .providers import PROVIDERS, Provider, behind_class_name, provider_of

_OFFLINE = "ostinato.models.offline_llm:OfflineLlm"

_REMEDY = (
    'pass your own BaseLlm object as the agent\'s model, or use model="offline", the rule-based '
    "stand-in that needs no key."
)

_FAMILIES = ("gemini", "gemma", "gpt", "chatgpt", "claude")  # what names of models begin with

_users: list[tuple[str, type[BaseLlm]]] = []


class LLMRegistry:
    """Names of models and the classes behind them (Spec 2 §5)."""

    @staticmethod
    def new_llm(model: str) -> BaseLlm:
        """Return a new model object for a name such as `gemini-2.5-flash` or `openai:gpt-5`.

        Registered classes are asked first, then the providers of this package, then the entry
        points of others. The name of a class may stand in front of `:`, as in `MyLlm:x`; the model
        then gets the name behind it. A key is asked for at the first request.

        Raises:
          ModelUnavailableError: no class serves this name, or its SDK is missing; the message says
            what was tried and what to do.
        """
        known = None if _find_registered(model) else provider_of(model)
        if known is not None:
            provider, name = known
            if not provider.is_installed:
                raise _lacking(provider, model)
            return _load(provider.home)(model=name, **cast(dict[str, Any], provider.fields))
        llm_cls = LLMRegistry.resolve(model)
        return llm_cls(model=behind_class_name(model, llm_cls.__name__) or model)

    @staticmethod
    def resolve(model: str) -> type[BaseLlm]:
        """Return the class that serves a name, whether or not its SDK and key are there.

        Raises:
          ModelUnavailableError: no class serves this name; the message says what can be done.
        """
        if (registered := _find_registered(model)) is not None:
            return registered
        if model == "offline":
            return _load(_OFFLINE)
        if (known := provider_of(model)) is not None:
            return _load(known[0].home)
        if (packaged := find_packaged_class(model)) is not None:
            return packaged
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
        patterns = read_patterns(llm_cls)
        _users[:] = [entry for entry in _users if entry[1] is not llm_cls]
        _users.extend((pattern, llm_cls) for pattern in patterns)

    @staticmethod
    def unregister(llm_cls: type[BaseLlm]) -> None:
        """Forget a registered class; nothing happens where it is not registered."""
        _users[:] = [entry for entry in _users if entry[1] is not llm_cls]


def _find_registered(model: str) -> type[BaseLlm] | None:
    """Return the most recently registered class that serves the name, or None."""
    named = (llm_cls for _, llm_cls in reversed(_users) if _names(llm_cls, model))
    found = (llm_cls for pattern, llm_cls in reversed(_users) if re.fullmatch(pattern, model))
    return next(named, None) or next(found, None)


def _names(llm_cls: type[BaseLlm], model: str) -> bool:
    """Return whether a model name has a class name as its prefix before `:`."""
    return bool(behind_class_name(model, llm_cls.__name__))


def _load(home: str) -> type[BaseLlm]:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def check_model(model: str) -> None:
    """Check that a model's name can be used: a class serves it, and its SDK and key are there.

    Raises:
      ModelUnavailableError: something is missing; the message says what, and what to do.
    """
    LLMRegistry.resolve(model)
    known = None if _find_registered(model) else provider_of(model)
    if known is not None and known[0].lack:
        raise _lacking(known[0], model)


def _lacking(provider: Provider, model: str) -> ModelUnavailableError:
    """Return the error for a provider whose SDK or key is missing."""
    lacks: list[str] = []
    if not provider.is_installed:
        lacks.append(f"its SDK is not installed: {provider.install_line}")
    if not provider.has_login:
        lacks.append(f"no key is set: put it into {' or '.join(provider.keys)}")
    return ModelUnavailableError(
        f"Model {model!r} is served by {provider.title}, but {'; and '.join(lacks)}. Or {_REMEDY}",
        provider=provider.name,
        model=model,
        reason=provider.lack,
    )


def _not_found(model: str) -> str:
    """Return the message for a name that no class serves."""
    meant = _guess(model)
    own = [pattern for pattern, _ in _users]
    own += list_entry_names()
    parts = [
        f"Model {model} not found.",
        *_what_is_wrong(model, f"Did you mean {meant!r}?" if meant else ""),
        f"Registered here: {', '.join(own)}." if own else "",
        "`ostinato models` lists the providers.",
        f"Or {_REMEDY}",
    ]
    return " ".join(filter(None, parts))


def _what_is_wrong(model: str, guess: str) -> tuple[str, ...]:
    """Return the sentences about an unknown name: what is wrong with it, and what to write."""
    prefix, colon, bare = model.partition(":")
    if not colon:
        return (
            guess or "Check the spelling.",
            "A model whose name does not tell its provider needs it in front, as in "
            f"'openrouter:{model}'.",
        )
    if not bare:
        return (f"No name follows the prefix: write {prefix + ':NAME'!r}.",)
    return (
        f"No provider {prefix!r} is known.",
        guess,
        f"{'Or register' if guess else 'Register'} a class that serves the name: by "
        "LLMRegistry.register in a module that the agent imports, or by an entry point of the "
        f"group {GROUP}.",
    )


def _guess(model: str) -> str | None:
    """Return the name of a provider's model that a name is like, or None if it is like none."""
    known = [provider.name for provider in PROVIDERS] if ":" in model else list(_FAMILIES)
    found = re.match(r"[^:-]*", model)
    near = get_close_matches(found[0], known, 1) if found else []
    meant = f"{near[0]}{model[len(found[0]) :]}" if found and near else model
    return meant if meant != model and provider_of(meant) is not None else None
