"""Short, terminal-safe forms of JSON values and texts."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from .escape import exact_json, label

SIGN = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
"""Stands before what the user says."""

# Control characters (but for tab and newline), marks that turn the direction of writing, tags, and
# characters that are drawn as nothing or as a blank. Those that join letters or choose the look of
# an emoji stay: texts need them.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def safe(text: str) -> str:
    """Return a text without characters that control a terminal or cannot be encoded."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def as_json(value: Any) -> str:
    """Return a value as one line of JSON without hidden characters."""
    return exact_json(value)


def cut(text: str, length: int) -> str:
    """Return at most `length` characters of a text; a cut text ends with an ellipsis."""
    return text if len(text) <= length else text[: max(length - 1, 1)].rstrip() + "…"


def one_line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(safe(text).split())


def call_text(name: str, args: dict[str, Any] | None) -> str:
    """Return a call as Python would write it: `name(city="Rome", days=2)`."""
    pairs = ", ".join(f"{label(key)}={as_json(value)}" for key, value in (args or {}).items())
    return f"{label(name)}({pairs})"


def result_text(response: dict[str, Any] | None) -> str:
    """Return a tool's response: the bare value of `result`, or `key: value` for one key."""
    if not response or response == {"result": None}:
        return ""
    if len(response) > 1:
        return as_json(response)
    ((key, value),) = response.items()
    shown = safe(value) if isinstance(value, str) else as_json(value)
    return shown if key == "result" else f"{label(key)}: {shown}"


def block(text: str, width: int | None, most: int | None) -> list[str]:
    """Break a text into lines.

    Args:
      width: longest line, in characters; None does not break.
      most: number of lines to keep; None keeps all.
    """
    lines: list[str] = []
    for line in text.rstrip().splitlines() or [""]:
        if width is None or len(line) <= width:
            lines.append(line)
        else:
            lines += textwrap.wrap(
                line, width, drop_whitespace=True, break_on_hyphens=False, replace_whitespace=False
            )
    if most is None or len(lines) <= most:
        return lines
    hidden = len(lines) - most
    more = f"… {hidden} more line{'s' if hidden > 1 else ''}; --verbose shows all"
    return [*lines[:most], more]
