"""read_result: lets the model read a result that its request holds in part, or not at all."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from .. import types
from ..context.context_policy import ContextPolicy
from ..sessions.log.event_log import EventRecord, newest_visible
from .base_tool import BaseTool
from .model_mistake import ModelMistake, wrong_arguments
from .stored_result import READ_RESULT, describe_result, find_artifact, make_ref

if TYPE_CHECKING:
    from ..context.context import Context as ToolContext

_DESCRIPTION = (
    "Read a tool result of this conversation that was shortened or left out. Give an offset to "
    "read on from there, or a pattern to find the places where that text occurs."
)
_PARAMETERS = {
    "type": "object",
    "properties": {
        "ref": {"type": "string", "description": "The ref of the result."},
        "offset": {
            "type": "integer",
            "description": "The first character to read; 0 by default.",
        },
        "pattern": {
            "type": "string",
            "description": "Plain text to find after the offset; not a regex.",
        },
    },
    "required": ["ref"],
}
_MAX_PATTERN = 200
_MAX_MATCHES = 20
_AROUND = 200  # characters on each side of a match
_FRAME = 120  # characters of an answer's JSON beside its text
_MATCH = 40  # of a match beside its text


class ReadResultTool(BaseTool):
    """Reads results that the context policy stored or left out; see `ContextPolicy`.

    It reads results of this conversation only: its ref has to be one that the agent's branch of the
    log holds. A pattern is plain text and matches in any case, so that a search is linear; it also
    matches as JSON writes it, where a result is no text.
    """

    repeatable = True
    keeps_result = True

    def __init__(self) -> None:
        super().__init__(name=READ_RESULT, description=_DESCRIPTION)

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=READ_RESULT, description=_DESCRIPTION, parameters_json_schema=_PARAMETERS
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Return a part of the result, or the places where a pattern occurs.

        Args:
          args: `ref`, and `offset` or `pattern` or both.
          tool_context: the context of the call.
        """
        ref, offset, pattern = args.get("ref"), args.get("offset"), args.get("pattern")
        complaint = _find_fault(ref, offset, pattern)
        if complaint or not isinstance(ref, str):
            return wrong_arguments(self.name, [complaint])
        text = await _load_text(ref, tool_context)
        if text is None:
            return ModelMistake(
                error=f"There is no result {ref!r:.200} in this conversation, or it was deleted. "
                "Use the ref that a shortened result names, or call the tool again."
            )
        policy = tool_context.get_invocation_context().services.context_policy or ContextPolicy()
        begin = int(offset or 0)
        room = min(policy.read_chars, policy.result_chars) - _FRAME
        if pattern:
            return _search(text, str(pattern), begin, room)
        end = begin + _count_fitting(text[begin : begin + room], room)
        found: dict[str, Any] = {"total_chars": len(text), "offset": begin, "text": text[begin:end]}
        if end < len(text):
            found["next_offset"] = end
        return found


READ_RESULT_TOOL = ReadResultTool()
"""Shared by all agents, as it keeps nothing."""


def _find_fault(ref: Any, offset: Any, pattern: Any) -> str:
    if not isinstance(ref, str) or not ref:
        return "ref: expected the ref of a result, a string"
    whole = isinstance(offset, int) or (isinstance(offset, float) and offset.is_integer())
    if offset is not None and (not whole or isinstance(offset, bool) or offset < 0):
        return "offset: expected a number of characters, 0 or more"
    if pattern is not None and not isinstance(pattern, str):
        return "pattern: expected a plain text"
    if pattern and len(pattern) > _MAX_PATTERN:
        return f"pattern: expected at most {_MAX_PATTERN} characters"
    return ""


