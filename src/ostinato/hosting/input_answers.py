"""Answers to requests for input: parsed from text and checked against the request's schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from ..errors import InvalidAnswerError
from ..events.pending import Pending
from ..tools.json_fit import parse_answer

_WORDS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
_DEEPEST = 20  # references and choices of a schema that are followed


def read_answer(pending: Pending, words: str) -> dict[str, Any]:
    """Return the response that a person's text stands for.

    With a schema, text that fits it is used unchanged, other text is parsed as JSON, and `yes` and
    `no` answer a question for a boolean. Without a schema, JSON becomes its value.

    Args:
      pending: the request for input.
      words: what the person wrote.

    Raises:
      InvalidAnswerError: the words do not fit the schema.
    """
    schema = pending.response_schema
    if schema is None:
        return as_response(json_or_text(words))
    value: Any = words
    decided = _WORDS.get(words.strip().lower().rstrip(".!"))
    if decided is not None and _is_boolean(schema):
        value = decided
    return {"result": _fit_answer(pending, {"result": value})}


def check_answer(pending: Pending, response: dict[str, Any]) -> None:
    """Check a response to a request for input against its schema.

    Raises:
      InvalidAnswerError: it does not fit.
    """
    if pending.response_schema is not None:
        _fit_answer(pending, response)


def as_response(value: Any) -> dict[str, Any]:
    """Return a value as the response of a call: an object unchanged, else `{"result": value}`."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {"result": value}


def open_requests(pending: Iterable[Pending]) -> list[Pending]:
    """Return the requests for input among the calls that wait."""
    return [one for one in pending if one.kind == "input"]


def _fit_answer(pending: Pending, response: dict[str, Any]) -> Any:
    try:
        return parse_answer(response, pending.response_schema)
    except ValueError as error:
        problem = f"The answer does not match the requested schema: {error}."
    except (AttributeError, KeyError, TypeError, RecursionError):
        # The schema itself is broken (a model may have written it), so no answer could fit it.
        return response["result"] if set(response) == {"result"} else response
    # Raised without its cause: the message is for the person and must not quote foreign code.
    raise InvalidAnswerError(problem)


def _is_boolean(schema: dict[str, Any]) -> bool:
    """Return whether a schema takes booleans and no text."""
    try:
        types = _types_of(schema, schema)
    except (AttributeError, TypeError):  # a broken schema
        return False
    return "boolean" in types and "string" not in types


def _types_of(schema: dict[str, Any], root: dict[str, Any], depth: int = 0) -> set[str]:
    """Return the names of the JSON types that a schema names, those of its choices included."""
    if depth > _DEEPEST:
        return set()
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found: Any = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        return _types_of(cast("dict[str, Any]", found), root, depth + 1)
    kinds: Any = schema.get("type") or []
    named = {str(kind).lower() for kind in ([kinds] if isinstance(kinds, str) else kinds)}
    for choice in schema.get("anyOf") or schema.get("oneOf") or ():
        named |= _types_of(choice, root, depth + 1)
    return named


def json_or_text(words: str, *, unique_keys: bool = False) -> Any:
    """Return the value of a JSON text, or the text itself if it is not JSON.

    Args:
      words: the text.
      unique_keys: whether an object that has a key twice is no JSON: it contradicts itself.
    """
    try:
        return read_json(words, unique_keys=unique_keys)
    except ValueError:
        return words


def read_json(words: str, *, unique_keys: bool = True) -> Any:
    """Return the value of a JSON text; the arguments are those of `json_or_text`.

    Raises:
      ValueError: the text is not JSON.
    """
    hook = _unique_object if unique_keys else None
    try:
        return json.loads(words, parse_constant=_refuse_constant, object_pairs_hook=hook)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")
