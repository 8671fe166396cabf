"""Layout of expressions as source text, formatted as ruff and black do at 88 columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 88
_STEP = "    "


@dataclass(frozen=True, slots=True)
class Item:
    """One argument, entry or key of an expression.

    Attributes:
      value: the expression, or source text that is kept unchanged.
      prefix: what stands before it: `name=` or `"key": `.
      comments: lines above it, each with its `#`.
    """

    value: Expression
    prefix: str = ""
    comments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal that may be set over several lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Items between brackets: a call_source, a list or a dict.

    Attributes:
      head: the opening bracket and what is before it, such as `LlmAgent(`.
      tail: the closing bracket.
      open: one item per line, however short.
    """

    head: str
    items: Sequence[Item]
    tail: str
    open: bool = False


Expression = str | Text | Group


def call_source(name: str, items: Sequence[Item], *, open: bool = False) -> Group:
    """Return a call."""
    return Group(f"{name}(", items, ")", open)


def list_source(values: Sequence[Expression]) -> Group:
    """Return a list."""
    return Group("[", [Item(value) for value in values], "]")


def quote_text(text: str) -> str:
    """Return a string literal on one line; double quotes unless single ones spare backslashes."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + "".join(_escape_character(one, quote) for one in text) + quote


def render_source(value: Expression, before: int = 0, depth: int = 0, after: int = 0) -> str:
    """Return the source text of an expression.

    Args:
      value: the expression.
      before: columns in front of it on its first line.
      depth: levels of indentation of the line that it begins on.
      after: columns that have to stay free behind it.
    """
    flat = _render_flat(value)
    if flat is not None and before + len(flat) + after <= WIDTH:
        return flat
    if isinstance(value, str):
        return value
    if isinstance(value, Text):
        return _long_text(value.text, depth)
    if not value.items:
        return value.head + value.tail
    inner = _STEP * (depth + 1)
    lines = [value.head]
    for item in value.items:
        lines += [inner + comment for comment in item.comments]
        columns = len(inner) + len(item.prefix)
        lines.append(f"{inner}{item.prefix}{render_source(item.value, columns, depth + 1, 1)},")
    return "\n".join([*lines, _STEP * depth + value.tail])


def _render_flat(value: Expression) -> str | None:
    """Return an expression on one line, or None if it needs several."""
    if isinstance(value, str):
        return value
    if isinstance(value, Text):
        return None if _is_block(value.text) else quote_text(value.text)
    if value.open and value.items:
        return None
    parts: list[str] = []
    for item in value.items:
        flat = _render_flat(item.value)
        if flat is None or item.comments:
            return None
        parts.append(item.prefix + flat)
    return f"{value.head}{', '.join(parts)}{value.tail}"


def _is_block(text: str) -> bool:
    """Return whether a text suits triple quotes: several lines, all characters printable."""
    return "\n" in text.rstrip("\n") and all(one == "\n" or one.isprintable() for one in text)


def _long_text(text: str, depth: int) -> str:
    if _is_block(text):
        body = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        if body.endswith('"'):
            body = f'{body[:-1]}\\"'
        return f'"""\\\n{body}"""'
    pieces = _split_text(text, WIDTH - len(_STEP) * (depth + 1))
    if len(pieces) == 1:
        return pieces[0]
    inner = "\n" + _STEP * (depth + 1)
    return f"({inner}{inner.join(pieces)}\n{_STEP * depth})"


def _split_text(text: str, width: int) -> list[str]:
    """Return literals that are the text together, broken behind spaces."""
    pieces: list[str] = []
    line = ""
    for word in re.findall(r"\S*\s*", text):
        if line and len(quote_text(line + word)) > width:
            pieces.append(quote_text(line))
            line = ""
        line += word
    return [*pieces, quote_text(line)] if line or not pieces else pieces


def _escape_character(one: str, quote: str) -> str:
    if one in (quote, "\\"):
        return f"\\{one}"
    return one if one.isprintable() else repr(one)[1:-1]