def _search(text: str, pattern: str, begin: int, room: int) -> dict[str, Any]:
    """Return the places where a text occurs, each with what stands around it."""
    escaped = json.dumps(pattern, ensure_ascii=False)[1:-1]  # as it stands in a text of JSON
    wanted = {_fold_case(pattern), _fold_case(escaped)}
    around = min(_AROUND, room // 4)
    matches: list[dict[str, Any]] = []
    total, shown_to = 0, begin
    next_offset: int | None = None
    for at, size in _find_all(_fold_case(text), wanted, begin):
        total += 1
        if at >= shown_to and next_offset is None:
            start, end = max(shown_to, at - around), min(len(text), at + size + around)
            needed = _MATCH + _measure(text[start:end])
            if not matches and needed > room:  # show the first one in any case
                start, end = at, at + _count_fitting(text[at : at + size], room - _MATCH)
                needed = room
            if len(matches) == _MAX_MATCHES or room < needed:
                next_offset = at
            else:
                room -= needed
                matches.append({"offset": start, "text": text[start:end]})
                shown_to = max(end, at + 1)
    found: dict[str, Any] = {"total_chars": len(text), "occurrences": total, "matches": matches}
    if next_offset is not None:
        found["next_offset"] = next_offset
    return found


def _measure(text: str) -> int:
    """Return the length of a text in JSON, by which the context policy counts."""
    return len(to_json(text))


def _count_fitting(text: str, room: int) -> int:
    """Return how many characters of a text have room in JSON, one at least."""
    count = len(text)
    while count > 1 and (size := _measure(text[:count])) > room:
        count = max(1, min(count - 1, count * room // size))
    return count


def _find_all(text: str, wanted: Collection[str], begin: int) -> Iterator[tuple[int, int]]:
    """Yield place and length of each occurrence of several texts, without overlaps."""
    places = {one: text.find(one, begin) for one in wanted}
    while found := [(at, -len(one)) for one, at in places.items() if at >= 0]:
        at, size = min(found)
        yield at, -size
        for one, place in places.items():
            if 0 <= place < at - size:
                places[one] = text.find(one, at - size)


def _fold_case(text: str) -> str:
    """Return a text in lower case, with a character for each of its own, so that offsets stay."""
    # U+0130 is the only letter that grows, and a sigma's form depends on what stands around it.
    return text.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")


async def _load_text(ref: str, tool_context: ToolContext) -> str | None:
    """Return the whole text of a result, or None if the conversation has none of this ref."""
    found = _find_response(ref, tool_context)
    if found is None:
        return None
    response, artifact = found
    if artifact is None:
        return describe_result(response)[0]
    if tool_context.get_invocation_context().artifact_service is None:
        return None
    part = await tool_context.load_artifact(*artifact)
    if part is None:
        return None
    if part.text is not None:
        return part.text
    if part.inline_data is None or part.inline_data.data is None:
        return None
    return part.inline_data.data.decode("utf-8", "replace")


def _find_response(
    ref: str, tool_context: ToolContext
) -> tuple[dict[str, Any], tuple[str, int | None] | None] | None:
    """Return the newest response with a call id or an artifact's name, and its artifact.

    An artifact counts only if its own event saved it: a tool may name any artifact in its result.
    """
    name = ref.rpartition("@")[0] or ref
    for record in _list_visible(tool_context):
        if name not in record.data and not any(call == ref for call, _ in record.responses):
            continue
        event = record.event()
        saved = event.actions.artifact_delta
        for answer in event.get_function_responses():
            response: dict[str, Any] = answer.response or {}
            artifact = find_artifact(response)
            if artifact is not None and artifact[0] not in saved:
                artifact = None
            if answer.id == ref or (artifact and ref in (artifact[0], make_ref(*artifact))):
                return response, artifact
    return None


def _list_visible(tool_context: ToolContext) -> Iterator[EventRecord]:
    """Yield the records with responses on the agent's branch, newest first."""
    ctx = tool_context.get_invocation_context()
    for record in newest_visible(ctx.log):
        if not record.responses or record.scope != ctx.isolation_scope:
            continue
        mine, theirs = ctx.branch, record.branch
        if not mine or not theirs or mine == theirs or mine.startswith(f"{theirs}."):
            yield record
