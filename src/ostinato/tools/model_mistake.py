"""Answers of tools to wrong calls. The model reads them and may call again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

_LONGEST_VALUE = 200
_MOST_DETAILS = 5


class ModelMistake(dict[str, Any]):
    """A tool's answer to a call that the model got wrong: a plain dict to all but the flow.

    The flow hands it to the model like any result, and counts it with
    `InvocationContext.count_mistake`, so that the same mistake is not made for ever.
    """

    __slots__ = ()

    @property
    def message(self) -> str:
        """What was wrong."""
        return self["error"]


def missing_arguments(tool: str, names: Iterable[str]) -> ModelMistake:
    """Return the answer to a call that lacks mandatory arguments (FEATURES row 143)."""
    return ModelMistake(
        error=f"Invoking `{tool}()` failed as the following mandatory input parameters are not "
        "present:\n"
        + "\n".join(names)
        + "\nYou could retry calling this tool, but it is IMPORTANT for you to provide all the "
        "mandatory parameters."
    )


def wrong_arguments(tool: str, complaints: Iterable[str]) -> ModelMistake:
    """Return the answer to a call whose arguments do not fit the declared types."""
    return ModelMistake(
        error=f"Invoking `{tool}()` failed as the following input parameters do not fit their "
        "declared types:\n"
        + "\n".join(complaints)
        + "\nYou could retry calling this tool, but it is IMPORTANT for you to give every "
        "parameter a value of its declared type."
    )


def describe_mismatch(name: str, expected: str, value: Any, error: ValidationError | None) -> str:
    """Return one line, or a few, on an argument of the wrong type.

    Args:
      name: the parameter.
      expected: its type, in words.
      value: what was given.
      error: what pydantic found, if it looked.
    """
    line = f"{name}: expected {expected}, got {_shorten_value(value)} ({type(value).__name__})"
    details = [] if error is None else read_reasons(error)
    return "\n".join([line, *(f"  {detail}" for detail in details)])


def read_reasons(error: ValidationError) -> list[str]:
    """Return what pydantic found, a line each, with the path into the value where there is one."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    lines: list[str] = []
    for item in found[:_MOST_DETAILS]:
        path = ".".join(str(step) for step in item["loc"])
        lines.append(f"{path}: {item['msg']}" if path else item["msg"])
    if len(found) > _MOST_DETAILS:
        lines.append(f"and {len(found) - _MOST_DETAILS} more")
    return lines


def _shorten_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."
