"""Endpoint /v1/responses: answers that refer to an earlier response, which is an invocation.

A message to a response that is not the session's newest forks the session; call results never do.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from ... import _clock, types
from ...agents.agent_run_result import Usage
from ...errors import NotFoundError
from ...events.event import Event
from ...execution.run_handle import Run
from ...execution.stream_items import Closed, Opened, Said, Shown, StreamItem, StreamItems
from ...hosting.input_answers import open_requests
from ...sessions.store.durable_store import Place
from ..agents import ServedApp
from ..bodies import CountedParts
from ..client_conversations import (
    begin_keyed_session,
    begin_session,
    build_answers,
    build_text_answer,
    check_invocation,
    check_user,
    continue_after,
    load_pending,
    pack_id,
    question_of,
    unpack_id,
)
from ..endpoint import Call, Endpoint
from ..idempotency import is_accepted
from ..names import LONGEST_PACKED, CallId, Id, PackedId, check_id
from ..place import check_place, load_outline, load_records
from ..problems import Problem, invalid_input
from .chat import USER, arguments_of, link_to, start_run
from .openai_messages import AnyPart, Message, merge_turns, turns_of, user_text
from .openai_problems import error_of, failure_of, on_error, unsupported_parameter
from .parameters import check_other_parameters

_ID = "resp_"


class InputMessage(BaseModel):
    """A message; those of role `assistant` are answers from before."""

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: Annotated[str | list[AnyPart], CountedParts]


class CallOutput(BaseModel):
    """The result of a call that the response before asked the client for."""

    type: Literal["function_call_output"]
    call_id: CallId
    output: Annotated[str | list[AnyPart], CountedParts]


class ResponsesRequest(BaseModel):
    """What is to be answered. Fields about how a model samples are the agent's own business and are
    ignored; other fields are refused.

    Attributes:
      model: name of the app.
      input: a text, messages, or results of calls.
      instructions: put in front of the user's words.
      previous_response_id: the response to continue from.
      stream: whether to stream the answer.
      metadata: given back.
      user, safety_identifier: whose session it is; has to be that of `previous_response_id`.
      tools: refused, an agent has its own.
      background, conversation, prompt: refused.
      text: its format is refused unless it is text.
    """

    model_config = ConfigDict(extra="allow")

    model: Id
    input: Annotated[str | list[InputMessage | CallOutput], CountedParts] = Field(min_length=1)
    instructions: str | None = None
    previous_response_id: PackedId | None = None
    stream: bool | None = None
    metadata: dict[str, str] | None = None
    user: Id | None = None
    safety_identifier: Id | None = None
    tools: list[Any] | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None
    text: dict[str, Any] | None = None

    def check_supported(self) -> None:
        """Refuse parameters that an agent cannot honour.

        Raises:
          Problem: a parameter is not supported.
        """
        if self.tools:
            raise unsupported_parameter("tools", "an agent has its own tools; leave it out.")
        if self.background:
            raise unsupported_parameter("background", "use this server's /run_sse?detach=true.")
        if self.conversation is not None:
            raise unsupported_parameter("conversation", "use previous_response_id.")
        if self.prompt is not None:
            raise unsupported_parameter("prompt", "the agent has its own.")
        wanted: Any = (self.text or {}).get("format")
        if isinstance(wanted, dict) and wanted.get("type") != "text":  # pyright: ignore[reportUnknownMemberType]
            raise unsupported_parameter("text", "the agent's output_schema decides.")
        check_other_parameters(self.model_extra, store=(True,))

    def to_messages(self) -> list[Message]:
        """Return the instructions and the messages of the input."""
        found = [Message(role="system", content=self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return [*found, Message(role="user", content=self.input)]
        return found + [
            Message(role=one.role, content=one.content)
            for one in self.input
            if isinstance(one, InputMessage)
        ]

    def call_results(self) -> list[tuple[str, str]]:
        """Return the call results of the input, each with its call's id."""
        if isinstance(self.input, str):
            return []
        return [
            (one.call_id, Message(role="tool", content=one.output).plain_text())
            for one in self.input
            if isinstance(one, CallOutput)
        ]


