"""Redaction of secrets in recorded prompts and tool calls, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from .._secrets import is_secret_name, redact_text

HIDDEN = "***"


def redact_value(value: Any) -> Any:
    """Return JSON with the values of secret names, and what looks like a key, replaced by `***`.

    Args:
      value: any JSON; it is not changed.
    """
    if isinstance(value, str):
        return redact_text(value, HIDDEN)
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, Any], value).items()
        return {
            key: HIDDEN if _is_secret(key, inner) else redact_value(inner) for key, inner in pairs
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [redact_value(inner) for inner in cast(Sequence[Any], value)]
    return value


def _is_secret(key: str, value: Any) -> bool:
    """Return whether a value is hidden: text under a secret's name."""
    return isinstance(value, str) and is_secret_name(key)
