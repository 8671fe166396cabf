"""Endpoint /v1/responses: answers that name the one before, which is a session and an invocation
of it. Where more was said since, the session is forked there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, Literal

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from ... import _clock, types
from ...context.run_config import RunConfig, StreamingMode
from ...errors import NotFoundError
from ...events.event import Event
from ...running.pieces import Closed, Opened, Piece, Pieces, Said
from ...running.run import Run
from ...sessions._durable_store import Place
from ..agents import ServedApp
from ..conversation import answering, begin, behind, packed, unpacked, waiting
from ..endpoint import Call, Endpoint
from ..place import checked
from ..problems import Problem
from ..sse import SseResponse
from .chat import USER, arguments_of
from .errors import error_of, failure_of, on_error, unsupported
from .messages import AnyPart, Message, merged, turns_of

_ID = "resp_"


class InputMessage(BaseModel):
    """A message; those of role `assistant` are answers from before."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[AnyPart]


class CallOutput(BaseModel):
    """The result of a call that the response before asked the client for."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | list[AnyPart]


class ResponsesRequest(BaseModel):
    """What is to be answered. Fields about how a model samples are the agent's own business and are
    passed over.

    Attributes:
      model: name of the app.
      input: a text, messages, or results of calls.
      instructions: put in front of the user's words.
      previous_response_id: the response to go on from.
      stream: whether the answer comes as it is made.
      metadata: given back.
      user, safety_identifier: whose session it is.
      tools: refused, an agent has its own.
      background, conversation, prompt: refused.
      text: its format is refused unless it is text.
    """

    model: str
    input: str | list[InputMessage | CallOutput] = Field(min_length=1)
    instructions: str | None = None
    previous_response_id: str | None = None
    stream: bool | None = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    safety_identifier: str | None = None
    tools: list[Any] | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None
    text: dict[str, Any] | None = None

    def check(self) -> None:
        """Refuse what would be passed over in silence otherwise.

        Raises:
          Problem: something cannot be had of an agent.
        """
        if self.tools:
            raise unsupported("tools", "an agent has its own tools; leave it out.")
        if self.background:
            raise unsupported("background", "use /run_sse?detach=true of this server.")
        if self.conversation is not None:
            raise unsupported("conversation", "use previous_response_id.")
        if self.prompt is not None:
            raise unsupported("prompt", "the agent has its own.")
        wanted: Any = (self.text or {}).get("format")
        if isinstance(wanted, dict) and wanted.get("type") != "text":  # pyright: ignore[reportUnknownMemberType]
            raise unsupported("text", "the agent's output_schema decides.")

    def messages(self) -> list[Message]:
        """Return its messages."""
        found = [Message(role="system", content=self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return [*found, Message(role="user", content=self.input)]
        return found + [
            Message(role=one.role, content=one.content)
            for one in self.input
            if isinstance(one, InputMessage)
        ]

    def results(self) -> dict[str, Any]:
        """Return the results of calls, by the call's id."""
        if isinstance(self.input, str):
            return {}
        return {
            one.call_id: Message(role="tool", content=one.output).text()
            for one in self.input
            if isinstance(one, CallOutput)
        }


async def respond(call: Call) -> Response:
    """Answer in a session, a new one where no response before is named."""
    body: ResponsesRequest = call.body
    body.check()
    app = await call.host.agents.get(body.model)
    place, message = await _asked(call, app, body)
    stream = bool(body.stream)
    run = call.host.runs.start(
        app.runner,
        place,
        new_message=message,
        run_config=RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE),
    )
    answer = _Answer(call, body, place, run)
    if not stream:
        return JSONResponse(await answer.whole())
    settings = call.host.settings
    return SseResponse(
        answer.frames(), heartbeat=settings.heartbeat, write_timeout=settings.write_timeout
    )


async def _asked(call: Call, app: ServedApp, body: ResponsesRequest) -> tuple[Place, types.Content]:
    """Return the session, and the message for it."""
    results = body.results()
    turns = turns_of(body.messages(), "input")
    if results and (turns or body.previous_response_id is None):
        raise Problem(
            400,
            "InputValidationError",
            "input: results of calls come alone, with previous_response_id.",
        )
    if body.previous_response_id is None:
        last = max((n for n, one in enumerate(turns) if one.role == "model"), default=-1)
        message = merged(turns[last + 1 :])
        user = body.safety_identifier or body.user or USER
        return await begin(call.host, app, user, turns[: last + 1]), message
    names = unpacked(_ID, body.previous_response_id, 3)
    if names is None:
        raise NotFoundError("previous_response_id: there is no such response.")
    place = await behind(call.host, checked(Place(app.name, names[0], names[1])), names[2])
    if results:
        return place, await answering(call.host, place, results, "input")
    if any(one.role == "model" for one in turns):
        raise Problem(400, "InputValidationError", "input: the session knows its own answers.")
    return place, merged(turns)


