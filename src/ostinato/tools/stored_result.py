"""Tool results that are too long for a conversation: their text, and the artifacts that hold it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from .. import types
from ..context.context_policy import ContextPolicy

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

READ_RESULT = "read_result"
"""Name of the tool that reads a result of which a request holds the beginning, or nothing."""


def describe_result(response: dict[str, Any]) -> tuple[str, str, str]:
    """Return the text of a function response, its file extension and its media type.

    A text result is that text. Everything else is JSON, one field a line, so that a part of it can
    be read.
    """
    if len(response) == 1:
        value: Any = response.get("result")
        if isinstance(value, str):
            return value, "txt", "text/plain"
    return json.dumps(response, ensure_ascii=False, indent=1), "json", "application/json"


async def save_result(
    text: str, name: str, kind: str, tool_context: ToolContext
) -> dict[str, Any] | None:
    """Save the text of a result as an artifact.

    Args:
      text: the whole text.
      name: the artifact's name.
      kind: its media type.
      tool_context: the context of the call.

    Returns:
      The artifact's `name` and `version`, and its `ref` if the model has `read_result`; None
      without an artifact service.
    """
    ctx = tool_context.get_invocation_context()
    if getattr(ctx, "artifact_service", None) is None:
        return None
    part = types.Part.from_bytes(data=text.encode("utf-8", "replace"), mime_type=kind)
    version = await tool_context.save_artifact(name, part)
    artifact: dict[str, Any] = {"name": name, "version": version}
    if isinstance(ctx.services.context_policy, ContextPolicy):
        artifact["ref"] = make_ref(name, version)
    return artifact


def make_artifact_name(tool: str, call_id: str | None, extension: str) -> str:
    """Return the name of the artifact for the result of a call."""
    call = re.sub(r"[^A-Za-z0-9_-]", "_", call_id or "call")
    return f"{tool[:60]}_{call[:50]}.{extension}"


def find_artifact(response: dict[str, Any]) -> tuple[str, int | None] | None:
    """Return name and version of the artifact that holds the whole of a shortened response.

    Args:
      response: a function response; those of MCP and OpenAPI tools count as well.

    Returns:
      None if the response is whole.
    """
    if response.get("truncated") is not True:
        return None
    artifact: Any = response.get("artifact")
    if isinstance(artifact, dict):
        fields = cast("dict[str, Any]", artifact)
        name, version = fields.get("name"), fields.get("version")
    else:
        name, version = artifact, response.get("version")
    if not isinstance(name, str):
        return None
    return name, version if isinstance(version, int) else None


def make_ref(name: str, version: int | None) -> str:
    """Return the reference of a result that is a version of an artifact."""
    return name if version is None else f"{name}@{version}"


def make_preview(text: str, ref: str, chars: int) -> dict[str, Any]:
    """Return what stands for a long result in a request.

    Args:
      text: the whole result.
      ref: the result's reference for `read_result`.
      chars: how much of the beginning is shown.
    """
    return {
        "truncated": True,
        "ref": ref,
        "total_chars": len(text),
        "message": f"The result is long; this is its beginning. Call {READ_RESULT} with this ref, "
        "and an offset or a pattern, to read more of it.",
        "preview": text[:chars],
    }
