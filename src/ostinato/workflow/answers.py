"""What people answered to the requests of nodes: the value in a function response, fitted to the
JSON schema that the request named.
"""

from __future__ import annotations

import json
from typing import Any, cast

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def answer_of(response: dict[str, Any] | None, schema: dict[str, Any] | None) -> Any:
    """Return the answer that a function response holds.

    `{"result": x}` stands for `x`, anything else for itself.

    Args:
      response: the response.
      schema: JSON schema of the answer; any value where None.

    Raises:
      ValueError: the answer does not fit; the message says where.
    """
    value: Any = response
    if response is not None and set(response) == {"result"}:
        value = response["result"]
    return value if schema is None else _fitted(value, schema, schema, "the answer")


def _fitted(value: Any, schema: dict[str, Any], root: dict[str, Any], place: str) -> Any:
    """Return a value in the form that a schema asks for; JSON text and numbers in text count."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _fitted(value, root.get("$defs", {}).get(name, {}), root, place)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return _one_of(value, schema[choice], root, place)
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"{place} is {value!r}, not one of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        raise ValueError(f"{place} is {value!r}, not {schema['const']!r}")
    wanted = schema.get("type")
    kinds = cast(list[str], wanted if isinstance(wanted, list) else [wanted] if wanted else [])
    if not kinds:
        return value
    kinds = [kind.lower() for kind in kinds]
    found = next((kind for kind in kinds if _is(value, kind)), None)
    if found is None and isinstance(value, str):
        value = _read(value)
        found = next((kind for kind in kinds if _is(value, kind)), None)
    if found is None:
        raise ValueError(f"{place} is {value!r}, not of type {' or '.join(kinds)}")
    if found == "object":
        return _fitted_object(value, schema, root, place)
    if found == "array" and isinstance(schema.get("items"), dict):
        return [_fitted(v, schema["items"], root, f"{place}[{i}]") for i, v in enumerate(value)]
    return value


def _fitted_object(
    value: dict[str, Any], schema: dict[str, Any], root: dict[str, Any], place: str
) -> dict[str, Any]:
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        raise ValueError(f"{place} lacks {', '.join(missing)}")
    fields: dict[str, Any] = schema.get("properties", {})
    unknown = [name for name in value if name not in fields]
    if unknown and schema.get("additionalProperties") is False:
        raise ValueError(f"{place} has {', '.join(unknown)}, which it may not have")
    return {
        name: _fitted(item, fields[name], root, f"{place}.{name}") if name in fields else item
        for name, item in value.items()
    }


def _one_of(value: Any, choices: list[dict[str, Any]], root: dict[str, Any], place: str) -> Any:
    problems: list[str] = []
    for choice in choices:
        try:
            return _fitted(value, choice, root, place)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError("; ".join(problems))


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, (object,)))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
