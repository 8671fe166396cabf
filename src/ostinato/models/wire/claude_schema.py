"""Schemas of answers in the dialect of Anthropic's API: closed objects and few limits. Requests for
structured output carry them.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, cast

from .faults import Unsendable
from .reading import fields_of, items_of

Json = dict[str, Any]

_KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")
_FORMATS = frozenset("date-time time date duration email hostname uri ipv4 ipv6 uuid".split())
_ALTERNATIVES = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}


def claude_schema(schema: Json) -> Json:
    """Return a JSON schema as the API takes it.

    Limits that it does not know move into the description, where the model reads them.

    Raises:
      Unsendable: a part of the schema does not say what may stand there.
    """
    rest, made = dict(schema), Json()
    if (defs := rest.pop("$defs", None)) is not None:
        made["$defs"] = _each(defs)
    if (reference := rest.pop("$ref", None)) is not None:
        made["$ref"] = reference
        return made
    kind = rest.pop("type", None)
    has_values = _put_values(made, rest)
    has_choices = _put_choices(made, rest)
    if has_values or has_choices:
        kind = None if has_values else kind
    elif kind in _KINDS:
        made["type"] = kind
    else:
        raise Unsendable(
            f"the output schema: {_shown(schema)} names no type, no values and no alternatives."
        )
    for name in ("description", "title"):
        if (value := rest.pop(name, None)) is not None:
            made[name] = value
    if kind == "object":
        _put_properties(made, rest)
    elif kind == "array":
        _put_items(made, rest)
    elif kind == "string":
        _put_if(made, rest, "format", _FORMATS)
    if rest:
        limits = "{" + ", ".join(f"{name}: {value}" for name, value in rest.items()) + "}"
        said = made.get("description")
        made["description"] = f"{said}\n\n{limits}" if said is not None else limits
    return made


def _each(schemas: object) -> Json:
    return {name: claude_schema(fields_of(one)) for name, one in fields_of(schemas).items()}


def _put_values(made: Json, rest: Json) -> bool:
    """Move plain values that are allowed; return whether there are any."""
    values = items_of(rest.get("enum"))
    if values and all(map(_is_plain, values)):
        made["enum"] = rest.pop("enum")
    if "const" in rest and _is_plain(rest["const"]):
        made["const"] = rest.pop("const")
    return "enum" in made or "const" in made


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float, bool))


def _put_choices(made: Json, rest: Json) -> bool:
    """Move the alternatives; return whether there are any."""
    found = [(name, rest.pop(name, None)) for name in _ALTERNATIVES]
    for name, choices in found:
        if isinstance(choices, list):
            listed = cast(list[Any], choices)
            made[_ALTERNATIVES[name]] = [claude_schema(fields_of(one)) for one in listed]
            return True
    return False


def _put_properties(made: Json, rest: Json) -> None:
    """Move the fields of an object and close it."""
    made["properties"] = _each(rest.pop("properties", None))
    rest.pop("additionalProperties", None)
    made["additionalProperties"] = False
    if (required := rest.pop("required", None)) is not None:
        made["required"] = required


def _put_items(made: Json, rest: Json) -> None:
    """Move what a list holds; of its lengths the API knows 0 and 1 as the least."""
    if (items := rest.pop("items", None)) is not None:
        made["items"] = claude_schema(fields_of(items))
    _put_if(made, rest, "minItems", (0, 1))


def _put_if(made: Json, rest: Json, name: str, allowed: Container[Any]) -> None:
    """Move a limit that has one of the values that the API knows; else it becomes the last."""
    if (value := rest.pop(name, None)) is not None:
        (made if value in allowed else rest)[name] = value


def _shown(schema: Json) -> str:
    return str(schema)[:100]
