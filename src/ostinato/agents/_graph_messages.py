"""What a LangGraph graph is sent and what it answers: events to LangChain's messages, and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

from .. import types
from .._optional import need
from ..events.event import Event

_EXTRA = "langgraph"


def conversation(events: Iterable[Event], agent: str, branch: str | None) -> list[Event]:
    """Return what the user and an agent said to each other, without what was rewound."""
    said: list[Event] = []
    for event in events:
        before = event.actions.rewind_before_invocation_id
        if before is not None:
            first = next((i for i, e in enumerate(said) if e.invocation_id == before), len(said))
            del said[first:]
        elif event.content is not None and event.content.parts:
            if event.author == "user" or (event.author == agent and event.branch == branch):
                said.append(event)
    return said


class GraphTurn:
    """What a graph is to be sent for one run of its agent.

    Args:
      said: the conversation, as `conversation` gives it.
      instruction: the system message; empty for none.
      goes_on: whether the run goes on with one that was cut off.

    Attributes:
      lost_reply: what the graph had answered to the newest messages before the run was cut off, and
        nobody stored; None where there is no such thing.
    """

    def __init__(self, said: Sequence[Event], instruction: str, *, goes_on: bool) -> None:
        self._messages: Any = need("langchain_core.messages", extra=_EXTRA)
        self._said = said
        self._instruction = instruction
        self._goes_on = goes_on
        self.lost_reply: Any = None

    def all_messages(self) -> dict[str, Any]:
        """Return the graph's input for the whole conversation."""
        return {"messages": [*self._system(), *map(self._message, self._said)]}

    def new_messages(self, snapshot: Any) -> Any:
        """Return the graph's input for what it does not know, by its state; sets `lost_reply`."""
        newest = [self._message(event) for event in self._newest()]
        known: list[Any] = list(snapshot.values.get("messages") or ())
        ids = {message.id for message in known}
        is_known = bool(newest) and all(message.id in ids for message in newest)
        if getattr(snapshot, "interrupts", None) and not is_known:
            answer = "\n".join(_text(message) for message in newest)
            return need("langgraph.types", extra=_EXTRA).Command(resume=answer)
        if self._goes_on and is_known:
            if snapshot.next:
                return None  # from its last checkpoint
            if not self._was_stored(known[-1]):
                self.lost_reply = known[-1]
        for message in newest:
            if message.id in ids:
                message.id = None  # a loop says it once more
        return {"messages": [*([] if known else self._system()), *newest]}

    def _system(self) -> list[Any]:
        if not self._instruction:
            return []
        return [self._messages.SystemMessage(content=self._instruction)]

    def _newest(self) -> list[Event]:
        """Return what the user said since the agent's last reply; at least the last of it."""
        found: list[Event] = []
        for event in reversed(self._said):
            if event.author == "user":
                found.append(event)
            elif found:
                break
        return found[::-1]

    def _was_stored(self, reply: Any) -> bool:
        newest = self._said[-1] if self._said else None
        if newest is None or newest.author == "user" or newest.content is None:
            return False
        text = "".join(part.text or "" for part in newest.content.parts or ())
        return text == _text(reply)

    def _message(self, event: Event) -> Any:
        parts = (event.content.parts if event.content is not None else None) or ()
        blocks = [block for part in parts if (block := _block(part)) is not None]
        content: Any = blocks
        if all(block["type"] == "text" for block in blocks):
            content = "\n".join(block["text"] for block in blocks)
        kind = self._messages.HumanMessage if event.author == "user" else self._messages.AIMessage
        return kind(content=content, id=event.id)


def _block(part: types.Part) -> dict[str, Any] | None:
    """Return a part as a content block; None for what a graph has no use for."""
    if part.text and not part.thought:
        return {"type": "text", "text": part.text}
    if part.inline_data is not None and part.inline_data.data:
        mime = part.inline_data.mime_type or "application/octet-stream"
        kind = mime.partition("/")[0]
        return {
            "type": kind if kind in ("image", "audio", "video") else "file",
            "base64": base64.b64encode(part.inline_data.data).decode(),
            "mime_type": mime,
        }
    if part.function_response is not None:
        return {"type": "text", "text": json.dumps(part.function_response.response)}
    return None


def answer_of(message: Any) -> dict[str, Any]:
    """Return a graph's last message as fields of an event; an error where it is no answer."""
    text = "" if message is None or message.type not in ("ai", "AIMessageChunk") else _text(message)
    if not text:
        return {
            "error_code": "EMPTY_RESPONSE",
            "error_message": "The graph ended without an answer: its last message is "
            + ("missing." if message is None else f"of type {message.type!r}, or has no text."),
        }
    fields: dict[str, Any] = {
        "content": types.Content(role="model", parts=[types.Part(text=text)]),
    }
    usage = getattr(message, "usage_metadata", None)
    if usage:
        fields["usage_metadata"] = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=usage["input_tokens"],
            candidates_token_count=usage["output_tokens"],
            total_token_count=usage["total_tokens"],
        )
    return fields


def question_of(values: Any) -> str | None:
    """Return what a graph that was interrupted asks; None where it was not."""
    interrupts = values.get("__interrupt__")
    if not interrupts:
        return None
    asked = [one.value for one in interrupts]
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in asked)


def _text(message: Any) -> str:
    """Return a message's text, of plain content or of blocks."""
    content = message.content
    if isinstance(content, str):
        return content
    texts = [one if isinstance(one, str) else one.get("text", "") for one in content]
    return "".join(texts)
