"""Limits of what an event can hold of a tool's result."""

from __future__ import annotations

from pydantic_core import from_json

MAX_LEVELS = 180
"""Lists and dicts in each other. Readers of JSON allow 200, and the event has some of its own."""

_AROUND = 200 - MAX_LEVELS


def is_too_deep(data: bytes) -> bool:
    """Return whether a JSON text is nested more than `MAX_LEVELS` levels."""
    if data.count(b"[") + data.count(b"{") <= MAX_LEVELS:
        return False
    try:
        from_json(b"[" * _AROUND + data + b"]" * _AROUND)
    except ValueError:
        return True
    return False
