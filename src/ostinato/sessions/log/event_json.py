"""The JSON text of an event as stores keep it, beside the columns that are stored by themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from json import decoder
from json.encoder import encode_basestring as _quoted
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from ...errors import InputValidationError
from ...events.event import AgentPlace, Event

COLUMNS = frozenset(("id", "invocation_id", "author", "branch", "timestamp"))
_ALIASES = {
    name: field.serialization_alias or name
    for name, field in Event.model_fields.items()
    if name not in COLUMNS
}

# Fields that say nothing, by whether an event has effects and whether it has a path.
_IDLE = {
    (True, True): frozenset[str](),
    (True, False): frozenset(("node_info",)),
    (False, True): frozenset(("actions",)),
    (False, False): frozenset(("actions", "node_info")),
}


_PACKAGE = "ostinato."
# Classes of values whose text can be read again; Ostinato's own join when they first occur.
_own_classes: set[type] = {str, int, float, bool, list, dict, set}

PLACE_KEY = "@"
"""The first key in the text of an event that has a path and comes from no graph: its path."""

_read_string: Callable[[str, int], tuple[str, int]] = vars(decoder)["scanstring"]  # not in typeshed
_PLACE = f'{{"{PLACE_KEY}":'
_PATH = len(_PLACE) + 1  # where the path begins, behind its quote


def text_of(event: Event, has_effects: bool, fallback: Any) -> str:
    """Return what the columns do not hold; nulls, and what says nothing, are left out."""
    info, start = event.node_info, ""
    path = info.path
    has_info = path != ""
    if type(info) is AgentPlace:
        start = _PLACE + _quoted(path)
        has_info = info.output_for is not None or info.message_as_output is not None
    idle = _IDLE[has_effects, has_info]
    if type(event) is not Event:  # whose fields may be more, and serialised in their own ways
        text = event.model_dump_json(
            by_alias=True, exclude_none=True, exclude={*COLUMNS, *idle}, fallback=fallback
        )
        text, _ = drop_unknown_fields(text)
    else:
        # Most fields are None: to pick the others costs half of what the serialiser takes over
        # those.
        fields = {
            _ALIASES[name]: value
            for name, value in event.__dict__.items()
            if value is not None and name in _ALIASES and name not in idle
        }
        text = to_json(
            fields,
            by_alias=True,
            exclude_none=True,
            bytes_mode="base64",
            inf_nan_mode="null",
            fallback=fallback,
        ).decode()
        if not _own_classes.issuperset(map(type, fields.values())) and _has_foreign(fields):
            text, _ = drop_unknown_fields(text)
    return f"{start}{'' if text == '{}' else ','}{text[1:]}" if start else text


def _has_foreign(fields: dict[str, Any]) -> bool:
    """Return whether a field holds an object of a class that is not Ostinato's; notes which are."""
    kinds: set[type] = set(map(type, fields.values()))
    own = {kind for kind in kinds if kind.__module__.startswith(_PACKAGE)}
    _own_classes.update(own)
    return not kinds <= _own_classes


def drop_unknown_fields(text: str) -> tuple[str, list[str]]:
    """Return the text of an event without the fields that its records refuse, and their places.

    Programs derive classes of their own from records, and newer versions have more fields.

    Raises:
      ValidationError: it is not the text of an event even so.
    """
    dropped: list[str] = []
    while True:
        try:
            Event.model_validate_json(text)
        except ValidationError as error:
            fields = json.loads(text)
            for fault in error.errors(include_url=False, include_input=False):
                place = fault["loc"]
                if fault["type"] != "extra_forbidden" or not _remove(fields, place):
                    raise
                dropped.append(".".join(map(str, place)))
            text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        else:
            return text, dropped


def _remove(fields: Any, place: tuple[int | str, ...]) -> bool:
    """Remove the field at a place in parsed JSON; return whether it was there."""
    *outer, name = place
    try:
        for key in outer:
            fields = fields[key]
        del fields[name]
    except (KeyError, IndexError, TypeError):
        return False
    return True


def read_agent_path(text: str) -> str:
    """Return the path in the text of an event that comes from no graph; empty for others."""
    return _read_string(text, _PATH)[0] if text.startswith(_PLACE) else ""


def unreadable_error(event: Event, kind: str, value: object) -> InputValidationError:
    """Return the error that says which part of an event could not be read again once stored."""
    return InputValidationError(
        f"The event by {event.author!r} holds a {kind} that could not be read again: "
        f"{value!r:.300}. Texts, names and ids are str; the arguments of a call and its response "
        "are dicts."
    )


def unstorable_error(event: Event, error: ValueError) -> InputValidationError:
    """Return the error that says which part of an event JSON cannot carry."""
    place = f"The event by {event.author!r}"
    for key, value in event.actions.state_delta.items():
        try:
            to_json({key: value}, fallback=repr)
        except ValueError:
            place = f"State key {key!r}"
            break
    return InputValidationError(f"{place} holds a value that JSON cannot carry: {error}")
