"""Contents as Gemini's API reads them. The adapter sends them, `Converted` keeps them.

Ids of calls that were made here are left out: Gemini never gave them.
"""

from __future__ import annotations

from typing import Any

from ... import types
from ..llm_request import CLIENT_ID_PREFIX
from .json_item import JsonItem

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
    made = content.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=exclude)
    for part in made.get("parts", ()):
        holder: dict[str, Any] = part.get("functionCall") or part.get("functionResponse") or {}
        if holder.get("id", "").startswith(CLIENT_ID_PREFIX):
            del holder["id"]
    return JsonItem(made)
