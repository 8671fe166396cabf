"""JSON schemas as the offline model reads them: parameters of tools and fields of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from pydantic import TypeAdapter

from ... import types

_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a tool, or one field of an answer; `kind` is its JSON type."""

    name: str
    kind: str
    required: bool
    enum: tuple[Any, ...]
    schema: dict[str, Any]


def read_schema(schema: Any) -> dict[str, Any]:
    """Return a class, a Schema record or a dict as a JSON schema without references."""
    if isinstance(schema, types.Schema):
        schema = schema.model_dump(mode="json", exclude_none=True)
    elif not isinstance(schema, dict):
        schema = TypeAdapter[Any](schema).json_schema()
    found = cast(dict[str, Any], schema)
    return _expand(found, found.get("$defs") or found.get("defs") or {}, 0)


def list_params(schema: dict[str, Any]) -> list[Param]:
    """Return the fields of an object's schema."""
    required = schema.get("required") or ()
    params: list[Param] = []
    for name, field in cast(dict[str, dict[str, Any]], schema.get("properties") or {}).items():
        is_required = name in required and "default" not in field
        enum = tuple(value for value in field.get("enum") or () if value is not None)
        params.append(Param(name, kind_of(field), is_required, enum, field))
    return params


def kind_of(schema: dict[str, Any]) -> str:
    """Return the JSON type of a schema; that of the first type but null in a union."""
    kind: Any = schema.get("type") or ("object" if schema.get("properties") else "string")
    if isinstance(kind, list):
        kind = next((one for one in cast(list[str], kind) if one != "null"), "string")
    return str(kind).lower()


def _expand(schema: dict[str, Any], definitions: dict[str, Any], depth: int) -> dict[str, Any]:
    """Replace references and unions by the schemas they stand for."""
    choices: list[dict[str, Any]] = schema.get("anyOf") or schema.get("any_of") or []
    real = [one for one in choices if str(one.get("type")).lower() != "null"]
    reference = schema.get("$ref") or schema.get("ref") or ""
    target = definitions.get(reference.rpartition("/")[2]) or (real[0] if real else None)
    if target and depth < _DEEPEST:
        rest = {k: v for k, v in schema.items() if k not in ("$ref", "ref", "anyOf", "any_of")}
        return _expand({**target, **rest}, definitions, depth + 1)
    fields: dict[str, dict[str, Any]] = schema.get("properties") or {}
    properties = {name: _expand(field, definitions, depth + 1) for name, field in fields.items()}
    return {**schema, "properties": properties} if properties else schema


def empty_value(schema: dict[str, Any], text: str) -> Any:
    """Return a value that follows a schema: a text, or an empty value of another kind."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = kind_of(schema)
    if kind == "object":
        fields = [one for one in list_params(schema) if one.required]
        return {one.name: empty_value(one.schema, text) for one in fields}
    empty: dict[str, Any] = {"boolean": False, "integer": 0, "number": 0, "array": []}
    return empty.get(kind, text)
