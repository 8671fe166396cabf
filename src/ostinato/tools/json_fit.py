"""Fitting of JSON values to JSON schemas: what a person answers, and what a person edits."""

from __future__ import annotations

import itertools
import json
from typing import Any, cast
from urllib.parse import unquote

from .json_bounds import check_bounds, matches

# Parts of schemas that one value is held to. References may name each other again and again, and
# a schema may come from a server.
_MOST_PARTS = 100_000
_MOST_SAID = 2_000  # characters of what is wrong with all choices

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_PARTS = frozenset(("$ref", "anyOf", "oneOf", "allOf"))


def fit_schema(value: Any, schema: dict[str, Any], what: str) -> Any:
    """Return a value in the form that a schema asks for; JSON text and numbers in text count.

    Args:
      value: the value.
      schema: its JSON schema.
      what: what the value is, for the error.

    Raises:
      ValueError: the value does not fit; the message says where.
    """
    return _Fit(schema).fit_value(value, schema, what)


def check_schema(value: Any, schema: dict[str, Any], what: str, *, names_all: bool = False) -> None:
    """Check that a value is what a schema asks for; nothing is converted.

    Args:
      value: the value.
      schema: its JSON schema.
      what: what the value is, for the error.
      names_all: whether an object may have only the names in `properties` unless the schema says
        otherwise. JSON schema allows more; a class that ignores the others would drop them.

    Raises:
      ValueError: the value does not fit; the message says where.
    """
    try:
        _Fit(schema, strict=True, names_all=names_all).fit_value(value, schema, what)
    except RecursionError:
        raise ValueError(f"{what}: the value or its schema is nested too deeply") from None


class _Fit:
    """One fitting of a value.

    Args:
      root: the whole schema, for its definitions.
      strict: whether a value of another type is refused rather than converted.
      names_all: as for `check_schema`.
    """

    def __init__(
        self, root: dict[str, Any], *, strict: bool = False, names_all: bool = False
    ) -> None:
        self._root = root
        self._strict = strict
        self._names_all = names_all
        self._parts = itertools.count()

    def fit_value(self, value: Any, schema: Any, place: str) -> Any:
        """Return a value in the form that a schema asks for."""
        if not isinstance(schema, dict):  # true and false are schemas, too
            if schema is False:
                raise ValueError(f"{place} may not be given")
            return value
        schema = cast("dict[str, Any]", schema)
        if schema.get("nullable") and self._is(value, "null"):  # as google-genai's schemas have it
            return None
        value = self._fit_parts(value, schema, place)
        if "enum" in schema and not any(self._equals(value, one) for one in schema["enum"]):
            raise ValueError(f"{place} is {value!r}, not one of {schema['enum']}")
        if "const" in schema and not self._equals(value, schema["const"]):
            raise ValueError(f"{place} is {value!r}, not {schema['const']!r}")
        value = self._fit_type(value, schema, place)
        check_bounds(value, schema, place)
        if isinstance(value, dict):
            return self._fit_object(cast("dict[str, Any]", value), schema, place)
        if isinstance(value, list):
            return self._fit_list(cast("list[Any]", value), schema, place)
        return value

    def _fit_parts(self, value: Any, schema: dict[str, Any], place: str) -> Any:
        """Return a value in the form that the other schemas ask for that a schema names."""
        if schema.keys() & _PARTS and next(self._parts) > _MOST_PARTS:
            raise ValueError(f"{place}: its schema has too many parts to check")
        if "$ref" in schema:
            value = self.fit_value(value, self._find_schema(str(schema["$ref"])), place)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                value = self._fit_choice(value, schema[choice], place)
        for part in schema.get("allOf") or ():
            value = self.fit_value(value, part, place)
        return value

    def _find_schema(self, reference: str) -> Any:
        """Return the schema that a reference means; any value fits one that is not there."""
        steps = unquote(reference.removeprefix("#")).split("/")[1:]
        found: Any = self._root
        for step in steps:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if found is None:
            found = self._root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        return cast("Any", found)

    def _fit_type(self, value: Any, schema: dict[str, Any], place: str) -> Any:
        wanted = schema.get("type")
        if "anyOf" in schema or "oneOf" in schema:
            return value  # google-adk writes OBJECT beside any choice
        kinds = cast(list[str], wanted if isinstance(wanted, list) else [wanted] if wanted else [])
        kinds = [kind.lower() for kind in kinds]
        if not kinds or any(self._is(value, kind) for kind in kinds):
            return value
        if isinstance(value, str) and not self._strict:
            value = _parse_json(value)
            if any(self._is(value, kind) for kind in kinds):
                return value
        raise ValueError(f"{place} is {value!r}, not of type {' or '.join(kinds)}")

    def _fit_object(
        self, value: dict[str, Any], schema: dict[str, Any], place: str
    ) -> dict[str, Any]:
        missing = [name for name in schema.get("required") or () if name not in value]
        if missing:
            raise ValueError(f"{place} lacks {', '.join(missing)}")
        fields: dict[str, Any] = schema.get("properties") or {}
        patterns: dict[str, Any] = schema.get("patternProperties") or {}
        others = schema.get(
            "additionalProperties", not self._names_all or "properties" not in schema
        )
        fitted: dict[str, Any] = {}
        unknown: list[str] = []
        for name, item in value.items():
            wanted = [one for pattern, one in patterns.items() if matches(pattern, name)]
            if name in fields:
                wanted.append(fields[name])
            if not wanted and others is False:
                unknown.append(name)
                continue
            for one in wanted or [others]:
                item = self.fit_value(item, one, f"{place}.{name}")
            fitted[name] = item
        if unknown:
            known = f"; there are: {', '.join(fields)}" if fields else ""
            raise ValueError(f"{place} has {', '.join(unknown)}, which it may not have{known}")
        return fitted

    def _fit_list(self, value: list[Any], schema: dict[str, Any], place: str) -> list[Any]:
        first, rest = schema.get("prefixItems"), schema.get("items")
        if isinstance(rest, list):  # before draft 2020-12
            first, rest = cast("list[Any]", rest), schema.get("additionalItems")
        each: list[Any] = [*(first or ())]
        return [
            self.fit_value(item, each[at] if at < len(each) else rest, f"{place}[{at}]")
            for at, item in enumerate(value)
        ]

    def _fit_choice(self, value: Any, choices: list[Any], place: str) -> Any:
        problems: list[str] = []
        for choice in choices:
            try:
                return self.fit_value(value, choice, place)
            except ValueError as error:
                problems.append(str(error))
        raise ValueError("; ".join(problems)[:_MOST_SAID])

    def _equals(self, value: Any, wanted: Any) -> bool:
        """Return whether values are equal; strictly, `true` and `1.0` are not `1`."""
        if value != wanted or not self._strict:
            return value == wanted
        is_converted = isinstance(value, float) and isinstance(wanted, int)
        return isinstance(value, bool) == isinstance(wanted, bool) and not is_converted

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


def parse_answer(response: dict[str, Any] | None, schema: dict[str, Any] | None) -> Any:
    """Return the answer of a person in a function response, fitted to a schema.

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
    return value if schema is None else fit_schema(value, schema, "the answer")
