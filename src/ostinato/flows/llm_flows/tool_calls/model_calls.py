"""The function calls of a model's response, made fit to be stored: repairs, ids, long-running ones.

The loop repairs malformed calls before it commits a response, because a session could store them
but not load them again; the model gets invalid arguments back.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from .... import _clock, types
from ....events.event import Event
from ....models.invalid_args import INVALID_ARGS_KEY
from ....models.llm_request import CLIENT_ID_PREFIX
from ....tools.result_limits import has_nul
from ..history.visibility import RESERVED_CALLS, strip_client_ids

AF_FUNCTION_CALL_ID_PREFIX = CLIENT_ID_PREFIX
_MAX_SHOWN = 500


def complete_calls(content: types.Content) -> tuple[types.Content, list[types.FunctionCall]]:
    """Make the calls of a response fit to be loaded again, each with an id of its own.

    Arguments that JSON cannot represent, or that hold NUL, move under `INVALID_ARGS_KEY`, which the
    model gets back; a name becomes text; a missing id, an invalid one, and one that an earlier call
    has, becomes a new one.

    Returns:
      The content, another one if a call was changed, and its calls.
    """
    calls: dict[str | None, types.FunctionCall] = {}
    changed: dict[int, types.Part] = {}
    for index, part in enumerate(content.parts or ()):
        call = part.function_call
        if call is None:
            continue
        repairs = _find_repairs(call, calls)
        if repairs:
            call = call.model_copy(update=repairs)
            changed[index] = part.model_copy(update={"function_call": call})
        calls[call.id] = call
    if changed:  # replaced, not edited: a model may hand out the same object again
        parts = [changed.get(index, part) for index, part in enumerate(content.parts or ())]
        content = types.Content(role=content.role, parts=parts)
    return content, [*calls.values()]


def _find_repairs(call: types.FunctionCall, taken: Container[str | None]) -> dict[str, Any]:
    """Return the fields of a call that are missing or invalid, with their replacements."""
    found: dict[str, Any] = {}
    args: Any = call.args
    if args is not None and (type(args) is not dict or (args and not _is_json(args))):
        found["args"] = {INVALID_ARGS_KEY: _as_text(args)}
    name: Any = call.name
    if name is not None and (type(name) is not str or not name.isprintable()):
        found["name"] = _as_text(name)
    id: Any = call.id
    if not id or type(id) is not str or id in taken or not id.isprintable():
        found["id"] = generate_client_function_call_id()
    return found


def _is_json(args: Any) -> bool:
    """Return whether arguments survive storing, nested as deeply as in an event."""
    try:
        data = to_json([[[[[[args]]]]]], inf_nan_mode="constants")
        from_json(data, allow_inf_nan=False)
    except ValueError:
        return False
    if has_nul(data):
        return False
    return all([key.__class__ is str for key in args])


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else _safe_repr(value)
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _safe_repr(value: Any) -> str:
    try:
        return repr(value)[:_MAX_SHOWN]
    except Exception as error:  # boundary: repr of a model's object, which may nest too deeply
        return f"a {type(value).__name__} ({type(error).__name__})"


def generate_client_function_call_id() -> str:
    """Return a new call id: `adk-` and a UUID (Spec 2 §6.9)."""
    return AF_FUNCTION_CALL_ID_PREFIX + _clock.new_id()


def populate_client_function_call_id(
    model_response_event: Event, taken: Container[str | None] = ()
) -> None:
    """Give an id to every call of the event that has none.

    The calls are replaced, not edited, because a model may return the same object again.

    Args:
      model_response_event: the event.
      taken: ids that are in use; a call with one of them gets a new id.
    """
    content = model_response_event.content
    if content is None or not content.parts:
        return
    calls = [p.function_call for p in content.parts if p.function_call is not None]
    if all([call.id and call.id not in taken for call in calls]):
        return
    parts = [
        p
        if p.function_call is None or (p.function_call.id and p.function_call.id not in taken)
        else p.model_copy(
            update={
                "function_call": p.function_call.model_copy(
                    update={"id": generate_client_function_call_id()}
                )
            }
        )
        for p in content.parts
    ]
    model_response_event.content = types.Content(role=content.role, parts=parts)


def rename_calls(event: Event, repeated: Container[str | None], tools_dict: dict[str, Any]) -> None:
    """Give new ids to calls whose id an earlier call of the session has.

    Some providers number the calls of each answer anew. But journal, approvals, policy and history
    know a call by its id.
    """
    populate_client_function_call_id(event, repeated)
    calls = event.get_function_calls()
    event.long_running_tool_ids = get_long_running_function_calls(calls, tools_dict)


def remove_client_function_call_id(content: types.Content | None) -> None:
    """Remove the ids made by `generate_client_function_call_id` from a content, in place."""
    if content is not None:
        strip_client_ids(content)


def get_long_running_function_calls(
    function_calls: Sequence[types.FunctionCall], tools_dict: dict[str, Any]
) -> set[str]:
    """Return the ids of the calls whose tools are long-running.

    Calls with a reserved name are left out, because they would pass for the runtime's own requests.
    """
    return {
        call.id
        for call in function_calls
        if call.id
        and call.name in tools_dict
        and tools_dict[call.name].is_long_running
        and call.name not in RESERVED_CALLS
    }
