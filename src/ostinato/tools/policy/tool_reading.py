"""The arguments of a call as the tool reads them: validated, with nested defaults and aliases."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Collection, Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, cast

from pydantic import AliasChoices, AliasPath, BaseModel, RootModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ..base_tool import BaseTool
from .conditions import UNREADABLE

_DEEPEST = 40  # levels of a value
_LISTS = (list, tuple, set, frozenset, deque)
_MOST_PADDED = 100


def read_as_tool(tool: BaseTool, args: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return arguments as a tool reads them, by name; those that it takes as given are left out.

    Args:
      tool: the tool.
      args: the arguments of the call.
      names: the arguments that matter.
    """
    try:
        found = tool.read_arguments(args, names)
    except Exception:  # boundary: a validator of the tool failed, and so may the call
        return dict.fromkeys(names, UNREADABLE)
    if not found:
        return {}
    shown = _show_value(found, 0)
    # A value of a class of the program's own is judged by what it was made of.
    return {
        name: value for name, value in shown.items() if name in names and value is not UNREADABLE
    }


def _show_value(value: Any, depth: int) -> Any:
    """Return a value as JSON; of a record, each field under its name and all its aliases."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, str | int | float | Decimal):
        return value
    if depth > _DEEPEST:
        return UNREADABLE
    if isinstance(value, RootModel):
        return _show_value(cast("Any", value).root, depth + 1)
    if isinstance(value, Mapping):
        fields = cast("Mapping[Any, Any]", value)
        return {
            str(_show_value(key, depth + 1)): _show_value(one, depth + 1)
            for key, one in fields.items()
        }
    if isinstance(value, _LISTS):
        return [_show_value(one, depth + 1) for one in cast("Collection[Any]", value)]
    if isinstance(value, BaseModel) or dataclasses.is_dataclass(value):
        return _show_record(value, depth)
    if hasattr(value, "get_secret_value"):
        return _show_value(value.get_secret_value(), depth + 1)
    try:
        return to_jsonable_python(value, timedelta_mode="float")
    except PydanticSerializationError:
        return UNREADABLE


def _show_record(value: Any, depth: int) -> dict[str, Any]:
    """Return the fields of a model or dataclass."""
    kind = cast("Any", type(value))
    fields: dict[str, Any] = getattr(kind, "__pydantic_fields__", None) or dict.fromkeys(
        getattr(kind, "__dataclass_fields__", ())
    )
    extra: dict[str, Any] = getattr(value, "__pydantic_extra__", None) or {}
    shown = {name: _show_value(one, depth + 1) for name, one in extra.items()}
    shown |= {name: _show_value(getattr(value, name, None), depth + 1) for name in fields}
    for name, field in fields.items():
        for alias in _read_aliases(field):
            key, one = str(alias[0]), _nest(shown[name], alias[1:])
            if key not in shown or key in extra:
                shown[key] = one
            elif key != name and shown[key] != one:
                shown[key] = UNREADABLE  # the name of one field is the alias of another
    return shown


def _read_aliases(field: Any) -> list[list[str | int]]:
    """Return the paths under which a field is looked for."""
    given: list[Any] = [getattr(field, "alias", None), getattr(field, "validation_alias", None)]
    if isinstance(given[1], AliasChoices):
        given = [given[0], *given[1].choices]
    return [
        one.path if isinstance(one, AliasPath) else [one]
        for one in given
        if isinstance(one, AliasPath | str)
    ]


def _nest(value: Any, path: Collection[str | int]) -> Any:
    """Return a value below the steps of an alias's path."""
    for step in reversed([*path]):
        if isinstance(step, str):
            value = {step: value}
        else:
            value = [value] * (min(max(step, 0), _MOST_PADDED) + 1)
    return value
