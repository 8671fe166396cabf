"""A content in one line, or as a record with its media named but not written out; for logs."""

from __future__ import annotations

from typing import Any

from .. import types
from ._redaction import redact_value, redacted_text


def content_line(content: types.Content | None, longest: int = 200) -> str:
    """Return a line on what a content holds.

    Args:
      content: the content.
      longest: characters of each text that are shown.
    """
    parts = (content.parts if content else None) or []
    return " | ".join(_part_line(part, longest) for part in parts) or "(nothing)"


def shorten_text(text: str, longest: int) -> str:
    """Return the beginning of a text that is too long."""
    return text if len(text) <= longest else f"{text[:longest]}..."


def content_record(content: types.Content | None) -> dict[str, Any] | None:
    """Return a content as JSON without secrets; of its media only type and size."""
    if content is None:
        return None
    return {"role": content.role, "parts": [_part_record(part) for part in content.parts or []]}


def _part_line(part: types.Part, longest: int) -> str:
    if part.text is not None:
        kind = "thought" if part.thought else "text"
        return f"{kind}: {shorten_text(redacted_text(part.text), longest)!r}"
    if part.function_call is not None:
        return f"function_call: {part.function_call.name}"
    if part.function_response is not None:
        return f"function_response: {part.function_response.name}"
    if part.inline_data is not None:
        return f"inline_data: {part.inline_data.mime_type}"
    if part.file_data is not None:
        return f"file_data: {part.file_data.mime_type}"
    return ", ".join(part.to_json_dict()) or "(empty part)"


def _part_record(part: types.Part) -> Any:
    if part.inline_data is None:
        return redact_value(part)
    blob = part.inline_data
    shown = {
        "mime_type": blob.mime_type,
        "display_name": blob.display_name,
        "bytes": len(blob.data or b""),
    }
    return {"inline_data": {name: value for name, value in shown.items() if value is not None}}
