"""What a class of tools is constructed with, taken from the `args` in a file."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Iterator
from types import UnionType
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter

from ..agent_files.reading import FieldFault, at
from ..agent_files.resolving import resolve_fully_qualified_name
from .tool_configs import ToolArgsConfig

_FUNCTION: Any = collections.abc.Callable


def arguments_for(cls: type[Any], config: ToolArgsConfig) -> dict[str, Any]:
    """Return the arguments that a class takes of those that a file gives.

    Raises:
      FieldFault: the class takes no argument of a name.
      ValidationError: a record does not fit its type.
    """
    parameters = inspect.signature(cls).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    hints = _hints(cls)
    arguments: dict[str, Any] = {}
    for name, value in (config.model_extra or {}).items():
        with at(name):
            if name not in parameters and not takes_any:
                known = ", ".join(parameters) or "none"
                raise FieldFault(f"{cls.__name__} takes no argument {name!r}; it takes: {known}.")
            arguments[name] = _taken(value, hints.get(name))
    return arguments


def _hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cast(Any, cls).__init__)
    except Exception:  # boundary: a user's annotation that cannot be evaluated converts nothing
        return {}


def _taken(value: Any, hint: Any) -> Any:
    """Return a value as the parameter takes it; plain values as they are."""
    if isinstance(value, str) and "." in value and any(map(_is_function, _members(hint))):
        return resolve_fully_qualified_name(value)
    if not isinstance(value, str) and any(map(_is_record, _members(hint))):
        return TypeAdapter[Any](hint).validate_python(value)
    return value


def _members(hint: Any) -> Iterator[Any]:
    """Yield the types of a union, those of lists' items too."""
    origin = typing.get_origin(hint)
    if origin is typing.Union or origin is UnionType or origin is list:
        for member in typing.get_args(hint):
            yield from _members(member)
    elif hint is not None:
        yield hint


def _is_function(hint: Any) -> bool:
    return hint is _FUNCTION or typing.get_origin(hint) is _FUNCTION


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)
