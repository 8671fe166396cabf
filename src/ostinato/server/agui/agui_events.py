"""Translation of a run's stream items to AG-UI's events, without the protocol's package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...events.event import Event
from ...events.pending import Kind, Pending
from ...execution.run_handle import Usage
from ...execution.stream_items import (
    Answered,
    Called,
    Changed,
    Closed,
    Opened,
    Said,
    StreamItem,
    StreamItems,
)
from ...sessions.session import Session
from ..client_conversations import question_of
from ..problems import public_event
from ..sse import encode_frame
from .input import RunAgentInput

VERSION = "1.0"

AguiEvent = dict[str, Any]

_APPROVAL = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "payload": {},
    },
    "required": ["approved"],
}


def encode_event(event: AguiEvent) -> bytes:
    """Return an event as a frame of the stream."""
    return encode_frame(json.dumps(event, ensure_ascii=False, default=str).encode())


def run_started(body: RunAgentInput) -> AguiEvent:
    """Return the event at the start of a run."""
    return {**_run_event("RUN_STARTED", body), "protocolVersion": VERSION}


def run_finished(body: RunAgentInput, outcome: AguiEvent, usage: Usage | None = None) -> AguiEvent:
    """Return the event at the end of a run."""
    found = {**_run_event("RUN_FINISHED", body), "outcome": outcome}
    if usage is not None:
        found["usage"] = [
            {
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
            }
        ]
    return found


def _run_event(kind: str, body: RunAgentInput) -> AguiEvent:
    found = {"type": kind, "threadId": body.thread_id, "runId": body.run_id}
    if body.parent_run_id is not None and kind == "RUN_STARTED":
        found["parentRunId"] = body.parent_run_id
    return found


def outcome_of(pending: list[Pending], left: list[str]) -> AguiEvent:
    """Return the outcome of a run: success, or calls that wait for a person.

    Args:
      pending: the calls that wait for a person.
      left: ids of the calls that the client has to run.
    """
    if not pending:
        return {"type": "success", **({"pendingToolCallIds": left} if left else {})}
    return {"type": "interrupt", "interrupts": [_make_interrupt(one) for one in pending]}


_WHAT: dict[Kind, str] = {
    "approval": "Approve",
    "credential": "Sign in for",
    "input": "Answer",
    "result": "Result of",
}


def _make_interrupt(one: Pending) -> AguiEvent:
    approval = one.kind == "approval"
    what = _WHAT[one.kind]
    found: AguiEvent = {
        "id": one.call.id,
        "reason": "tool_call" if approval else "input_required",
        "message": question_of(one) or f"{what} {one.tool}",
        "toolCallId": one.tool_call_id,
        "metadata": {"kind": one.kind, "tool": one.tool, "args": one.args},
    }
    if approval:
        found["responseSchema"] = _APPROVAL
    elif one.response_schema is not None:
        found["responseSchema"] = one.response_schema
    if one.payload is not None:
        found["metadata"]["payload"] = one.payload
    return found


class EventTranslator:
    """Translates the events of one run; `state` is the session's state at its start."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.pieces = StreamItems()
        self._state = dict(state)
        self._step = ""

    def translate_event(self, event: Event) -> list[AguiEvent]:
        """Return AG-UI's events for one event."""
        found: list[AguiEvent] = []
        if event.author != self._step:
            found += [*self._end_step(), {"type": "STEP_STARTED", "stepName": event.author}]
            self._step = event.author
        for piece in self.pieces.of(public_event(event)):
            found += self._translate_piece(piece)
        return found

    def end_run(self) -> list[AguiEvent]:
        """Return the events that end the open messages and the open step."""
        found = [event for piece in self.pieces.end() for event in self._translate_piece(piece)]
        return found + self._end_step()

    def _end_step(self) -> list[AguiEvent]:
        if not self._step:
            return []
        found: list[AguiEvent] = [{"type": "STEP_FINISHED", "stepName": self._step}]
        self._step = ""
        return found

    def _translate_piece(self, piece: StreamItem) -> list[AguiEvent]:
        match piece:
            case Opened(message, author, thought):
                return _start_reasoning(message) if thought else _start_text(message, author)
            case Said(message, text, thought):
                kind = "REASONING_MESSAGE_CONTENT" if thought else "TEXT_MESSAGE_CONTENT"
                return [{"type": kind, "messageId": message, "delta": text}]
            case Closed(message, _, thought):
                ends = ["REASONING_MESSAGE_END", "REASONING_END"] if thought else [_TEXT_END]
                return [{"type": kind, "messageId": message} for kind in ends]
            case Called(call, _):
                return _tool_call_events(call.id or "", call.name or "", call.args or {})
            case Answered(response, event):
                result = {
                    "type": "TOOL_CALL_RESULT",
                    "messageId": f"{event}-{response.id}",
                    "toolCallId": response.id,
                    "content": json.dumps(response.response, ensure_ascii=False, default=str),
                    "role": "tool",
                }
                return [result]
            case Changed(delta):
                patch = self._patch_state(delta)
                return [{"type": "STATE_DELTA", "delta": patch}] if patch else []
            case _:
                part = piece.part.model_dump(mode="json", by_alias=True, exclude_none=True)
                return [{"type": "CUSTOM", "name": "file", "value": part}]

    def _patch_state(self, delta: Mapping[str, Any]) -> list[AguiEvent]:
        """Return changes of state as JSON Patch."""
        found: list[AguiEvent] = []
        for key, value in delta.items():
            path = "/" + key.replace("~", "~0").replace("/", "~1")
            if value is not None:
                self._state[key] = value
                found.append({"op": "add", "path": path, "value": value})
            elif key in self._state:
                del self._state[key]
                found.append({"op": "remove", "path": path})
        return found


_TEXT_END = "TEXT_MESSAGE_END"


def _start_text(message: str, author: str) -> list[AguiEvent]:
    start = {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}
    return [{**start, "name": author}]


def _start_reasoning(message: str) -> list[AguiEvent]:
    return [
        {"type": "REASONING_START", "messageId": message},
        {"type": "REASONING_MESSAGE_START", "messageId": message, "role": "reasoning"},
    ]


def _tool_call_events(call_id: str, name: str, args: dict[str, Any]) -> list[AguiEvent]:
    text = json.dumps(args, ensure_ascii=False, default=str)
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": text},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def messages_of(session: Session) -> list[AguiEvent]:
    """Return the messages of a session as the messages of a thread."""
    found: list[AguiEvent] = []
    for event in session.events:
        pieces = StreamItems()
        for piece in pieces.of(public_event(event)):
            if isinstance(piece, Closed) and event.author == "user":
                found.append({"id": event.id, "role": "user", "content": piece.text})
            elif isinstance(piece, Closed):
                role = "reasoning" if piece.thought else "assistant"
                found.append({"id": f"{event.id}-{role}", "role": role, "content": piece.text})
            elif isinstance(piece, Called):
                found.append(_tool_call_message(event, piece))
            elif isinstance(piece, Answered):
                found.append(
                    {
                        "id": f"{event.id}-{piece.response.id}",
                        "role": "tool",
                        "toolCallId": piece.response.id,
                        "content": json.dumps(piece.response.response, default=str),
                    }
                )
    return found


def _tool_call_message(event: Event, piece: Called) -> AguiEvent:
    call = piece.call
    function = {"name": call.name, "arguments": json.dumps(call.args or {}, default=str)}
    return {
        "id": f"{event.id}-{call.id}",
        "role": "assistant",
        "toolCalls": [{"id": call.id, "type": "function", "function": function}],
    }
