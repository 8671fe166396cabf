"""The JSON text of an event as stores keep it, beside the columns that are stored by themselves."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json

from ..errors import InputValidationError
from ..events.event import Event

_COLUMNS = frozenset(("id", "invocation_id", "author", "branch", "timestamp"))
_ALIASES = {
    name: field.serialization_alias or name
    for name, field in Event.model_fields.items()
    if name not in _COLUMNS
}

# Fields that say nothing, by whether an event has effects and whether it has a place in a graph.
_IDLE = {
    (True, True): frozenset[str](),
    (True, False): frozenset(("node_info",)),
    (False, True): frozenset(("actions",)),
    (False, False): frozenset(("actions", "node_info")),
}


def text_of(event: Event, has_effects: bool, fallback: Any) -> str:
    """Return what the columns do not hold; nulls, and what says nothing, are left out."""
    idle = _IDLE[has_effects, bool(event.node_info.path)]
    if type(event) is not Event:  # whose fields may be more, and serialised in their own ways
        return event.model_dump_json(
            by_alias=True, exclude_none=True, exclude={*_COLUMNS, *idle}, fallback=fallback
        )
    # Most fields are None: to pick the others costs half of what the serialiser takes over those.
    fields = {
        _ALIASES[name]: value
        for name, value in vars(event).items()
        if value is not None and name in _ALIASES and name not in idle
    }
    return to_json(
        fields,
        by_alias=True,
        exclude_none=True,
        bytes_mode="base64",
        inf_nan_mode="null",
        fallback=fallback,
    ).decode()


def unstorable(event: Event, error: ValueError) -> InputValidationError:
    """Return the error that says which part of an event JSON cannot carry."""
    place = f"The event by {event.author!r}"
    for key, value in event.actions.state_delta.items():
        try:
            to_json({key: value}, fallback=repr)
        except ValueError:
            place = f"State key {key!r}"
            break
    return InputValidationError(f"{place} holds a value that JSON cannot carry: {error}")
