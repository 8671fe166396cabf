"""Results of MCP tools that are too long for a conversation: an artifact, and its beginning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ..stored_result import make_artifact_name, save_result
from .tool_result import Block, read_text

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext

MAX_RESULT = 100_000
"""Characters of a result, without its media."""

PREVIEW = 2_000
_ROOM = 20  # characters that an item counts besides its text
_MAX_BLOCKS = 200
_BYTES = ("data", "blob")  # where media and embedded files have theirs


async def bound_result(result: dict[str, Any], tool: str, tool_context: ToolContext) -> None:
    """Replace the text of a result that is too long by its beginning, and save it as an artifact.

    Args:
      result: a result of `dump_result` with its media settled, changed in place.
      tool: the tool's name, for the artifact's.
      tool_context: the call's context; without an artifact service the rest is lost.
    """
    # Most results are short, and `repr` finds that out many times faster.
    if len(repr(result)) <= MAX_RESULT or _measure(result, MAX_RESULT) <= MAX_RESULT:
        return
    blocks: list[Any] = result.get("content") or []
    media = [block for block in blocks if _has_bytes(block)][:_MAX_BLOCKS]
    text, extension, kind = _describe(result, blocks)
    short: dict[str, Any] = {
        "truncated": True,
        "total_chars": len(text),
        "message": "The result is too long; this is its beginning. Ask for less of it.",
    }
    shown = MAX_RESULT
    name = make_artifact_name(tool, tool_context.function_call_id, extension)
    artifact = await save_result(text, name, kind, tool_context)
    if artifact is not None:
        shown = PREVIEW
        short["message"] = f"The result is too long; it is the artifact {name!r}, and begins here."
        short["artifact"] = artifact
    result.pop("structuredContent", None)
    result.pop("meta", None)
    result["content"] = [{"type": "text", "text": text[:shown]}, *media]
    if "error" in result:
        result["error"] = str(result["error"])[:PREVIEW]
    result.update(short)


def _describe(result: dict[str, Any], blocks: list[Any]) -> tuple[str, str, str]:
    """Return the whole text of a result, and how a file with it ends and what type it has."""
    structured: Any = result.get("structuredContent")
    if structured is not None:
        return json.dumps(structured, ensure_ascii=False), "json", "application/json"
    plain: list[Block] = [block for block in blocks if not _has_bytes(block)]
    if all(block.get("type") == "text" for block in plain):
        return read_text(result), "txt", "text/plain"
    return json.dumps(plain, ensure_ascii=False), "json", "application/json"


def _has_bytes(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    fields = cast("Block", block)
    inner: Any = fields.get("resource")
    embedded = cast("Block", inner) if isinstance(inner, dict) else {}
    return any(name in fields or name in embedded for name in _BYTES)


def _measure(value: Any, enough: int) -> int:
    """Return about how many characters a value takes as JSON, without media; `enough` stops it."""
    total, pending = 0, [value]
    while pending and total <= enough:
        one: Any = pending.pop()
        total += _ROOM
        if isinstance(one, str):
            total += len(one)
        elif isinstance(one, list):
            pending += one
        elif isinstance(one, dict):
            fields = cast("dict[str, Any]", one)
            total += sum(map(len, fields))
            pending += [item for name, item in fields.items() if name not in _BYTES]
    return total
