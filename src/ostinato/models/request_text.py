"""Plain readings of a request's settings: the instruction's text and the declared functions.

The offline model and the testing kit look at requests through these.
"""

from __future__ import annotations

from typing import Any, cast

from .. import types


def instruction_text(config: types.GenerateContentConfig) -> str:
    """Return the system instruction as text, whatever form it was given in; empty if none."""
    return _text(cast(Any, config.system_instruction))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "\n\n".join(filter(None, map(_text, cast(list[Any], value))))
    if isinstance(value, types.Content):
        return "\n\n".join(filter(None, map(_text, value.parts or [])))
    return str(getattr(value, "text", "") or "")


def declared_functions(config: types.GenerateContentConfig) -> list[types.FunctionDeclaration]:
    """Return the declarations of all functions the model may call, in order."""
    return [
        declaration
        for tool in cast(list[Any], config.tools or [])
        if isinstance(tool, types.Tool)
        for declaration in tool.function_declarations or []
    ]
