"""find_context_parameter: which parameter of a function takes the context. `utils.context_utils` is
its public face, for programs that wrap functions themselves.
"""

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from ._signature import is_context, is_context_name


def find_context_parameter(func: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that is annotated as a context, or None.

    Unlike in a tool, a parameter that is only named `tool_context` does not count.
    """
    annotations: dict[str, Any] = getattr(func, "__annotations__", {})
    namespace = getattr(inspect.unwrap(func), "__globals__", {})
    for name, annotation in annotations.items():
        if name != "return" and _takes_context(name, annotation, namespace):
            return name
    return None


def _takes_context(name: str, annotation: Any, namespace: dict[str, Any]) -> bool:
    if is_context_name(annotation):
        return True
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        found = typing.get_type_hints(holder, namespace)[name]
    except (NameError, AttributeError, SyntaxError):
        return False  # a type that does not exist when the program runs is no context
    return is_context(found)