async def create_response(call: Call) -> Response:
    """Run an agent in the session of the previous response, or in a new one."""
    body: ResponsesRequest = call.body
    body.check_supported()
    app = await call.host.agents.get_app(body.model)
    place, message = await _find_conversation(call, app, body)
    run = await start_run(call, app, place, message, stream=bool(body.stream))
    answer = _ResponseAnswer(call, body, place, run)
    if body.stream:
        return call.stream_frames(answer.stream_events())
    return JSONResponse(await answer.wait_for_response())


async def _find_conversation(
    call: Call, app: ServedApp, body: ResponsesRequest
) -> tuple[Place, types.Content]:
    """Return the session of the request, and its new message."""
    results = body.call_results()
    turns = turns_of(body.to_messages(), "input")
    if results and (turns or body.previous_response_id is None):
        raise invalid_input("input: send call results without messages, with previous_response_id.")
    if body.previous_response_id is None:
        last = max((n for n, one in enumerate(turns) if one.role == "model"), default=-1)
        message = merge_turns(turns[last + 1 :])
        user = body.safety_identifier or body.user or USER
        past = turns[: last + 1]
        if call.key is not None:
            return await begin_keyed_session(call.host, app, user, call.key, past), message
        return await begin_session(call.host, app, user, past), message
    names = unpack_id(_ID, body.previous_response_id, 3)
    if names is None:
        raise NotFoundError("previous_response_id: the response does not exist.")
    check_user(body.safety_identifier or body.user, names[0])
    place = check_place(Place(app.name, names[0], names[1]))
    if results:
        # The call waits in this session. A fork would accept the answer and run the call again.
        await check_invocation(call.host, place, names[2])
        return place, await build_answers(call.host, place, results, "input")
    place = await continue_after(call.host, place, names[2], call.key)
    if any(one.role == "model" for one in turns):
        raise invalid_input("input: leave out the agent's answers; the session has them.")
    if call.key is not None and await is_accepted(call.host.services.sessions, place, call.key):
        return place, merge_turns(turns)  # the first request used the text as an answer, if any
    answer = await build_text_answer(call.host, place, user_text(body.to_messages()))
    return place, answer or merge_turns(turns)