class _Answer:
    """The response of one run, whole or as events."""

    def __init__(self, call: Call, body: ResponsesRequest, place: Place, run: Run) -> None:
        self._host, self._body = call.host, body
        self._place, self._run = place, run
        self._created = _clock.now()
        self._pieces = Pieces()
        self._output: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}
        self._number = -1

    async def whole(self) -> dict[str, Any]:
        """Wait for the run; return the response.

        Raises:
          Exception: what ended the run.
        """
        async for event in self._run:
            self._take(event)
        failure = failure_of(self._pieces)
        if failure is not None:
            raise failure
        await self._ask()
        return self._response()

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yield the response's events; a reader that is gone ends the run."""
        over = begun = False
        try:
            try:
                async for event in self._run:
                    told = self._take(event)
                    if not begun:  # only now the invocation has a name
                        begun = True
                        yield self._event("created", response=self._response("in_progress"))
                        yield self._event("in_progress", response=self._response("in_progress"))
                    for kind, fields in told:
                        yield self._event(kind, **fields)
                failure = failure_of(self._pieces)
                if failure is not None:
                    raise failure
                over = True
                for kind, fields in await self._ask():
                    yield self._event(kind, **fields)
                found = self._response()
                yield self._event(str(found["status"]), response=found)
            except Exception as error:  # boundary: the stream has begun; the client is told in it
                over = True
                told = error_of(error)[1]
                if begun:
                    failed = self._response("failed")
                    failed["error"] = {"code": "server_error", "message": told["message"]}
                    yield self._event("failed", response=failed)
                else:
                    fields = {name: told[name] for name in ("code", "message", "param")}
                    yield self._event("error", **fields)
        finally:
            if not over:
                await self._run.cancel()

    def _take(self, event: Event) -> list[tuple[str, dict[str, Any]]]:
        """Take an event of the run in; return the response's events it leads to."""
        found: list[tuple[str, dict[str, Any]]] = []
        for piece in self._pieces.of(event):
            found += self._told(piece)
        return found

    def _told(self, piece: Piece) -> list[tuple[str, dict[str, Any]]]:
        if not isinstance(piece, Opened | Said | Closed) or piece.thought:
            return []
        if isinstance(piece, Opened):
            item = _message(piece.message, "in_progress")
            self._places[piece.message] = len(self._output)
            self._output.append(item)
            return [
                ("output_item.added", {**self._at(piece.message), "item": item}),
                ("content_part.added", {**self._in(piece.message), "part": _text("")}),
            ]
        where = self._in(piece.message)
        if isinstance(piece, Said):
            return [("output_text.delta", {**where, "delta": piece.text, "logprobs": []})]
        part = _text(piece.text)
        item = _message(piece.message, "completed", part)
        self._output[self._places[piece.message]] = item
        return [
            ("output_text.done", {**where, "text": piece.text, "logprobs": []}),
            ("content_part.done", {**where, "part": part}),
            ("output_item.done", {**self._at(piece.message), "item": item}),
        ]

    def _at(self, message: str) -> dict[str, Any]:
        return {"output_index": self._places[message]}

    def _in(self, message: str) -> dict[str, Any]:
        return {**self._at(message), "item_id": _item(message), "content_index": 0}

    async def _ask(self) -> list[tuple[str, dict[str, Any]]]:
        """Add the calls that wait for the client; return the events that tell of them."""
        found: list[tuple[str, dict[str, Any]]] = []
        for one in await waiting(self._host, self._place):
            item = {
                "type": "function_call",
                "id": f"fc_{_clock.new_id()}",
                "call_id": one.call.id,
                "name": one.call.name,
                "arguments": arguments_of(one),
                "status": "completed",
            }
            where = {"output_index": len(self._output)}
            self._output.append(item)
            done = {**where, "item_id": item["id"], "arguments": item["arguments"]}
            found += [
                ("output_item.added", {**where, "item": {**item, "arguments": ""}}),
                ("function_call_arguments.delta", {**done, "delta": item["arguments"]}),
                ("function_call_arguments.done", {**done, "name": item["name"]}),
                ("output_item.done", {**where, "item": item}),
            ]
        if self._pieces.refused and self._pieces.failure is not None:
            code, message = self._pieces.failure
            part = {"type": "refusal", "refusal": message or code}
            item = _message(_clock.new_id(), "completed", part)
            found.append(("output_item.added", {"output_index": len(self._output), "item": item}))
            found.append(("output_item.done", {"output_index": len(self._output), "item": item}))
            self._output.append(item)
        return found

    def _response(self, status: str | None = None) -> dict[str, Any]:
        cut = self._pieces.cut
        status = status or ("incomplete" if cut else "completed")
        return {
            "id": packed(_ID, *self._place[1:], self._pieces.invocation),
            "object": "response",
            "created_at": self._created,
            "status": status,
            "model": self._body.model,
            "output": [] if status == "in_progress" else list(self._output),
            "previous_response_id": self._body.previous_response_id,
            "instructions": self._body.instructions,
            "metadata": self._body.metadata or {},
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "temperature": None,
            "top_p": None,
            "usage": None if status == "in_progress" else self._usage(),
        }

    def _usage(self) -> dict[str, Any]:
        usage = self._run.usage
        return {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.total_tokens,
        }

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        name = kind if kind == "error" else f"response.{kind}"
        data = {"type": name, "sequence_number": self._number, **fields}
        told = json.dumps(data, ensure_ascii=False)
        return f"event: {name}\ndata: {told}\n\n".encode()


def _item(message: str) -> str:
    return f"msg_{message}"


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(message: str, status: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": _item(message),
        "role": "assistant",
        "status": status,
        "content": list(parts),
    }


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/responses",
        "Answer as OpenAI's Responses API does",
        respond,
        body=ResponsesRequest,
        answer=dict[str, Any],
        problems=(404, 409, 500, 502, 503, 504),
        long=True,
        upload=True,
        on_error=on_error,
    ),
)
