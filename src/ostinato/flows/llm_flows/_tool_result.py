"""From what a tool returned to the JSON of its function response."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from ...errors import ToolResultError

_NOT_FINITE = (b"NaN", b"Infinity")


class ResultTooLarge(Exception):
    """A result above `RunConfig.max_tool_result_bytes`; the message is for the model."""


def response_dict(result: Any, *, tool: str, agent: str, max_bytes: int) -> dict[str, Any]:
    """Return a tool's result as the dict of a function response (Spec 2 §6.6).

    A dict stays one; anything else becomes `{"result": value}`. The dict is a copy: later edits of
    the result do not show.

    Args:
      result: what the tool or its last hook returned.
      tool: name of the tool, for errors.
      agent: name of the agent, for errors.
      max_bytes: greatest size as JSON.

    Raises:
      ToolResultError: JSON cannot carry the result: NaN, bytes that are no text, other objects.
      ResultTooLarge: it is larger than `max_bytes`.
    """
    wrapped = cast(dict[str, Any], result) if isinstance(result, dict) else {"result": result}
    try:
        data = to_json(wrapped, by_alias=False, exclude_none=True, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError) as error:
        raise ToolResultError(
            f"Tool {tool!r} of agent {agent!r} returned a value that JSON cannot carry "
            f"({_kind(cast(object, result))}): {error}. Return str, numbers, lists, dicts or "
            "pydantic models; save bytes with tool_context.save_artifact."
        ) from error
    if len(data) > max_bytes:
        raise ResultTooLarge(
            f"The result of `{tool}` is too large: {len(data):,} bytes of JSON, {max_bytes:,} are "
            "allowed. Call it again for a smaller part, or with a narrower question."
        )
    if any(word in data for word in _NOT_FINITE):
        path = next(_not_finite(wrapped, ""), None)
        if path is not None:
            raise ToolResultError(
                f"Tool {tool!r} of agent {agent!r} returned a number that JSON cannot carry "
                f"(NaN or infinite) at {path or 'the top'}. Return None or a text instead."
            )
    return from_json(data)


def _kind(value: object) -> str:
    return type(value).__name__


def _not_finite(value: Any, path: str) -> Iterator[str]:
    """Yield the places of numbers that are not finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield path
    elif isinstance(value, dict):
        for key, item in cast(dict[Any, Any], value).items():
            yield from _not_finite(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _not_finite(item, f"{path}[{index}]")
