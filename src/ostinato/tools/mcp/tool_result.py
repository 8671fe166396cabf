"""Results of MCP tools: google-adk's dict for programs, media and artifacts for the model."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pydantic_core import to_json

from ... import types
from ..result_limits import is_too_deep

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

MAX_INLINE_TEXT = 50_000
"""Characters of an embedded text that stay in the result; a longer one becomes an artifact."""

_FOR_ALL_MODELS = frozenset(("image/png", "image/jpeg", "image/webp", "image/gif"))
_MEDIA = ("image/", "audio/", "video/", "application/pdf")
_PROTOCOL = "io.modelcontextprotocol/"
_BAD_NAME = re.compile(r"[^A-Za-z0-9._-]+")

Block = dict[str, Any]


def dump_result(result: Any, redact: Callable[[Block], Block] = lambda one: one) -> Block:
    """Return a `CallToolResult` as google-adk has it: content, structuredContent?, isError, meta?

    Args:
      result: the SDK's result.
      redact: returns the result of a tool that failed without the secrets that it repeats.

    Returns:
      The dict; with `error`, the server's text, if the tool failed. What is nested too deeply for
      an event is JSON text in it.
    """
    dumped: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    dumped.pop("resultType", None)
    meta: dict[str, Any] = dumped.pop("_meta", None) or {}
    # The protocol's own entries, such as the server's name in every answer, tell the model nothing.
    meta = {key: value for key, value in meta.items() if not key.startswith(_PROTOCOL)}
    if meta:
        dumped["meta"] = meta
    dumped.setdefault("isError", False)
    if is_too_deep(to_json(dumped)):
        _flatten(dumped)
    if dumped["isError"]:
        dumped = redact(dumped)
        dumped["error"] = read_text(dumped) or "The tool failed and gave no reason."
    return dumped


def _flatten(result: dict[str, Any]) -> None:
    """Replace what is nested too deeply by its JSON text: whole blocks and whole fields."""
    for name, value in result.items():
        if name == "content":
            texts = [to_json([[block]]) for block in value]
            result[name] = [
                {"type": "text", "text": text.decode()[2:-2]} if is_too_deep(text) else block
                for block, text in zip(value, texts, strict=True)
            ]
        elif is_too_deep(text := to_json([value])):
            result[name] = text.decode()[1:-1]


def read_text(result: dict[str, Any]) -> str:
    """Return the text of a result's content."""
    blocks: list[Block] = result.get("content") or []
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


async def settle_media(result: dict[str, Any], tool: str, tool_context: ToolContext) -> None:
    """Save embedded resources, and media that the model cannot take, as artifacts.

    A part that a model's API refuses would make the session useless, since it stays in the history.
    Short texts stay in the result. Without an artifact service, media that the model takes stay,
    and others are left out.

    Args:
      result: a result of `dump_result`, changed in place.
      tool: the tool's name, for the names of artifacts.
      tool_context: the call's context.
    """
    ctx = tool_context.get_invocation_context()
    has_store = getattr(ctx, "artifact_service", None) is not None
    blocks: list[Any] = result.get("content") or []
    for index, block in enumerate(blocks):
        if not isinstance(block, dict):
            continue
        fields = cast("Block", block)
        media = _read_media(fields)
        part = _long_text(fields) if media is None else None
        without = _without_text(fields)
        if media is not None:
            data, kind, without = media
            if fields.get("type") != "resource" and is_shown(kind, ctx):
                continue
            part = types.Part.from_bytes(data=data, mime_type=kind)
        if part is None:
            continue
        if has_store:
            uri = str(fields.get("resource", {}).get("uri") or "")
            name = artifact_name(tool, uri)
            version = await tool_context.save_artifact(name, part)
            blocks[index] = {**without, "artifact": {"name": name, "version": version}}
        elif media is not None and not is_shown(media[1], ctx):
            blocks[index] = {**without, "omitted": f"{len(media[0]):,} bytes"}


def is_shown(kind: str, ctx: Any) -> bool:
    """Return whether the model of a run takes media of a type in a function's response.

    Args:
      kind: the media type.
      ctx: the run.
    """
    if kind in _FOR_ALL_MODELS:
        return True
    model: Any = getattr(getattr(ctx, "agent", None), "model", "")
    name: Any = model if isinstance(model, str) else getattr(model, "model", "")
    return isinstance(name, str) and "gemini" in name and kind.startswith(_MEDIA)


def artifact_name(tool: str, uri: str) -> str:
    """Return the name under which an embedded resource is saved."""
    last = uri.rstrip("/").rpartition("/")[2].partition("?")[0]
    return f"{tool}-{_BAD_NAME.sub('_', last).strip('._') or 'resource'}"[:120]


def split_media(
    response: dict[str, Any],
) -> tuple[dict[str, Any], list[types.FunctionResponsePart]]:
    """Take images, audio and other media out of a result, as parts that a model sees.

    Args:
      response: a function's response; not changed.

    Returns:
      The response without their bytes, and the parts.
    """
    blocks: Any = response.get("content")
    if not isinstance(blocks, list):
        return response, []
    parts: list[types.FunctionResponsePart] = []
    rest: list[Any] = []
    for block in cast("list[Any]", blocks):
        media = _read_media(block)
        if media is None:
            rest.append(block)
            continue
        data, kind, without = media
        if kind.startswith(_MEDIA):
            parts.append(types.FunctionResponsePart.from_bytes(data=data, mime_type=kind))
            rest.append({**without, "shown": f"media part {len(parts)} of this response"})
        else:
            rest.append({**without, "omitted": f"{len(data):,} bytes that cannot be shown"})
    return ({**response, "content": rest} if rest != blocks else response), parts


def _read_media(block: Any) -> tuple[bytes, str, Block] | None:
    """Return a block's bytes, their type, and the block without them; None for other blocks."""
    if not isinstance(block, dict):
        return None
    fields = cast("Block", block)
    if fields.get("type") in ("image", "audio"):
        data = _decode(fields.get("data"))
        kind = str(fields.get("mimeType") or "application/octet-stream")
        return data and (data, kind, {k: v for k, v in fields.items() if k != "data"})
    resource: Any = fields.get("resource")
    if fields.get("type") == "resource" and isinstance(resource, dict):
        inner = cast("Block", resource)
        data = _decode(inner.get("blob"))
        kind = str(inner.get("mimeType") or "application/octet-stream")
        without = {k: v for k, v in inner.items() if k != "blob"}
        return data and (data, kind, {**fields, "resource": without})
    return None


def _long_text(block: Block) -> types.Part | None:
    """Return an embedded text that is too long for the result; None for any other block."""
    resource: Any = block.get("resource")
    text: Any = cast("Block", resource).get("text") if isinstance(resource, dict) else None
    if not isinstance(text, str) or len(text) <= MAX_INLINE_TEXT:
        return None
    kind = str(cast("Block", resource).get("mimeType") or "text/plain")
    return types.Part.from_bytes(data=text.encode(), mime_type=kind)


def _without_text(block: Block) -> Block:
    resource: Any = block.get("resource")
    if not isinstance(resource, dict):
        return block
    rest = {key: value for key, value in cast("Block", resource).items() if key != "text"}
    return {**block, "resource": rest}


def _decode(text: Any) -> Any:
    """Return base64 as bytes; None for anything else."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except binascii.Error:
        return None
