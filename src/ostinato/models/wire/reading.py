"""Careful readings of JSON that came from outside, and signatures as text. Answers are read with
these: servers that only claim to speak a format send anything.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from .faults import BadAnswer
from .surrogates import SplitPairs, load_json

_LONGEST_SHOWN = 300  # characters of a text that is no JSON


def fields_of(value: object) -> dict[str, Any]:
    """Return an object's fields; none for anything else."""
    # No cast: this is called for each piece of a stream, several times.
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def items_of(value: object) -> list[Any]:
    """Return a list's items; none for anything else."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def text_of(value: object) -> str:
    """Return a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int | None:
    """Return a count; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def signature_bytes(text: str) -> bytes:
    """Return a thought's signature as contents hold it: APIs write its bytes as base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode()


def signature_text(signature: bytes) -> str:
    """Return a signature as an API wants it back."""
    return base64.b64encode(signature).decode()


def read_json(text: str | bytes, pairs: SplitPairs | None = None) -> dict[str, Any]:
    """Return a JSON object; `pairs` joins the surrogates of the stream that it is an event of.

    Raises:
      BadAnswer: the text holds none; its detail starts as the text does, so that a page is known
        for one.
    """
    try:
        value: Any = load_json(text, pairs)
    except (ValueError, RecursionError):
        shown = text if isinstance(text, str) else text.decode(errors="replace")
        raise BadAnswer(shown[:_LONGEST_SHOWN] or "it is empty") from None
    if not isinstance(value, dict):
        raise BadAnswer(f"no object of JSON: {json.dumps(value)[:_LONGEST_SHOWN]}")
    return value  # pyright: ignore[reportUnknownVariableType]
