"""Schemas in one shape for the offline model: plain JSON schema with references written out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from pydantic import TypeAdapter

from ... import types

_NESTED = ("items", "any_of", "anyOf", "oneOf", "allOf")


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of a function, or one field of an answer.

    `kind` is a JSON schema type; `item` describes an array's elements, `fields` an object's.
    """

    name: str
    kind: str
    required: bool
    about: str = ""
    enum: tuple[str, ...] = ()
    form: str = ""
    nullable: bool = False
    item: Param | None = None
    fields: tuple[Param, ...] = ()


def plain_schema(schema: Any) -> dict[str, Any]:
    """Return a class, a Schema record or a dict as a JSON schema."""
    if isinstance(schema, types.Schema):
        schema = schema.model_dump(mode="json", exclude_none=True)
    elif not isinstance(schema, dict):
        schema = TypeAdapter[Any](schema).json_schema()
    found = cast(dict[str, Any], schema)
    return _written_out(found, found.get("$defs") or found.get("defs") or {}, 0)


def params_of(declaration: types.FunctionDeclaration) -> tuple[Param, ...]:
    """Return the arguments that a declared function takes."""
    schema: Any = declaration.parameters_json_schema or declaration.parameters
    if schema is None:
        return ()
    described = _argument_lines(declaration.description or "")
    return tuple(
        _with_about(param, described.get(param.name, ""))
        for param in fields_of(plain_schema(schema))
    )


def fields_of(schema: dict[str, Any]) -> tuple[Param, ...]:
    """Return the fields of an object's schema."""
    required = set[str](schema.get("required") or ())
    return tuple(
        _param(name, field, name in required)
        for name, field in cast(dict[str, Any], schema.get("properties") or {}).items()
    )


def param_of(schema: dict[str, Any]) -> Param:
    """Return a schema as one nameless field."""
    return _param("", schema, True)


def _param(name: str, schema: dict[str, Any], required: bool) -> Param:
    choices: list[dict[str, Any]] = schema.get("any_of") or schema.get("anyOf") or []
    real = [choice for choice in choices if str(choice.get("type")).lower() != "null"]
    nullable = bool(schema.get("nullable")) or len(real) < len(choices)
    if real:
        schema = {**schema, **real[0]}
    kind = schema.get("type") or ("object" if schema.get("properties") else "string")
    if isinstance(kind, list):
        named = [str(each) for each in cast(list[Any], kind)]
        nullable = nullable or "null" in named
        kind = next((each for each in named if each != "null"), "string")
    kind = str(kind).lower()
    item = schema.get("items")
    values: list[Any] = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return Param(
        name=name,
        kind=kind,
        required=required and "default" not in schema,
        about=schema.get("description") or "",
        enum=tuple(str(value) for value in values if value is not None),
        form=str(schema.get("format") or "").lower(),
        nullable=nullable,
        item=_param(name, cast(dict[str, Any], item), True)
        if kind == "array" and isinstance(item, dict)
        else None,
        fields=fields_of(schema) if kind == "object" else (),
    )


def _with_about(param: Param, about: str) -> Param:
    if param.about or not about:
        return param
    return Param(
        param.name, param.kind, param.required, about, param.enum, param.form, param.nullable,
        param.item, param.fields,
    )  # fmt: skip


def _argument_lines(description: str) -> dict[str, str]:
    """Return what a docstring's list of arguments says of each."""
    section = re.search(r"\n\s*(?:Args|Arguments)\s*:\s*\n(.*?)(?:\n\s*\n|\Z)", description, re.S)
    if section is None:
        return {}
    lines = re.findall(r"^\s*(\w+)\s*(?:\([^)]*\))?:\s*(.+)$", section[1], re.M)
    return dict(lines)


def _written_out(schema: Any, definitions: dict[str, Any], depth: int) -> Any:
    if isinstance(schema, list):
        return [_written_out(each, definitions, depth) for each in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast(dict[str, Any], schema)
    ref = fields.get("$ref") or fields.get("ref")
    if isinstance(ref, str):
        target: dict[str, Any] = definitions.get(ref.rsplit("/", 1)[-1], {}) if depth < 8 else {}
        return _written_out({**target, **_besides_ref(fields)}, definitions, depth + 1)
    done = dict(fields)
    for key in _NESTED:
        if key in done:
            done[key] = _written_out(done[key], definitions, depth)
    if isinstance(done.get("properties"), dict):
        done["properties"] = {
            name: _written_out(field, definitions, depth)
            for name, field in done["properties"].items()
        }
    return done


def _besides_ref(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in ("$ref", "ref")}
