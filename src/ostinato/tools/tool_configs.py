"""Settings of tools in files that describe agents."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Iterator
from types import UnionType
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from ..agent_files.file_reading import FieldFault, enter_field, resolve_fully_qualified_name

_FUNCTION: Any = collections.abc.Callable


class BaseToolConfig(BaseModel):
    """Base of the settings of one kind of tool; a key that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class ToolArgsConfig(BaseModel):
    """The arguments a tool is made with: whatever the file says under `args`."""

    model_config = ConfigDict(extra="allow", defer_build=True)


class ToolConfig(BaseModel):
    """A tool, named in a file.

    Attributes:
      name: of a tool that comes with Ostinato (`google_search`, `AgentTool`), or a dotted name:
        of a function, a tool, a class of tools, or a function that makes a tool.
      args: what the class or function that makes the tool is given.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    name: str = Field(
        description="A tool of Ostinato, such as `google_search`, or a dotted name, such as "
        "`my_agent.tools.look_up`."
    )
    args: ToolArgsConfig | None = Field(
        default=None, description="What the class or function that makes the tool is given."
    )


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
        with enter_field(name):
            if name not in parameters and not takes_any:
                known = ", ".join(parameters) or "none"
                raise FieldFault(f"{cls.__name__} takes no argument {name!r}; it takes: {known}.")
            arguments[name] = _convert_argument(value, hints.get(name))
    return arguments


def _hints(cls: type[Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cast(Any, cls).__init__)
    except Exception:  # boundary: a user's annotation that cannot be evaluated converts nothing
        return {}


def _convert_argument(value: Any, hint: Any) -> Any:
    """Return a value in the form that the parameter takes; plain values unchanged."""
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
