"""What the references of a file name. `agents.config_agent_utils` is the public face."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reading import FieldFault, at, resolve_name
from .references import CodeConfig


def resolve_fully_qualified_name(name: str) -> Any:
    """Return what a dotted name names, such as `my_agent.tools.look_up`.

    Outside of a file any name goes: then the program says it, not data.

    Raises:
      CodeReferenceError: it is nothing, or code that the present file may not name.
    """
    return resolve_name(name)


def resolve_code_reference(code_config: CodeConfig) -> Any:
    """Return the variable, function or class that a file names.

    Raises:
      ValueError: the reference is empty.
      CodeReferenceError: it is nothing, or code that the present file may not name.
    """
    if not code_config or not code_config.name:
        raise FieldFault("a reference to code needs a `name`.")
    return resolve_name(code_config.name)


def resolve_callbacks(callbacks_config: list[CodeConfig]) -> list[Callable[..., Any]]:
    """Return the functions that a file names; see `resolve_code_reference` for errors."""
    found: list[Callable[..., Any]] = []
    for index, config in enumerate(callbacks_config):
        with at(index):
            callback = resolve_code_reference(config)
            if not callable(callback):
                raise FieldFault(f"{config.name!r} is no function, so it is no callback.")
            found.append(callback)
    return found
