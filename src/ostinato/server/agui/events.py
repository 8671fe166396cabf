"""A run's pieces as AG-UI's events, written by hand: the protocol's package is for its tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...events.event import Event
from ...events.pending import Pending
from ...running.pieces import Answered, Called, Changed, Closed, Opened, Piece, Pieces, Said
from ...running.run import Usage
from ...sessions.session import Session
from ..sse import frame
from .input import RunAgentInput

VERSION = "1.0"

Told = dict[str, Any]

_APPROVAL = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "payload": {},
    },
    "required": ["approved"],
}


def encoded(event: Told) -> bytes:
    """Return an event as a frame of the stream."""
    return frame(json.dumps(event, ensure_ascii=False, default=str).encode())


def started(body: RunAgentInput) -> Told:
    """Return the event with which a run begins."""
    return {**_run("RUN_STARTED", body), "protocolVersion": VERSION}


def finished(body: RunAgentInput, outcome: Told, usage: Usage | None = None) -> Told:
    """Return the event with which a run ends."""
    found = {**_run("RUN_FINISHED", body), "outcome": outcome}
    if usage is not None:
        found["usage"] = [
            {
                "inputTokens": usage.input_tokens,
                "outputTokens": usage.output_tokens,
                "totalTokens": usage.total_tokens,
            }
        ]
    return found


def _run(kind: str, body: RunAgentInput) -> Told:
    found = {"type": kind, "threadId": body.thread_id, "runId": body.run_id}
    if body.parent_run_id is not None and kind == "RUN_STARTED":
        found["parentRunId"] = body.parent_run_id
    return found


def outcome_of(pending: list[Pending], left: list[str]) -> Told:
    """Return how a run ended: well, or with calls that wait for a person.

    Args:
      pending: the calls that wait for a person.
      left: ids of the calls that were left to the client.
    """
    if not pending:
        return {"type": "success", **({"pendingToolCallIds": left} if left else {})}
    return {"type": "interrupt", "interrupts": [_interrupt(one) for one in pending]}


def _interrupt(one: Pending) -> Told:
    approval = one.kind == "approval"
    what = {"approval": "Approve", "credential": "Sign in for", "result": "Result of"}[one.kind]
    found: Told = {
        "id": one.call.id,
        "reason": "tool_call" if approval else "input_required",
        "message": one.hint or f"{what} {one.tool}",
        "toolCallId": one.tool_call_id,
        "metadata": {"kind": one.kind, "tool": one.tool, "args": one.args},
    }
    if approval:
        found["responseSchema"] = _APPROVAL
    if one.payload is not None:
        found["metadata"]["payload"] = one.payload
    return found


class Telling:
    """Tells one run.

    Args:
      state: the session's state at its beginning.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.pieces = Pieces()
        self._state = dict(state)
        self._step = ""

    def of(self, event: Event) -> list[Told]:
        """Return the events that an event leads to."""
        found: list[Told] = []
        if event.author != self._step:
            found += [*self._end_step(), {"type": "STEP_STARTED", "stepName": event.author}]
            self._step = event.author
        for piece in self.pieces.of(event):
            found += self._told(piece)
        return found

    def end(self) -> list[Told]:
        """Return the ends of what is still open."""
        found = [told for piece in self.pieces.end() for told in self._told(piece)]
        return found + self._end_step()

    def _end_step(self) -> list[Told]:
        if not self._step:
            return []
        found: list[Told] = [{"type": "STEP_FINISHED", "stepName": self._step}]
        self._step = ""
        return found

    def _told(self, piece: Piece) -> list[Told]:
        match piece:
            case Opened(message, author, thought):
                return _thinks(message) if thought else _speaks(message, author)
            case Said(message, text, thought):
                kind = "REASONING_MESSAGE_CONTENT" if thought else "TEXT_MESSAGE_CONTENT"
                return [{"type": kind, "messageId": message, "delta": text}]
            case Closed(message, _, thought):
                ends = ["REASONING_MESSAGE_END", "REASONING_END"] if thought else [_TEXT_END]
                return [{"type": kind, "messageId": message} for kind in ends]
            case Called(call, _):
                return _calls(call.id or "", call.name or "", call.args or {})
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
                patch = self._patch(delta)
                return [{"type": "STATE_DELTA", "delta": patch}] if patch else []
            case _:
                part = piece.part.model_dump(mode="json", by_alias=True, exclude_none=True)
                return [{"type": "CUSTOM", "name": "file", "value": part}]

    def _patch(self, delta: Mapping[str, Any]) -> list[Told]:
        """Return changes of state as JSON Patch."""
        found: list[Told] = []
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


def _speaks(message: str, author: str) -> list[Told]:
    start = {"type": "TEXT_MESSAGE_START", "messageId": message, "role": "assistant"}
    return [{**start, "name": author}]


def _thinks(message: str) -> list[Told]:
    return [
        {"type": "REASONING_START", "messageId": message},
        {"type": "REASONING_MESSAGE_START", "messageId": message, "role": "reasoning"},
    ]


def _calls(call_id: str, name: str, args: dict[str, Any]) -> list[Told]:
    told = json.dumps(args, ensure_ascii=False, default=str)
    return [
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": told},
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    ]


def messages_of(session: Session) -> list[Told]:
    """Return what a session holds as the messages of a thread."""
    found: list[Told] = []
    for event in session.events:
        pieces = Pieces()
        for piece in pieces.of(event):
            if isinstance(piece, Closed) and event.author == "user":
                found.append({"id": event.id, "role": "user", "content": piece.text})
            elif isinstance(piece, Closed):
                role = "reasoning" if piece.thought else "assistant"
                found.append({"id": f"{event.id}-{role}", "role": role, "content": piece.text})
            elif isinstance(piece, Called):
                found.append(_called(event, piece))
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


def _called(event: Event, piece: Called) -> Told:
    call = piece.call
    function = {"name": call.name, "arguments": json.dumps(call.args or {}, default=str)}
    return {
        "id": f"{event.id}-{call.id}",
        "role": "assistant",
        "toolCalls": [{"id": call.id, "type": "function", "function": function}],
    }
