"""Takes secrets out of what is recorded of prompts and tools, by the names they are kept under."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

HIDDEN = "***"

_SECRET = re.compile(
    r"(api[-_]?key|access[-_]?key|private[-_]?key|secret|passw(or)?d|passphrase|token|credential"
    r"|authorization|cookie)s?$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"(max|min|num|total|prompt|output|input|count|next.?page).*tokens?$", re.IGNORECASE
)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_KEY = re.compile(r"\b((sk|pk|gsk|xai|ghp|xox[abp])[-_][\w-]{12,}|AIza[\w-]{20,})")


def redacted(value: Any) -> Any:
    """Return JSON with the values of secret names, and what looks like a key, replaced by `***`.

    Args:
      value: any JSON; it is not changed.
    """
    if isinstance(value, str):
        return _KEY.sub(HIDDEN, _BEARER.sub(HIDDEN, value))
    if isinstance(value, Mapping):
        pairs = cast(Mapping[str, Any], value).items()
        return {key: HIDDEN if _is_secret(key, inner) else redacted(inner) for key, inner in pairs}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [redacted(inner) for inner in cast(Sequence[Any], value)]
    return value


def _is_secret(key: str, value: Any) -> bool:
    """Tell whether a value is to be hidden: text under a secret's name."""
    return isinstance(value, str) and bool(_SECRET.search(key)) and not _NOT_SECRET.search(key)
