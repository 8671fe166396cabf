"""Forms: fills a response schema with what the offline model knows in a turn."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from .answers import from_hearsay, from_results
from .arguments import fill
from .facts import Facts
from .reading import Reading, ToolView
from .schema import Param, fields_of, param_of
from .values import closest, same_named
from .words import plain_words

_WORDY = frozenset(
    "answer summary text message description explanation reason comment content result report"
    " details title response output".split()
)
_FENCED = re.compile(r"\{.*\}", re.DOTALL)


def answer_as(reading: Reading, schema: dict[str, Any]) -> Any:
    """Return a value that follows a JSON schema."""
    if schema.get("type") == "object" or schema.get("properties"):
        return fields_as(reading, fields_of(schema))
    param = param_of(schema)
    return _value(reading, param, None)


def fields_as(reading: Reading, fields: tuple[Param, ...]) -> dict[str, Any]:
    """Return values for the fields of an object.

    Each comes, in this order, from results, from JSON that another agent said, from the message,
    or, if required, is empty.
    """
    said = _said_as_json(reading)
    filled = fill(ToolView("", "", fields), [Facts(reading.message)], []).args
    values: dict[str, Any] = {}
    for param in fields:
        known = said.get(param.name, filled.get(param.name))
        value = _value(reading, param, known)
        if value is not None or param.required:
            values[param.name] = value
    return values


def _value(reading: Reading, param: Param, known: Any) -> Any:
    if param.name and not param.enum:
        found = same_named(param.name, reading.results)
        found = closest(param.name, reading.results) if found is None else found
        if (value := _as_kind(found, param)) is not None:
            return value
    if (value := _as_kind(known, param)) is not None:
        return value
    if not param.required or param.nullable:
        return None
    return _empty(reading, param)


def _as_kind(value: Any, param: Param) -> Any:
    """Return a value that is, or can be read as, what a field holds; else None."""
    if value is None:
        return None
    if param.enum:
        return next((choice for choice in param.enum if choice == str(value)), None)
    match param.kind:
        case "string":
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        case "boolean":
            return value if isinstance(value, bool) else None
        case "integer":
            return int(value) if isinstance(value, (int, float)) else None
        case "number":
            return value if isinstance(value, (int, float)) else None
        case "array":
            return _as_list(value, param)
        case _:
            return cast(Any, value) if isinstance(value, dict) else None


def _as_list(value: Any, param: Param) -> list[Any] | None:
    if not isinstance(value, list) or param.item is None or param.item.kind == "object":
        return None
    items = [_as_kind(item, param.item) for item in cast(list[Any], value)]
    return None if any(item is None for item in items) else items


def _empty(reading: Reading, param: Param) -> Any:
    if param.enum:
        named = [choice for choice in param.enum if choice.lower() in reading.message.lower()]
        return (named or list(param.enum))[0]
    match param.kind:
        case "string":
            wordy = not param.name or _WORDY & set(plain_words(param.name))
            return (_all_that_is_known(reading) if wordy else "") or "unknown"
        case "boolean":
            return False
        case "integer" | "number":
            return 0
        case "array":
            return []
        case _:
            return fields_as(reading, param.fields)


def _all_that_is_known(reading: Reading) -> str:
    return from_results(reading) or from_hearsay(reading) or reading.message.strip()


def _said_as_json(reading: Reading) -> dict[str, Any]:
    """Return the object that the message or another agent's words hold as JSON, if any."""
    for text in (*(text for _, text in reversed(reading.heard)), reading.message):
        match = _FENCED.search(text)
        try:
            value = json.loads(match.group()) if match else None
        except ValueError:
            continue
        if isinstance(value, dict):
            return cast(dict[str, Any], value)
    return {}
