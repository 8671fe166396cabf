"""Conversion of events to LangChain messages for a LangGraph graph, and of its answer to events."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

from .. import types
from .._optional import need
from ..events.event import Event
from ..events.visible_events import visible_events

_EXTRA = "langgraph"


def select_conversation(events: Iterable[Event], agent: str, branch: str | None) -> list[Event]:
    """Return the events between the user and an agent, without rewound ones."""
    return [
        event
        for event in visible_events(events)
        if event.content is not None
        and event.content.parts
        and (event.author == "user" or (event.author == agent and event.branch == branch))
    ]


class GraphTurn:
    """The graph's input for one run of its agent.

    Args:
      conversation: the conversation, from `conversation`.
      instruction: the system message; empty for none.
      is_resumed: whether the run resumes an interrupted one.

    Attributes:
      lost_reply: the graph's answer to the newest messages if the run was interrupted before it was
        stored; else None.
    """

    def __init__(
        self, conversation: Sequence[Event], instruction: str, *, is_resumed: bool
    ) -> None:
        self._messages: Any = need("langchain_core.messages", extra=_EXTRA)
        self._conversation = conversation
        self._instruction = instruction
        self._is_resumed = is_resumed
        self.lost_reply: Any = None

    def all_messages(self) -> dict[str, Any]:
        """Return the graph's input for the whole conversation."""
        return {"messages": [*self._system_messages(), *map(self._to_message, self._conversation)]}

    def new_messages(self, snapshot: Any) -> Any:
        """Return the messages that the graph's state lacks as its input; set `lost_reply`."""
        newest = [self._to_message(event) for event in self._newest_user_events()]
        known: list[Any] = list(snapshot.values.get("messages") or ())
        ids = {message.id for message in known}
        is_known = bool(newest) and all(message.id in ids for message in newest)
        if getattr(snapshot, "interrupts", None) and not is_known:
            answer = "\n".join(_message_text(message) for message in newest)
            return need("langgraph.types", extra=_EXTRA).Command(resume=answer)
        if self._is_resumed and is_known:
            if snapshot.next:
                return None  # resume from its last checkpoint
            if not self._was_stored(known[-1]):
                self.lost_reply = known[-1]
        for message in newest:
            if message.id in ids:
                message.id = None  # a loop sends it again
        return {"messages": [*([] if known else self._system_messages()), *newest]}

    def _system_messages(self) -> list[Any]:
        if not self._instruction:
            return []
        return [self._messages.SystemMessage(content=self._instruction)]

    def _newest_user_events(self) -> list[Event]:
        """Return the user's events since the agent's last reply; at least the newest ones."""
        found: list[Event] = []
        for event in reversed(self._conversation):
            if event.author == "user":
                found.append(event)
            elif found:
                break
        return found[::-1]

    def _was_stored(self, reply: Any) -> bool:
        newest = self._conversation[-1] if self._conversation else None
        if newest is None or newest.author == "user" or newest.content is None:
            return False
        text = "".join(part.text or "" for part in newest.content.parts or ())
        return text == _message_text(reply)

    def _to_message(self, event: Event) -> Any:
        parts = (event.content.parts if event.content is not None else None) or ()
        blocks = [block for part in parts if (block := _to_block(part)) is not None]
        content: Any = blocks
        if all(block["type"] == "text" for block in blocks):
            content = "\n".join(block["text"] for block in blocks)
        kind = self._messages.HumanMessage if event.author == "user" else self._messages.AIMessage
        return kind(content=content, id=event.id)


def _to_block(part: types.Part) -> dict[str, Any] | None:
    """Return a part as a content block; None for parts that a graph cannot use."""
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


def answer_fields(message: Any) -> dict[str, Any]:
    """Return a graph's last message as fields of an event; an error if it is not an answer."""
    text = (
        ""
        if message is None or message.type not in ("ai", "AIMessageChunk")
        else _message_text(message)
    )
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


def find_question(values: Any) -> str | None:
    """Return the question of an interrupted graph; None if it was not interrupted."""
    interrupts = values.get("__interrupt__")
    if not interrupts:
        return None
    asked = [one.value for one in interrupts]
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in asked)


def _message_text(message: Any) -> str:
    """Return a message's text, from plain content or blocks."""
    content = message.content
    if isinstance(content, str):
        return content
    texts = [one if isinstance(one, str) else one.get("text", "") for one in content]
    return "".join(texts)
