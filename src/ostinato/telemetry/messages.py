"""Contents as the messages of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from typing import Any

from .. import types

_ROLES = {"model": "assistant"}


def as_message(content: types.Content) -> dict[str, Any]:
    """Return a content as a message: role and parts."""
    parts = [_part_record(part) for part in content.parts or []]
    role = content.role or "user"
    if parts and all(part["type"] == "tool_call_response" for part in parts):
        role = "tool"
    return {"role": _ROLES.get(role, role), "parts": parts}


def _part_record(part: types.Part) -> dict[str, Any]:
    call, answer = part.function_call, part.function_response
    if call is not None:
        return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.args}
    if answer is not None:
        return {"type": "tool_call_response", "id": answer.id, "response": answer.response}
    if part.inline_data is not None:
        return {"type": "blob", "mime_type": part.inline_data.mime_type}
    if part.file_data is not None:
        return {"type": "uri", "uri": part.file_data.file_uri}
    return {"type": "reasoning" if part.thought else "text", "content": part.text or ""}