class _ResponseAnswer:
    """The response of one run, as an object or as events.

    Args:
      call: the call.
      body: the request.
      place: the session.
      run: the run; None for a response that is read from the log.
      created: the time of the request in seconds since 1970; None for now.
    """

    def __init__(
        self,
        call: Call,
        body: ResponsesRequest,
        place: Place,
        run: Run | None,
        created: float | None = None,
    ) -> None:
        self._call, self._host, self._body = call, call.host, body
        self._place = place
        self._run_now = run
        self._used = Usage()
        self._created = _clock.now() if created is None else created
        self._pieces = StreamItems()
        self._output: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}
        self._number = -1

    @property
    def _run(self) -> Run:
        if self._run_now is None:
            raise RuntimeError("A response that is read from the log has no run.")
        return self._run_now

    async def read_stored(self, events: list[Event]) -> dict[str, Any]:
        """Return the response from the agent's stored events."""
        for event in events:
            self._used.count(event)
            self._take_event(event)
        failure = failure_of(self._pieces)
        if failure is not None:
            failed = {"code": "server_error", "message": failure.message}
            return {**self._response_json("failed"), "error": failed}
        open_calls = {one.call.id for one in await load_pending(self._host, self._place)}
        if open_calls & {one.id for event in events for one in event.get_function_calls()}:
            await self._add_open_calls()
        return self._response_json()

    async def wait_for_response(self) -> dict[str, Any]:
        """Wait for the run; return the response.

        Raises:
          Exception: the run failed.
        """
        async for event in self._call.run_events(self._run):
            self._take_event(event)
        failure = failure_of(self._pieces)
        if failure is not None:
            raise failure
        await self._add_open_calls()
        return self._response_json()

    async def stream_events(self) -> AsyncGenerator[bytes, None]:
        """Yield the response's events; without an idempotency key, the run ends with its reader."""
        over = begun = False
        try:
            try:
                async for event in self._call.run_events(self._run):
                    updates = self._take_event(event)
                    if (
                        not begun
                    ):  # the first event has the invocation id, which the response id contains
                        begun = True
                        yield self._encode_event(
                            "created", response=self._response_json("in_progress")
                        )
                        yield self._encode_event(
                            "in_progress", response=self._response_json("in_progress")
                        )
                    for kind, fields in updates:
                        yield self._encode_event(kind, **fields)
                failure = failure_of(self._pieces)
                if failure is not None:
                    raise failure
                over = True
                for kind, fields in await self._add_open_calls():
                    yield self._encode_event(kind, **fields)
                found = self._response_json()
                yield self._encode_event(str(found["status"]), response=found)
            except (
                Exception
            ) as error:  # boundary: the stream has started, so the error goes into it
                over = True
                fields_of_error = error_of(error)[1]
                if begun:
                    failed = self._response_json("failed")
                    failed["error"] = {
                        "code": "server_error",
                        "message": fields_of_error["message"],
                    }
                    yield self._encode_event("failed", response=failed)
                else:
                    fields = {name: fields_of_error[name] for name in ("code", "message", "param")}
                    yield self._encode_event("error", **fields)
        finally:
            if not over and not self._call.is_detached:
                await self._run.cancel()

    def _take_event(self, event: Event) -> list[tuple[str, dict[str, Any]]]:
        """Add an event of the run; return the response's events for it."""
        found: list[tuple[str, dict[str, Any]]] = []
        for piece in self._pieces.of(event):
            found += self._piece_events(piece)
        return found

    def _piece_events(self, piece: StreamItem) -> list[tuple[str, dict[str, Any]]]:
        if isinstance(piece, Shown):
            message, text = _clock.new_id(), link_to(piece.part)
            return [
                one
                for part in (
                    Opened(message, piece.author, False),
                    Said(message, text, False),
                    Closed(message, text, False),
                )
                for one in self._piece_events(part)
            ]
        if not isinstance(piece, Opened | Said | Closed) or piece.thought:
            return []
        if isinstance(piece, Opened):
            item = _message_item(piece.message, "in_progress")
            self._places[piece.message] = len(self._output)
            self._output.append(item)
            return [
                ("output_item.added", {**self._item_position(piece.message), "item": item}),
                (
                    "content_part.added",
                    {**self._content_position(piece.message), "part": _text_part("")},
                ),
            ]
        where = self._content_position(piece.message)
        if isinstance(piece, Said):
            return [("output_text.delta", {**where, "delta": piece.text, "logprobs": []})]
        part = _text_part(piece.text)
        item = _message_item(piece.message, "completed", part)
        self._output[self._places[piece.message]] = item
        return [
            ("output_text.done", {**where, "text": piece.text, "logprobs": []}),
            ("content_part.done", {**where, "part": part}),
            ("output_item.done", {**self._item_position(piece.message), "item": item}),
        ]

    def _item_position(self, message: str) -> dict[str, Any]:
        return {"output_index": self._places[message]}

    def _content_position(self, message: str) -> dict[str, Any]:
        return {**self._item_position(message), "item_id": _item_id(message), "content_index": 0}

    async def _add_open_calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Add the calls that wait for the client; return their events."""
        found: list[tuple[str, dict[str, Any]]] = []
        pending = await load_pending(self._host, self._place)
        for one in open_requests(pending):  # front ends without support for tools show only text
            item = _message_item(_clock.new_id(), "completed", _text_part(question_of(one)))
            found += self._add_complete_item(item)
        for one in pending:
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
            found += self._add_complete_item(_message_item(_clock.new_id(), "completed", part))
        return found

    def _add_complete_item(self, item: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Add a complete item; return its events."""
        where = {"output_index": len(self._output), "item": item}
        self._output.append(item)
        return [("output_item.added", where), ("output_item.done", where)]

    def _response_json(self, status: str | None = None) -> dict[str, Any]:
        cut = self._pieces.cut
        status = status or ("incomplete" if cut else "completed")
        return {
            "id": pack_id(_ID, *self._place[1:], self._pieces.invocation),
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
            "usage": None if status == "in_progress" else self._usage_json(),
        }

    def _usage_json(self) -> dict[str, Any]:
        usage = self._used if self._run_now is None else self._run_now.usage
        return {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.total_tokens,
        }

    def _encode_event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        name = kind if kind == "error" else f"response.{kind}"
        data = {"type": name, "sequence_number": self._number, **fields}
        text = json.dumps(data, ensure_ascii=False)
        return f"event: {name}\ndata: {text}\n\n".encode()


