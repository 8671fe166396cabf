"""Repair of malformed function calls, which a session could store but not load again.

The loop repairs them before it commits a response; the model gets invalid arguments back.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic_core import from_json, to_json

from .... import types
from ....events.event import Event
from ....models.invalid_args import INVALID_ARGS_KEY

_MAX_SHOWN = 500


def make_calls_readable(event: Event) -> None:
    """Replace the calls of an event that a session could not load again.

    Arguments that JSON cannot represent move under `INVALID_ARGS_KEY`, which the model gets back; a
    name becomes text; an id that is invalid, or that an earlier call of the event has, is removed.
    """
    content = event.content
    parts = content.parts if content is not None else None
    if not parts or content is None:
        return
    seen: set[str] = set()
    changed: dict[int, types.Part] = {}
    for index, part in enumerate(parts):
        call = part.function_call
        if call is None:
            continue
        found = _find_repairs(call, seen)
        if found:
            changed[index] = part.model_copy(
                update={"function_call": call.model_copy(update=found)}
            )
        if isinstance(call.id, str):
            seen.add(call.id)
    if changed:  # replaced, not edited: a model may hand out the same object again
        event.content = types.Content(
            role=content.role, parts=[changed.get(i, part) for i, part in enumerate(parts)]
        )


def _find_repairs(call: types.FunctionCall, seen: set[str]) -> dict[str, Any]:
    """Return the invalid fields of a call with their replacements."""
    found: dict[str, Any] = {}
    args: Any = call.args
    if args is not None and (
        type(args) is not dict or (args and not _is_json(cast(dict[str, Any], args)))
    ):
        found["args"] = {INVALID_ARGS_KEY: _as_text(args)}
    name: Any = call.name
    if name is not None and (type(name) is not str or not name.isprintable()):
        found["name"] = _as_text(name)
    id: Any = call.id
    if id is not None and (type(id) is not str or id in seen or not id.isprintable()):
        found["id"] = None
    return found


def _is_json(args: dict[str, Any]) -> bool:
    """Return whether arguments survive storing, nested as deeply as in an event."""
    if not args:
        return True
    try:
        from_json(to_json([[[[[[args]]]]]], inf_nan_mode="constants"), allow_inf_nan=False)
    except ValueError:
        return False
    return all([key.__class__ is str for key in args])


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else _safe_repr(value)
    return text.encode("utf-8", "replace").decode()


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)[:_MAX_SHOWN]
    except Exception as error:  # boundary: repr of a model's object, which may nest too deeply
        return f"a {type(value).__name__} ({type(error).__name__})"
