"""Client-made ids of function calls: added if the model gives none, removed from its requests."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from .... import _clock, types
from ....events.event import Event
from . import projection as _history

AF_FUNCTION_CALL_ID_PREFIX = _history.CLIENT_ID_PREFIX


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
    if all(call.id and call.id not in taken for call in calls):
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


def remove_client_function_call_id(content: types.Content | None) -> None:
    """Remove the ids made by `generate_client_function_call_id` from a content, in place."""
    if content is not None:
        _history.strip_client_ids(content)


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
        and call.name not in _history.RESERVED_CALLS
    }
