"""Merging of the parts of `allOf` into one schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

_WORDS = ("title", "description", "default", "example", "examples", "deprecated")
_LARGEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_SMALLEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_NESTED = ("items", "additionalProperties")


def merge_schemas(schemas: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return one schema that accepts what all the given ones accept.

    Titles and descriptions are those of the last schema that has one.

    Returns:
      The schema, or None if one schema cannot say it.
    """
    merged: dict[str, Any] = {}
    for schema in schemas:
        for name, value in schema.items():
            if name not in merged:
                merged[name] = value
            elif merged[name] != value and not _merge_field(merged, name, value):
                return None
    return merged


def _merge_field(merged: dict[str, Any], name: str, value: Any) -> bool:
    """Merge a value that differs into a schema; return whether that could be done."""
    old = merged[name]
    if name in _WORDS:
        merged[name] = value
    elif name == "required":
        merged[name] = list(dict.fromkeys([*old, *value]))
    elif name == "properties":
        return _merge_properties(merged, value)
    elif name == "type":
        both = [kind for kind in _as_list(old) if kind in _as_list(value)]
        both = both or _narrow(_as_list(old), _as_list(value))
        merged[name] = both[0] if len(both) == 1 else both
        return bool(both)
    elif name == "enum":
        merged[name] = [one for one in old if one in value]
        return bool(merged[name])
    elif name in _LARGEST:
        merged[name] = max(old, value)
    elif name in _SMALLEST:
        merged[name] = min(old, value)
    elif name in _NESTED:
        return _merge_nested(merged, name, value)
    elif name in ("uniqueItems", "readOnly", "writeOnly"):
        merged[name] = old or value
    else:
        return False
    return True


def _merge_properties(merged: dict[str, Any], value: dict[str, Any]) -> bool:
    both = dict(merged["properties"])
    for name, schema in value.items():
        old = both.get(name, schema)
        both[name] = schema if old == schema else merge_schemas([old, schema])
        if both[name] is None:
            both[name] = {"allOf": [old, schema]}
    merged["properties"] = both
    return True


def _merge_nested(merged: dict[str, Any], name: str, value: Any) -> bool:
    old = merged[name]
    if isinstance(old, bool) or isinstance(value, bool):
        if old is False or value is False:
            merged[name] = False
        else:
            merged[name] = value if old is True else old
        return True
    merged[name] = merge_schemas([old, value]) or {"allOf": [old, value]}
    return True


def _as_list(kind: Any) -> list[str]:
    return cast("list[str]", kind) if isinstance(kind, list) else [kind]


def _narrow(first: list[str], second: list[str]) -> list[str]:
    """Return the common types of two lists that name integers and numbers."""
    pair = {*first, *second} - {"null"}
    return ["integer"] if pair == {"integer", "number"} else []
