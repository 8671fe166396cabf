"""Objects of an OpenAPI document with their fields as attributes, over plain dicts."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any, Self, cast

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import core_schema

# Attribute names that other OpenAPI libraries use for keys that Python cannot spell.
_KEYS = {"schema_": "schema", "in_": "in", "not_": "not", "ref": "$ref", "defs": "$defs"}
# Fields that map names to objects; they are read as dicts.
_MAPS = frozenset(
    "properties patternProperties content responses callbacks examples headers encoding variables "
    "$defs dependentSchemas links".split()
)


class SpecRecord:
    """An object of an OpenAPI document, such as a schema (OpenAPI 3.1 §4.8).

    A field is an attribute: `schema.type`, `parameter.in_`. One that the document does not have is
    None. Objects within are records, too.

    Args:
      raw: the object's JSON, or a record of another OpenAPI library; it is not copied.
      fields: more fields.
    """

    __slots__ = ("raw",)

    raw: dict[str, Any]

    def __init__(self, raw: Any = None, /, **fields: Any) -> None:
        known: object = {}
        if raw is not None:
            known = cast("object", raw) if type(raw) is dict else to_plain(raw)
        if not isinstance(known, dict):
            raise ValueError(f"An object is expected here, not {type(known).__name__}.")
        self.raw = cast("dict[str, Any]", known)
        for name, value in fields.items():
            self.raw[_KEYS.get(name, name)] = to_plain(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        key = _KEYS.get(name, name)
        return _wrap_field(key, self.raw.get(key))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "raw":
            object.__setattr__(self, name, value)
        else:
            self.raw[_KEYS.get(name, name)] = to_plain(value)

    def __eq__(self, other: object) -> bool:
        return self.raw == to_plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)(copy.deepcopy(self.raw, memo))

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Return a copy of the JSON; the options of pydantic change nothing here."""
        return copy.deepcopy(self.raw)

    def model_dump_json(self, **options: Any) -> str:
        """Return the JSON as text."""
        return json.dumps(self.raw)

    @classmethod
    def model_validate(cls, value: Any, **options: Any) -> Self:
        """Return a value as a record.

        Raises:
          ValueError: it is not an object.
        """
        return value if isinstance(value, cls) else cls(value)

    @classmethod
    def model_validate_json(cls, text: str | bytes, **options: Any) -> Self:
        """Return the record of a JSON text.

        Raises:
          ValueError: it is not JSON, or not an object.
        """
        return cls(json.loads(text))

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.model_validate,
            serialization=core_schema.plain_serializer_function_ser_schema(cls.model_dump),
        )


class Schema(SpecRecord):
    """A schema object."""

    __slots__ = ()


class Operation(SpecRecord):
    """An operation object, whose references are resolved."""

    __slots__ = ()


def to_plain(value: Any) -> Any:
    """Return a record of this or another library as plain JSON values."""
    if isinstance(value, SpecRecord):
        return value.raw
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        given = cast("Mapping[Any, Any]", value)
        return {str(name): to_plain(one) for name, one in given.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in cast("list[Any]", value)]
    return value


def dict_of(value: Any) -> dict[str, Any]:
    """Return a value that is a dict; an empty one in place of any other."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return a value that is a list; an empty one in place of any other."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def _wrap_field(key: str, value: Any) -> Any:
    if key in _MAPS and isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        return {name: _wrap(one) for name, one in known.items()}
    if isinstance(value, list):
        return [_wrap(one) for one in cast("list[Any]", value)]
    return _wrap(value)


def _wrap(value: Any) -> Any:
    return Schema(value) if isinstance(value, dict) else value
