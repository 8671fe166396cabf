"""Endpoints /v1/models and /v1/chat/completions: conversations that the client sends in full.

A digest of the messages finds the session of a conversation; otherwise a new session is created.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from ... import _clock, types
from ...context.run_config import RunConfig, StreamingMode
from ...events.pending import Pending
from ...execution.run_handle import Run
from ...execution.stream_items import Opened, Said, Shown, StreamItem, StreamItems
from ...hosting.input_answers import open_requests
from ...sessions.store.durable_store import Place
from ..agents import ServedApp
from ..bodies import CountedParts
from ..client_conversations import (
    begin_keyed_session,
    begin_session,
    build_answers,
    build_text_answer,
    check_user,
    load_pending,
    pack_id,
    question_of,
    unpack_id,
)
from ..endpoint import Call, Endpoint
from ..names import Id
from ..place import load_outline
from ..problems import Problem, invalid_input
from ..sse import encode_frame
from .openai_messages import Message, merge_turns, turns_of, user_text
from .openai_problems import error_of, failure_of, on_error, unsupported_parameter
from .parameters import check_other_parameters

USER = "openai"  # the user of requests that name none
_CALL = "call_"
_REMEMBERED = 10_000  # conversations
_BREAK = "\n\n"  # between messages
_ANY = "application/octet-stream"
_NO_MARKS = str.maketrans("", "", "[]()\\\n")


class StreamOptions(BaseModel):
    """What a stream tells besides: the usage, at its end."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A conversation to be answered. Fields about how a model samples are the agent's own business
    and are ignored; other fields are refused.

    Attributes:
      model: name of the app.
      messages: the whole conversation.
      stream: whether to stream the answer.
      user, safety_identifier: whose session it is.
      n: answers; only one.
      tools, functions: refused, an agent has its own.
      response_format: refused unless it is text.
      modalities: refused unless it is text.
    """

    model_config = ConfigDict(extra="allow")

    model: Id
    messages: Annotated[list[Message], CountedParts] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    user: Id | None = None
    safety_identifier: Id | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None

    def check_supported(self) -> None:
        """Refuse parameters that an agent cannot honour.

        Raises:
          Problem: a parameter is not supported.
        """
        if self.n not in (None, 1):
            raise unsupported_parameter("n", "an agent gives one answer.")
        for name in ("tools", "functions"):
            if getattr(self, name):
                raise unsupported_parameter(name, "an agent has its own tools; leave it out.")
        if self.response_format and self.response_format.get("type") != "text":
            raise unsupported_parameter("response_format", "the agent's output_schema decides.")
        if self.modalities and self.modalities != ["text"]:
            raise unsupported_parameter("modalities", "answers are text.")
        check_other_parameters(self.model_extra, store=(False,))


async def list_models(call: Call) -> dict[str, Any]:
    """List the apps that can be loaded as models."""
    found: list[dict[str, Any]] = []
    for name in call.host.agents.list_folders():
        try:
            found.append(_model_json((await call.host.agents.get_app(name)).name))
        except Problem:  # the reason is in the server's log
            continue
    return {"object": "list", "data": found}


async def get_model(call: Call) -> dict[str, Any]:
    """Return an app as a model."""
    app = await call.host.agents.get_app(call.path["model"])
    return _model_json(app.name)


def _model_json(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ostinato"}


async def complete_chat(call: Call) -> Response:
    """Answer a conversation."""
    body: ChatRequest = call.body
    body.check_supported()
    app = await call.host.agents.get_app(body.model)
    place, message = await _find_conversation(call, app, body)
    run = await start_run(call, app, place, message, stream=bool(body.stream))
    answer = _ChatAnswer(call, body, place, run)
    if body.stream:
        return call.stream_frames(answer.stream_chunks())
    return JSONResponse(await answer.wait_for_completion())


async def start_run(
    call: Call, app: ServedApp, place: Place, message: types.Content, *, stream: bool
) -> Run:
    """Start the run of a request, and wait until it is accepted.

    Raises:
      OstinatoError, Problem: the run cannot be started.
    """
    run = call.host.runs.start_run(
        app.runner,
        place,
        new_message=message,
        run_config=RunConfig(
            streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE,
            custom_metadata=call.key_metadata() or None,
        ),
        idempotency_key=call.key,
    )
    await run.wait_until_accepted()
    return run


async def _find_conversation(
    call: Call, app: ServedApp, body: ChatRequest
) -> tuple[Place, types.Content]:
    """Return the session of a conversation, and its new message."""
    last = max((n for n, one in enumerate(body.messages) if one.role == "assistant"), default=-1)
    past, new = body.messages[: last + 1], body.messages[last + 1 :]
    results = [one for one in new if one.role == "tool"]
    if results:
        return await _find_waiting_session(call, app, body, results, new)
    user = body.safety_identifier or body.user or USER
    message = merge_turns(turns_of(new))
    digest = _digest_messages(app.name, user, past)
    if call.key is not None:
        known = call.host.chats.get(digest)
        if known is not None and await load_outline(call.host.services.sessions, known) is None:
            known = None
        return await begin_keyed_session(
            call.host, app, user, call.key, turns_of(past), known
        ), message
    place = call.host.chats.pop(digest, None)
    if place is None or await load_outline(call.host.services.sessions, place) is None:
        return await begin_session(call.host, app, user, turns_of(past)), message
    try:
        answer = await build_text_answer(call.host, place, user_text(new))
    except Exception:  # boundary: after any refusal, a better answer may follow
        call.host.chats[digest] = place
        raise
    return place, answer or message


async def _find_waiting_session(
    call: Call, app: ServedApp, body: ChatRequest, results: list[Message], new: list[Message]
) -> tuple[Place, types.Content]:
    """Return the session that waits for call results, and the message with the results."""
    if len(results) < len(new):
        raise invalid_input("Send call results without other messages.")
    places: set[Place] = set()
    answers: list[tuple[str, str]] = []
    for one in results:
        names = unpack_id(_CALL, one.tool_call_id or "", 3)
        if names is None:
            raise invalid_input("messages: the tool_call_id does not exist.")
        check_user(body.safety_identifier or body.user, names[0])
        places.add(Place(app.name, names[0], names[1]))
        answers.append((names[2], one.plain_text()))
    if len(places) != 1:
        raise invalid_input("messages: the calls belong to several sessions.")
    place = places.pop()
    return place, await build_answers(call.host, place, answers, "messages")


def _digest_messages(app: str, user: str, messages: list[Message]) -> str:
    identity = [app, user, [one.identity_of() for one in messages]]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


class _ChatAnswer:
    """The answer of one run, as a completion or as chunks."""

    def __init__(self, call: Call, body: ChatRequest, place: Place, run: Run) -> None:
        self._call, self._host, self._body = call, call.host, body
        self._place, self._run = place, run
        self._head = {
            "id": f"chatcmpl-{_clock.new_id()}",
            "created": int(_clock.now()),
            "model": body.model,
        }
        self._pieces = StreamItems()
        self._text = ""
        self._waiting: list[Pending] = []

    async def wait_for_completion(self) -> dict[str, Any]:
        """Wait for the run; return the completion.

        Raises:
          Exception: the run failed.
        """
        async for event in self._call.run_events(self._run):
            for piece in self._pieces.of(event):
                self._add_piece(piece)
        failure = failure_of(self._pieces)
        if failure is not None:
            raise failure
        calls = await self._load_calls()
        self._add_questions()
        message: dict[str, Any] = {
            "role": "assistant",
            "content": self._text or None,
            "refusal": self._refusal_text(),
        }
        if calls:
            message["tool_calls"] = calls
        self._remember_session(calls)
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": self._finish_reason(calls),
            "logprobs": None,
        }
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._usage_json(),
        }

    async def stream_chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks; without an idempotency key, the run ends with its reader."""
        over = False
        try:
            try:
                yield self._encode_choice({"role": "assistant", "content": ""})
                async for event in self._call.run_events(self._run):
                    for piece in self._pieces.of(event):
                        text = self._add_piece(piece)
                        if text:
                            yield self._encode_choice({"content": text})
                failure = failure_of(self._pieces)
                if failure is not None:
                    raise failure
                over = True
                async for one in self._final_chunks():
                    yield one
            except (
                Exception
            ) as error:  # boundary: the stream has started, so the error goes into it
                over = True
                yield encode_frame(json.dumps({"error": error_of(error)[1]}).encode())
            yield encode_frame(b"[DONE]")
        finally:
            if not over and not self._call.is_detached:
                await self._run.cancel()

    async def _final_chunks(self) -> AsyncGenerator[bytes, None]:
        calls = await self._load_calls()
        asked = self._add_questions()
        if asked:
            yield self._encode_choice({"content": asked})
        if calls:
            numbered = [{"index": n, **one} for n, one in enumerate(calls)]
            yield self._encode_choice({"tool_calls": numbered})
        refusal = self._refusal_text()
        if refusal is not None:
            yield self._encode_choice({"refusal": refusal})
        self._remember_session(calls)
        yield self._encode_choice({}, self._finish_reason(calls))
        options = self._body.stream_options
        if options is not None and options.include_usage:
            yield self._encode_chunk({"choices": [], "usage": self._usage_json()})

    def _add_piece(self, piece: StreamItem) -> str:
        """Add a stream item to the text; return the added text."""
        more = ""
        if isinstance(piece, Opened) and not piece.thought and self._text:
            more = _BREAK
        elif isinstance(piece, Said) and not piece.thought:
            more = piece.text
        elif isinstance(piece, Shown):
            more = (_BREAK if self._text else "") + link_to(piece.part)
        self._text += more
        return more

    async def _load_calls(self) -> list[dict[str, Any]]:
        """Return the calls that wait for the client."""
        self._waiting = await load_pending(self._host, self._place)
        return [
            {
                "id": pack_id(_CALL, *self._place[1:], one.call.id or ""),
                "type": "function",
                "function": {"name": one.call.name, "arguments": arguments_of(one)},
            }
            for one in self._waiting
        ]

    def _add_questions(self) -> str:
        """Add the open questions to the text; return the added text.

        A front end without support for tools shows only the text.
        """
        questions = _BREAK.join(question_of(one) for one in open_requests(self._waiting))
        if not questions:
            return ""
        more = f"{_BREAK}{questions}" if self._text else questions
        self._text += more
        return more

    def _remember_session(self, calls: list[dict[str, Any]]) -> None:
        """Remember the session for the next request, which will include this answer."""
        answer = Message.model_validate(
            {"role": "assistant", "content": self._text, "tool_calls": calls or None}
        )
        chats = self._host.chats
        said = [*self._body.messages, answer]
        chats[_digest_messages(self._place.app_name, self._place.user_id, said)] = self._place
        if len(chats) > _REMEMBERED:
            chats.popitem(last=False)

    def _finish_reason(self, calls: list[dict[str, Any]]) -> str:
        if self._pieces.refused:
            return "content_filter"
        if calls:
            return "tool_calls"
        return "length" if self._pieces.cut else "stop"

    def _refusal_text(self) -> str | None:
        failure = self._pieces.failure
        return failure[1] or failure[0] if failure is not None and self._pieces.refused else None

    def _usage_json(self) -> dict[str, int]:
        usage = self._run.usage
        return {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
        }

    def _encode_choice(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return self._encode_chunk({"choices": [choice]})

    def _encode_chunk(self, more: dict[str, Any]) -> bytes:
        whole = {**self._head, "object": "chat.completion.chunk", **more}
        return encode_frame(json.dumps(whole, ensure_ascii=False).encode())


def link_to(part: types.Part) -> str:
    """Return a file of an answer as a Markdown link, since answers of OpenAI's API are text.

    Inline data becomes a data URL; most clients display images.
    """
    blob, file = part.inline_data, part.file_data
    if blob is not None:
        kind = blob.mime_type or _ANY
        address = f"data:{kind};base64,{base64.b64encode(blob.data or b'').decode()}"
        name = blob.display_name
    else:
        kind = (file.mime_type if file is not None else None) or _ANY
        address = (file.file_uri if file is not None else None) or ""
        name = file.display_name if file is not None else None
    shown = (name or kind).translate(_NO_MARKS)
    return f"{'!' if kind.startswith('image/') else ''}[{shown}]({address})"


def arguments_of(pending: Pending) -> str:
    """Return the arguments of an open call as JSON."""
    return json.dumps(pending.call.args or {}, ensure_ascii=False, default=str)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/models",
        "List the apps that can be loaded as OpenAI lists models",
        list_models,
        answer=dict[str, Any],
        on_error=on_error,
    ),
    Endpoint(
        "GET",
        "/v1/models/{model}",
        "Tell of an app as OpenAI tells of a model",
        get_model,
        answer=dict[str, Any],
        on_error=on_error,
    ),
    Endpoint(
        "POST",
        "/v1/chat/completions",
        "Answer a conversation as OpenAI's chat completions do",
        complete_chat,
        body=ChatRequest,
        answer=dict[str, Any],
        problems=(409, 502),
        long=True,
        upload=True,
        headers=("Idempotency-Key",),
        on_error=on_error,
    ),
)
