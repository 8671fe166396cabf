"""Contents as Gemini's API reads them. The adapter sends them, `Converted` keeps them.

Ids of calls that were made here are left out: Gemini never gave them.
"""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from ... import types
from ..llm_request import CLIENT_ID_PREFIX
from .faults import Unsendable
from .json_item import JsonItem

# What says nothing: the API refuses both.
_EMPTY_PARTS: tuple[dict[str, Any], ...] = ({}, {"text": ""})
# What is only there while a call is streamed.
_STREAMED = {"partial_args", "will_continue"}
_EVERYWHERE: Any = {"parts": {"__all__": {"function_call": _STREAMED}}}
# The Developer API refuses names of files, which are there for people.
_DEVELOPER: Any = {
    "parts": {
        "__all__": {
            "function_call": _STREAMED,
            "inline_data": {"display_name"},
            "file_data": {"display_name"},
        }
    }
}


def wire_content(content: types.Content) -> JsonItem:
    """Return a content as Vertex AI reads it: JSON values, thought signatures included."""
    return _json(content, _EVERYWHERE)


def developer_content(content: types.Content) -> JsonItem:
    """Return a content as the Gemini Developer API reads it."""
    return _json(content, _DEVELOPER)


def _json(content: types.Content, exclude: Any) -> JsonItem:
    try:
        made = content.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=exclude)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise Unsendable(_find_unwritable(content)) from error
    # A part of nothing but metadata is what another provider's own tools did.
    made["parts"] = [
        part
        for part in made.get("parts", ())
        if part not in _EMPTY_PARTS and part.keys() != {"partMetadata"}
    ]
    for part in made["parts"]:
        holder: dict[str, Any] = part.get("functionCall") or part.get("functionResponse") or {}
        if holder.get("id", "").startswith(CLIENT_ID_PREFIX):
            del holder["id"]
    return JsonItem(made)


def _find_unwritable(content: types.Content) -> str:
    """Return what JSON cannot hold in a content, and what to do."""
    for part in content.parts or ():
        call, answer = part.function_call, part.function_response
        for what, name, value in (
            ("a call of", call and call.name, call and call.args),
            ("the response of", answer and answer.name, answer and answer.response),
        ):
            for field, item in (value or {}).items():
                if not _is_writable(item):
                    return (
                        f"{what} the tool {name!r}, whose field {field!r} holds a "
                        f"{type(item).__name__} that JSON cannot express. Return texts, numbers, "
                        "lists and dicts from the tool."
                    )
    return "a part that JSON cannot express. Take it out of the contents."


def _is_writable(value: object) -> bool:
    try:
        to_json(value)
    except (PydanticSerializationError, ValueError, RecursionError):
        return False
    return True
