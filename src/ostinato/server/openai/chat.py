"""Endpoints /v1/models and /v1/chat/completions: conversations that the client carries itself.

The session of a conversation is found again by what was said in it, or else made anew from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator
from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from ... import _clock, types
from ...context.run_config import RunConfig, StreamingMode
from ...events.pending import Pending
from ...running.pieces import Opened, Piece, Pieces, Said
from ...running.run import Run
from ...sessions._durable_store import Place
from ..agents import ServedApp
from ..conversation import answering, begin, packed, unpacked, waiting
from ..endpoint import Call, Endpoint
from ..place import outline
from ..problems import Problem
from ..sse import SseResponse, frame
from .errors import error_of, failure_of, on_error, unsupported
from .messages import Message, merged, turns_of

USER = "openai"  # whose sessions they are where the client names nobody
_CALL = "call_"
_REMEMBERED = 10_000  # conversations
_BREAK = "\n\n"  # between messages


class StreamOptions(BaseModel):
    """What a stream tells besides: the usage, at its end."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A conversation to be answered. Fields about how a model samples are the agent's own business
    and are passed over.

    Attributes:
      model: name of the app.
      messages: the whole conversation.
      stream: whether the answer comes as it is made.
      user, safety_identifier: whose session it is.
      n: answers; only one.
      tools, functions: refused, an agent has its own.
      response_format: refused unless it is text.
      modalities: refused unless it is text.
    """

    model: str
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: str | None = None
    safety_identifier: str | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None

    def check(self) -> None:
        """Refuse what would be passed over in silence otherwise.

        Raises:
          Problem: something cannot be had of an agent.
        """
        if self.n not in (None, 1):
            raise unsupported("n", "an agent gives one answer.")
        for name in ("tools", "functions"):
            if getattr(self, name):
                raise unsupported(name, "an agent has its own tools; leave it out.")
        if self.response_format and self.response_format.get("type") != "text":
            raise unsupported("response_format", "the agent's output_schema decides.")
        if self.modalities and self.modalities != ["text"]:
            raise unsupported("modalities", "answers are text.")


async def models(call: Call) -> dict[str, Any]:
    """List the apps as models."""
    return {"object": "list", "data": [_model(name) for name in call.host.agents.folders()]}


async def model(call: Call) -> dict[str, Any]:
    """Tell of an app as a model."""
    app = await call.host.agents.get(call.path["model"])
    return _model(app.name)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ostinato"}


async def chat(call: Call) -> Response:
    """Answer a conversation."""
    body: ChatRequest = call.body
    body.check()
    app = await call.host.agents.get(body.model)
    place, message = await _conversation(call, app, body)
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


async def _conversation(
    call: Call, app: ServedApp, body: ChatRequest
) -> tuple[Place, types.Content]:
    """Return the session of a conversation, and what is new in it."""
    last = max((n for n, one in enumerate(body.messages) if one.role == "assistant"), default=-1)
    past, new = body.messages[: last + 1], body.messages[last + 1 :]
    results = [one for one in new if one.role == "tool"]
    if results:
        return await _answered(call, app, results, new)
    user = body.safety_identifier or body.user or USER
    message = merged(turns_of(new))
    place = call.host.chats.pop(_digest(app.name, user, past), None)
    if place is None or await outline(call.host.services.sessions, place) is None:
        place = await begin(call.host, app, user, turns_of(past))
    return place, message


async def _answered(
    call: Call, app: ServedApp, results: list[Message], new: list[Message]
) -> tuple[Place, types.Content]:
    """Return the session that waits for these results, and the message that holds them."""
    if len(results) < len(new):
        raise Problem(400, "InputValidationError", "Send results of calls without other messages.")
    places: set[Place] = set()
    answers: dict[str, Any] = {}
    for one in results:
        names = unpacked(_CALL, one.tool_call_id or "", 3)
        if names is None:
            raise Problem(400, "InputValidationError", "messages: there is no such tool_call_id.")
        places.add(Place(app.name, names[0], names[1]))
        answers[names[2]] = one.text()
    if len(places) != 1:
        raise Problem(400, "InputValidationError", "messages: the calls are of several sessions.")
    place = places.pop()
    return place, await answering(call.host, place, answers, "messages")


def _digest(app: str, user: str, messages: list[Message]) -> str:
    told = [app, user, [one.said() for one in messages]]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


class _Answer:
    """The answer of one run, whole or in chunks."""

    def __init__(self, call: Call, body: ChatRequest, place: Place, run: Run) -> None:
        self._host, self._body = call.host, body
        self._place, self._run = place, run
        self._head = {
            "id": f"chatcmpl-{_clock.new_id()}",
            "created": int(_clock.now()),
            "model": body.model,
        }
        self._pieces = Pieces()
        self._text = ""

    async def whole(self) -> dict[str, Any]:
        """Wait for the run; return the completion.

        Raises:
          Exception: what ended the run.
        """
        async for event in self._run:
            for piece in self._pieces.of(event):
                self._add(piece)
        failure = failure_of(self._pieces)
        if failure is not None:
            raise failure
        calls = await self._calls()
        message: dict[str, Any] = {
            "role": "assistant",
            "content": self._text or None,
            "refusal": self._refusal(),
        }
        if calls:
            message["tool_calls"] = calls
        self._remember(calls)
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": self._reason(calls),
            "logprobs": None,
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._usage(),
        }

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks; a reader that is gone ends the run."""
        over = False
        try:
            try:
                yield self._chunk({"role": "assistant", "content": ""})
                async for event in self._run:
                    for piece in self._pieces.of(event):
                        text = self._add(piece)
                        if text:
                            yield self._chunk({"content": text})
                failure = failure_of(self._pieces)
                if failure is not None:
                    raise failure
                over = True
                async for one in self._ending():
                    yield one
            except Exception as error:  # boundary: the stream has begun; the client is told in it
                over = True
                yield frame(json.dumps({"error": error_of(error)[1]}).encode())
            yield frame(b"[DONE]")
        finally:
            if not over:
                await self._run.cancel()

    async def _ending(self) -> AsyncGenerator[bytes, None]:
        calls = await self._calls()
        if calls:
            numbered = [{"index": n, **one} for n, one in enumerate(calls)]
            yield self._chunk({"tool_calls": numbered})
        refusal = self._refusal()
        if refusal is not None:
            yield self._chunk({"refusal": refusal})
        self._remember(calls)
        yield self._chunk({}, self._reason(calls))
        options = self._body.stream_options
        if options is not None and options.include_usage:
            yield self._frame({"choices": [], "usage": self._usage()})

    def _add(self, piece: Piece) -> str:
        """Take a piece in; return what is new in the text."""
        more = ""
        if isinstance(piece, Opened) and not piece.thought and self._text:
            more = _BREAK
        elif isinstance(piece, Said) and not piece.thought:
            more = piece.text
        self._text += more
        return more

    async def _calls(self) -> list[dict[str, Any]]:
        """Return the calls that wait for the client; the agent's own are its business."""
        return [
            {
                "id": packed(_CALL, *self._place[1:], one.call.id or ""),
                "type": "function",
                "function": {"name": one.call.name, "arguments": arguments_of(one)},
            }
            for one in await waiting(self._host, self._place)
        ]

    def _remember(self, calls: list[dict[str, Any]]) -> None:
        """Find the session again when the conversation comes back with this answer."""
        answer = Message.model_validate(
            {"role": "assistant", "content": self._text, "tool_calls": calls or None}
        )
        chats = self._host.chats
        said = [*self._body.messages, answer]
        chats[_digest(self._place.app_name, self._place.user_id, said)] = self._place
        if len(chats) > _REMEMBERED:
            chats.popitem(last=False)

    def _reason(self, calls: list[dict[str, Any]]) -> str:
        if self._pieces.refused:
            return "content_filter"
        if calls:
            return "tool_calls"
        return "length" if self._pieces.cut else "stop"

    def _refusal(self) -> str | None:
        failure = self._pieces.failure
        return failure[1] or failure[0] if failure is not None and self._pieces.refused else None

    def _usage(self) -> dict[str, int]:
        usage = self._run.usage
        return {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
        }

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return self._frame({"choices": [choice]})

    def _frame(self, more: dict[str, Any]) -> bytes:
        whole = {**self._head, "object": "chat.completion.chunk", **more}
        return frame(json.dumps(whole, ensure_ascii=False).encode())


def arguments_of(pending: Pending) -> str:
    """Return the arguments of a call that waits as JSON."""
    return json.dumps(pending.call.args or {}, ensure_ascii=False, default=str)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/models",
        "List the apps as OpenAI lists models",
        models,
        answer=dict[str, Any],
        on_error=on_error,
    ),
    Endpoint(
        "GET",
        "/v1/models/{model}",
        "Tell of an app as OpenAI tells of a model",
        model,
        answer=dict[str, Any],
        problems=(404, 503),
        on_error=on_error,
    ),
    Endpoint(
        "POST",
        "/v1/chat/completions",
        "Answer a conversation as OpenAI's chat completions do",
        chat,
        body=ChatRequest,
        answer=dict[str, Any],
        problems=(404, 409, 500, 502, 503, 504),
        long=True,
        upload=True,
        on_error=on_error,
    ),
)
