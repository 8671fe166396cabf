"""Fitting of JSON values to JSON schemas: what a person answers, and what a person edits."""

from __future__ import annotations

import json
from typing import Any, cast

from .json_bounds import check_bounds

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def fit_schema(value: Any, schema: dict[str, Any], what: str) -> Any:
    """Return a value in the form that a schema asks for; JSON text and numbers in text count.

    Args:
      value: the value.
      schema: its JSON schema.
      what: what the value is, for the error.

    Raises:
      ValueError: the value does not fit; the message says where.
    """
    return _Fit(schema, strict=False).fit_value(value, schema, what)


def check_schema(value: Any, schema: dict[str, Any], what: str) -> None:
    """Check that a value is what a schema asks for; nothing is converted.

    Args:
      value: the value.
      schema: its JSON schema.
      what: what the value is, for the error.

    Raises:
      ValueError: the value does not fit; the message says where.
    """
    _Fit(schema, strict=True).fit_value(value, schema, what)


class _Fit:
    """One fitting of a value.

    Args:
      root: the whole schema, for its definitions.
      strict: whether a value of another type is refused rather than converted.
    """

    def __init__(self, root: dict[str, Any], *, strict: bool) -> None:
        self._root = root
        self._strict = strict

    def fit_value(self, value: Any, schema: dict[str, Any], place: str) -> Any:
        """Return a value in the form that a schema asks for."""
        if schema.get("nullable") and self._is(value, "null"):  # as google-genai's schemas have it
            return None
        if "$ref" in schema:
            name = str(schema["$ref"]).rpartition("/")[2]
            return self.fit_value(value, self._root.get("$defs", {}).get(name, {}), place)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self._fit_choice(value, schema[choice], place)
        if "enum" in schema and value not in schema["enum"]:
            raise ValueError(f"{place} is {value!r}, not one of {schema['enum']}")
        if "const" in schema and value != schema["const"]:
            raise ValueError(f"{place} is {value!r}, not {schema['const']!r}")
        wanted = schema.get("type")
        kinds = cast(list[str], wanted if isinstance(wanted, list) else [wanted] if wanted else [])
        if not kinds:
            return value
        kinds = [kind.lower() for kind in kinds]
        found = next((kind for kind in kinds if self._is(value, kind)), None)
        if found is None and isinstance(value, str) and not self._strict:
            value = _parse_json(value)
            found = next((kind for kind in kinds if self._is(value, kind)), None)
        if found is None:
            raise ValueError(f"{place} is {value!r}, not of type {' or '.join(kinds)}")
        if found == "object":
            return self._fit_object(cast("dict[str, Any]", value), schema, place)
        if found == "array" and isinstance(schema.get("items"), dict):
            return [
                self.fit_value(v, schema["items"], f"{place}[{i}]") for i, v in enumerate(value)
            ]
        return value

    def _fit_object(
        self, value: dict[str, Any], schema: dict[str, Any], place: str
    ) -> dict[str, Any]:
        missing = [name for name in schema.get("required", ()) if name not in value]
        if missing:
            raise ValueError(f"{place} lacks {', '.join(missing)}")
        fields: dict[str, Any] = schema.get("properties", {})
        unknown = [name for name in value if name not in fields]
        if unknown and schema.get("additionalProperties") is False:
            raise ValueError(f"{place} has {', '.join(unknown)}, which it may not have")
        return {
            name: self.fit_value(item, fields[name], f"{place}.{name}") if name in fields else item
            for name, item in value.items()
        }

    def _fit_choice(self, value: Any, choices: list[dict[str, Any]], place: str) -> Any:
        problems: list[str] = []
        for choice in choices:
            try:
                return self.fit_value(value, choice, place)
            except ValueError as error:
                problems.append(str(error))
        raise ValueError("; ".join(problems))

    def _is(self, value: Any, kind: str) -> bool:
        if isinstance(value, bool):
            return kind == "boolean"
        if kind == "integer" and isinstance(value, float):
            return value.is_integer() and not self._strict
        return isinstance(value, _TYPES.get(kind, (object,)))


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def parse_answer(
    response: dict[str, Any] | None, schema: dict[str, Any] | None, *, is_bounded: bool = False
) -> Any:
    """Return the answer of a person in a function response, fitted to a schema.

    `{"result": x}` stands for `x`, anything else for itself.

    Args:
      response: the response.
      schema: JSON schema of the answer; any value where None.
      is_bounded: whether bounds, formats and patterns count, as in the form of a tool.

    Raises:
      ValueError: the answer does not fit; the message says where.
    """
    value: Any = response
    if response is not None and set(response) == {"result"}:
        value = response["result"]
    if schema is None:
        return value
    fitted = fit_schema(value, schema, "the answer")
    if is_bounded:
        check_bounds(fitted, schema, "the answer")
    return fitted
