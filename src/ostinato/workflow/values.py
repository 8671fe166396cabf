"""Inputs and outputs of nodes, fitted to the types that the nodes declare."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NoReturn, cast

from pydantic import BaseModel, TypeAdapter, ValidationError

from .. import types
from .._adk_mode import follows_adk
from ..errors import NodeSchemaError
from ..tools.json_fit import parse_answer
from ..types.like_named import own
from .stored_output import is_content


def check_value(value: Any, schema: Any, place: str) -> Any:
    """Return a value in the type that a node declares.

    The text of a Content counts for a str, and as JSON for any other type.

    Args:
      value: the value.
      schema: a type, a Schema, or a JSON schema.
      place: what it is, for the error.

    Raises:
      NodeSchemaError: it does not fit.
      ValidationError: it does not fit, in programs that come through the alias of google-adk.
    """
    if type(value) is schema:
        return value
    if isinstance(schema, types.Schema):
        schema = schema.json_schema.to_json_values()
    if isinstance(schema, dict):
        try:
            return parse_answer({"result": value}, cast(dict[str, Any], schema))
        except ValueError as error:
            raise NodeSchemaError(f"{place} does not fit its schema: {error}.") from None
    if is_content(value) and schema is not types.Content:
        return _convert_content(own(value), schema, place)
    if isinstance(value, BaseModel) and not _is_class(schema, value):
        value = value.model_dump()
    try:
        return _get_adapter(schema).validate_python(value)
    except ValidationError as error:
        _raise_mismatch(error, f"{place} is not {_type_name(schema)}")


def _convert_content(content: types.Content, schema: Any, place: str) -> Any:
    adapter = _get_adapter(schema)
    try:
        return adapter.validate_python(content)
    except ValidationError:
        pass
    text = "".join(part.text or "" for part in content.parts or () if not part.thought)
    if schema is str:
        return text
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        _raise_mismatch(error, f"{place} is a message whose text is not {_type_name(schema)}")


def _raise_mismatch(error: ValidationError, problem: str) -> NoReturn:
    """Raise NodeSchemaError; pydantic's error itself for programs of google-adk, which catch it."""
    if follows_adk():
        error.add_note(f"{problem}.")
        raise error
    raise NodeSchemaError(f"{problem}: {error}") from error


def _is_class(schema: Any, value: Any) -> bool:
    return isinstance(schema, type) and isinstance(value, schema)


def _type_name(schema: Any) -> str:
    return str(getattr(schema, "__name__", schema))


@lru_cache(maxsize=1024)
def _get_adapter(schema: Any) -> TypeAdapter[Any]:
    return TypeAdapter(schema)
