"""Checks of an agent's fields, so that a wrong type is refused where it was written."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ValidationInfo

from .. import types
from ..types.like_named import own

_METHODS = {"planner": "build_planning_instruction", "code_executor": "execute_code"}


def check_instruction(value: Any, info: ValidationInfo) -> Any:
    """Return an instruction; raise ValueError if it is neither a text nor a function."""
    if not isinstance(value, str) and not callable(value):
        _refuse(value, info, "a text, or a function of the context")
    return value


def take_static_instruction(value: Any, info: ValidationInfo) -> Any:
    """Return a static instruction of our types; raise ValueError for another value."""
    taken: Any = own(value)
    for one in cast(list[Any], taken) if isinstance(taken, list) else [taken]:
        is_picture = type(one).__module__.partition(".")[0] == "PIL"
        known = (str, dict, types.Content, types.Part, types.File)
        if one is not None and not isinstance(one, known) and not is_picture:
            _refuse(one, info, "a text, a Content, a Part, a File, or a list of these")
    return cast(Any, taken)


def check_methods(value: Any, info: ValidationInfo) -> Any:
    """Return a planner or a code executor; raise ValueError if it lacks the method of one."""
    method = _METHODS[info.field_name or ""]
    if value is not None and (isinstance(value, type) or not hasattr(value, method)):
        _refuse(value, info, f"an object with the method {method}")
    return value


def _refuse(value: Any, info: ValidationInfo, wanted: str) -> None:
    raise ValueError(f"{info.field_name} takes {wanted}; got {type(value).__name__}: {value!r:.80}")
