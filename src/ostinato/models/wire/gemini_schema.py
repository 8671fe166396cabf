"""Schemas of answers in the dialect of Gemini's API: OpenAPI's words, no references. Requests for
structured output carry them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pydantic import TypeAdapter

from ... import types
from .faults import Unsendable
from .reading import fields_of, items_of

Json = dict[str, Any]

_NAMES = {
    spelling: str(field.alias or name)
    for name, field in types.Schema.model_fields.items()
    for spelling in (name, field.alias or name)
} | {"prefix_items": "prefixItems", "prefixItems": "prefixItems"}
# Words of JSON schema that are read here, or only describe what is there anyway.
_READ = ("$defs", "defs", "$ref", "ref", "anyOf", "any_of", "oneOf", "const", "discriminator")
_LEFT_OUT = ("$schema", "$id", "$comment", "examples")


def gemini_schema(schema: Any) -> Json:
    """Return a schema as the service takes it.

    Args:
      schema: a Schema, a dict in either dialect, or a type that pydantic knows.

    Raises:
      Unsendable: the dialect has no words for it.
    """
    if isinstance(schema, types.Schema):
        source: Json = schema.model_dump(mode="json", by_alias=True, exclude_none=True)
    elif isinstance(schema, Mapping):
        source = dict(cast(Mapping[str, Any], schema))
    else:
        source = TypeAdapter[Any](schema).json_schema()
    defs = fields_of(source.get("$defs") or source.get("defs"))
    return _translate(source, defs, ())


def _translate(source: Json, defs: Json, path: tuple[str, ...]) -> Json:
    """Translate a schema; `path` holds the references that are being written out around it."""
    reference = source.get("$ref") or source.get("ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name not in defs:
            raise Unsendable(f"the output schema: it refers to {reference!r}, which it lacks.")
        around = {x: y for x, y in source.items() if x not in ("$ref", "ref", "$defs", "defs")}
        if name in path:  # a schema within itself: anything goes there
            return _plain_fields(around)
        return {**_plain_fields(around), **_translate(fields_of(defs[name]), defs, (*path, name))}
    made = _plain_fields(source)
    _put_enum(made, source.get("const"))
    _put_kind(made, source.get("type"))
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = _translate(made[name], defs, path)
    if "prefixItems" in made:
        made["prefixItems"] = [_translate(x, defs, path) for x in items_of(made["prefixItems"])]
    if properties := fields_of(made.get("properties")):
        made["properties"] = {x: _translate(y, defs, path) for x, y in properties.items()}
        if len(properties) > 1:
            made.setdefault("propertyOrdering", list(properties))
    choices = source.get("anyOf") or source.get("any_of") or source.get("oneOf")
    if choices is not None:
        _put_choices(made, [_translate(fields_of(x), defs, path) for x in items_of(choices)])
    return made


def _plain_fields(source: Json) -> Json:
    """Return the fields that carry over, by the service's names.

    Raises:
      Unsendable: one of them has no name there.
    """
    made: Json = {}
    for name, value in source.items():
        if name in _READ or name in _LEFT_OUT or value is None:
            continue
        if name not in _NAMES:
            raise Unsendable(
                f"the output schema: it has no word for {name!r}. Leave that out, or set "
                "response_json_schema in place of response_schema."
            )
        made[_NAMES[name]] = value
    return made


def _put_enum(made: Json, const: Any) -> None:
    """Set the values that are allowed; the service takes texts."""
    if const is not None:
        if not isinstance(const, str):
            raise Unsendable("the output schema: literal values must be strings.")
        made["enum"] = [const]
    if "enum" in made:
        made["enum"] = [str(choice) for choice in items_of(made["enum"]) if choice is not None]


def _put_kind(made: Json, kind: Any) -> None:
    """Set the type; null among several types makes the value nullable."""
    if kind is None:
        return
    kinds = [str(getattr(x, "value", x)).upper() for x in items_of(kind) or [kind]]
    made.pop("type", None)
    if "NULL" in kinds:
        made["nullable"] = True
    kinds = [x for x in kinds if x != "NULL"]
    if len(kinds) == 1:
        made["type"] = kinds[0]
    elif kinds:
        made["anyOf"] = [{"type": x} for x in kinds]


def _put_choices(made: Json, choices: list[Json]) -> None:
    """Set the alternatives; null among them makes the value nullable."""
    others = [choice for choice in choices if choice != {"nullable": True}]
    if len(others) < len(choices):
        made["nullable"] = True
    if len(others) == 1 and len(choices) > 1:
        made.update(others[0])
    else:
        made["anyOf"] = others
