"""Limits of what an event can hold of a tool's result."""

from __future__ import annotations

import re
from typing import Any

from pydantic_core import from_json, to_json

MAX_LEVELS = 180
"""Lists and dicts in each other. Readers of JSON allow 200, and the event has some of its own."""

_AROUND = 200 - MAX_LEVELS
# Behind an even number of backslashes; an odd one escapes the first of the six characters.
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")


def is_too_deep(data: bytes) -> bool:
    """Return whether a JSON text is nested more than `MAX_LEVELS` levels."""
    if data.count(b"[") + data.count(b"{") <= MAX_LEVELS:
        return False
    try:
        from_json(b"[" * _AROUND + data + b"]" * _AROUND)
    except ValueError:
        return True
    return False


def has_nul(data: bytes) -> bool:
    """Return whether a text or key in a JSON text holds NUL, which PostgreSQL cannot store."""
    return b"\\u0000" in data and _NUL.search(data) is not None


def replace_nul(data: bytes) -> bytes:
    """Return a JSON text with U+FFFD, the replacement character, for each NUL in it."""
    return _NUL.sub(rb"\1\\ufffd", data)


def storable_args(args: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of a call as an event can hold them; None if it cannot.

    Args:
      args: the arguments; what JSON cannot carry becomes text.
    """
    try:
        data = to_json(args, bytes_mode="base64", inf_nan_mode="null", serialize_unknown=True)
    except ValueError:  # they contain themselves
        return None
    if is_too_deep(data):
        return None
    return from_json(replace_nul(data) if has_nul(data) else data)


def without_nul(value: Any) -> Any:
    """Return a JSON value with U+FFFD for each NUL in its texts and keys."""
    data = to_json(value, inf_nan_mode="constants")
    return from_json(replace_nul(data)) if has_nul(data) else value