def _item_id(message: str) -> str:
    return f"msg_{message}"


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message_item(message: str, status: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": _item_id(message),
        "role": "assistant",
        "status": status,
        "content": list(parts),
    }


def _parse_response_id(response: str) -> tuple[str, str, str]:
    """Return user, session and invocation of a response's id.

    Raises:
      NotFoundError: the id is not valid.
    """
    names = unpack_id(_ID, check_id("response", response, LONGEST_PACKED), 3)
    if names is None:
        raise NotFoundError("The response does not exist.")
    return names[0], names[1], names[2]


async def _find_response(call: Call) -> tuple[Place, list[Event]]:
    """Return the session and the events of the response in the path.

    OpenAI's clients name no model here, and the id does not contain the app, so all apps are
    searched.

    Raises:
      NotFoundError: the response does not exist.
    """
    user, session, invocation = _parse_response_id(call.path["response"])
    for app in call.host.agents.list_folders():
        place = check_place(Place(app, user, session))
        if await load_outline(call.host.services.sessions, place) is None:
            continue
        _, records = await load_records(call.host.services.sessions, place)
        events = [one.event() for one in records if one.invocation_id == invocation]
        if events:
            return place, events
    raise NotFoundError("The response does not exist.")


async def get_response(call: Call) -> dict[str, Any]:
    """Return a response from the log."""
    place, events = await _find_response(call)
    body = ResponsesRequest(model=place.app_name, input="-")
    answer = _ResponseAnswer(call, body, place, None, events[0].timestamp)
    return await answer.read_stored([one for one in events if one.author != "user"])


async def list_input_items(call: Call) -> dict[str, Any]:
    """List the input of a response: the user's messages in its invocation."""
    _, events = await _find_response(call)
    items = [
        {
            "type": "message",
            "id": _item_id(event.id),
            "role": "user",
            "status": "completed",
            "content": [_input_part(part) for part in event.content.parts or ()],
        }
        for event in events
        if event.author == "user" and event.content is not None
    ]
    ids = [one["id"] for one in items]
    return {
        "object": "list",
        "data": list(reversed(items)),  # newest first, as in OpenAI's API
        "first_id": ids[-1] if ids else None,
        "last_id": ids[0] if ids else None,
        "has_more": False,
    }


def _input_part(part: types.Part) -> dict[str, Any]:
    if part.inline_data is not None or part.file_data is not None:
        return {"type": "input_text", "text": link_to(part)}
    if part.function_response is not None:
        text = json.dumps(part.function_response.response or {}, ensure_ascii=False, default=str)
        return {"type": "input_text", "text": text}
    return {"type": "input_text", "text": part.text or ""}


async def delete_response(call: Call) -> dict[str, Any]:
    """Delete a response by deleting its session.

    Raises:
      Problem: the session has other responses.
    """
    place, events = await _find_response(call)
    _, records = await load_records(call.host.services.sessions, place)
    if {one.invocation_id for one in records} != {events[0].invocation_id}:
        raise Problem(
            409,
            "ResponseInUse",
            "The response is part of a longer conversation; delete its session instead.",
        )
    await call.host.services.sessions.delete_session(**place._asdict())
    if call.host.services.spans is not None:
        await call.host.services.spans.forget(*place)
    call.host.runs.notify_change(place)
    return {"id": call.path["response"], "object": "response", "deleted": True}


_ONE = "/v1/responses/{response}"

ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/responses",
        "Answer as OpenAI's Responses API does",
        create_response,
        body=ResponsesRequest,
        answer=dict[str, Any],
        problems=(409, 502),
        long=True,
        upload=True,
        headers=("Idempotency-Key",),
        on_error=on_error,
    ),
    Endpoint(
        "GET",
        _ONE,
        "Return a response from the log",
        get_response,
        answer=dict[str, Any],
        on_error=on_error,
    ),
    Endpoint(
        "GET",
        f"{_ONE}/input_items",
        "List what a response answers",
        list_input_items,
        answer=dict[str, Any],
        on_error=on_error,
    ),
    Endpoint(
        "DELETE",
        _ONE,
        "Delete a response that is all of its session",
        delete_response,
        answer=dict[str, Any],
        problems=(409,),
        on_error=on_error,
    ),
)
