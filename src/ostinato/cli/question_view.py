"""View of a question to the person at the terminal, and of the answer it expects."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, cast

from ..errors import InvalidAnswerError
from ..events.pending import Pending
from ..hosting.input_answers import read_answer
from .call_view import Line, origin_line, said_lines
from .escape import exact_json, fold, reveal

_MESSAGE_LINES = 12
_DEEPEST = 5  # levels of a draft
_MOST_FIELDS = 1_000  # of a draft; references may name the same fields again and again

_WANTED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "array": "a JSON list",
    "object": "a JSON object",
}
_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False}


def question_lines(one: Pending, width: int) -> list[Line]:
    """Return the lines that show who asks a question, the question, and its payload."""
    lines: list[str] = []
    cut = 0
    for line in reveal(one.message or "It asks for input.", "\n").splitlines():
        folded, _ = fold(line, max(width - 4, 20))
        lines += folded
    if len(lines) > _MESSAGE_LINES:
        cut = len(lines) - _MESSAGE_LINES
        lines = lines[:_MESSAGE_LINES]
    origin = origin_line(one, width)
    found: list[Line] = [origin] if origin else []
    found += [(("  │ ", "dim"), line) for line in lines]
    if cut:
        found.append(((f"    … {cut:,} more lines", "yellow"),))
    if one.payload is not None:
        found += said_lines("about", exact_json(one.payload), width)
    return found


def takes_object(schema: dict[str, Any] | None) -> bool:
    """Return whether a schema asks for an object or a list, which is written as JSON."""
    return _kind_of(_resolve_schema(schema or {}, schema or {})) in ("object", "array")


def draft_of(schema: dict[str, Any]) -> Any:
    """Return a draft of an answer: every field of a schema, with its default or empty."""
    return _draft_value(schema, schema, 0, itertools.count())


def wanted_text(schema: dict[str, Any] | None) -> str:
    """Return what a schema asks for, in brackets; empty without a schema."""
    if schema is None:
        return ""
    found = _resolve_schema(schema, schema)
    choices = found.get("enum")
    if isinstance(choices, list) and choices:
        listed = ", ".join(exact_json(one) for one in cast("list[Any]", choices))
        return f" ({fold(listed, 60, 1)[0][0]})"
    wanted = _WANTED.get(_kind_of(found), "")
    return f" ({wanted})" if wanted else ""


def answer_problem(one: Pending, words: str) -> str:
    """Return what is wrong with an answer, or an empty text."""
    try:
        read_answer(one, words)
    except InvalidAnswerError as error:
        return reveal(str(error))
    return ""


def _resolve_schema(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """Return the schema behind a reference, or behind the only choice beside null."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        choices = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(reference, str):
            named = cast("dict[str, Any]", root.get("$defs") or {})
            found: Any = named.get(reference.rpartition("/")[2])
        elif isinstance(choices, list):
            each = cast("list[dict[str, Any]]", choices)
            rest = [one for one in each if _kind_of(one) != "null"]
            found = rest[0] if len(rest) == 1 else None
        else:
            break
        if not isinstance(found, dict):
            return {}
        schema = cast("dict[str, Any]", found)
    return schema


def _kind_of(schema: Any) -> str:
    kind: Any = cast("dict[str, Any]", schema).get("type") if isinstance(schema, dict) else None
    return kind.lower() if isinstance(kind, str) else ""


def _draft_value(schema: Any, root: dict[str, Any], depth: int, drafted: Iterator[int]) -> Any:
    if not isinstance(schema, dict) or next(drafted) > _MOST_FIELDS:
        return None  # a schema may be a boolean
    schema = cast("dict[str, Any]", schema)
    if "default" in schema:
        return schema["default"]
    found = _resolve_schema(schema, root)
    if "default" in found:
        return found["default"]
    choices = found.get("enum")
    if isinstance(choices, list) and choices:
        return cast("list[Any]", choices)[0]
    kind = _kind_of(found)
    if kind == "object" and depth < _DEEPEST:
        fields: Any = found.get("properties")
        if not isinstance(fields, dict):
            return {}
        return {
            name: _draft_value(one, root, depth + 1, drafted)
            for name, one in cast("dict[str, dict[str, Any]]", fields).items()
        }
    return [] if kind == "array" else _EMPTY.get(kind)
