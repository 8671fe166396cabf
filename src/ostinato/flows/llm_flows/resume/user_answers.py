"""The user's answers to the framework's own calls, with the requests that they answer."""

from __future__ import annotations

from typing import Any

from .... import types
from ....context.invocation import InvocationContext
from ....sessions.log.call_requests import (
    call_of,
    find_original,
    find_request,
    is_answered_in,
    original_call_id,
)
from ....sessions.log.event_log import TASK_ANSWER, EventRecord, visible_indexes


class UserAnswer:
    """One answer to a request.

    Attributes:
      request: the event with the request.
      arguments: arguments of the request's call.
      original: the recorded tool call that the request is about, if there is one.
      response: the user's response with its secrets, which the log does not keep.
      after: the records committed since the answer.
    """

    __slots__ = ("after", "arguments", "original", "request", "response")

    def __init__(
        self,
        request: EventRecord,
        arguments: dict[str, Any],
        original: types.FunctionCall | None,
        response: dict[str, Any],
        after: list[EventRecord],
    ) -> None:
        self.request = request
        self.arguments = arguments
        self.original = original
        self.response = response
        self.after = after


def has_call_answers(ctx: InvocationContext) -> bool:
    """Return whether the current message answers any call."""
    message = ctx.user_content
    if message is None or not message.parts:
        return False
    for part in message.parts:
        if part.function_response is not None:
            return True
    return False


def read_user_answers(ctx: InvocationContext, name: str) -> list[UserAnswer]:
    """Return the answers that the current message gives to requests named `name` of this agent."""
    message = ctx.user_content
    if message is None and not ctx.services.has_runner:
        return _read_newest_answers(ctx, name)
    if message is None or not has_call_answers(ctx):
        return []
    log = ctx.log
    for index in range(len(log.records) - 1, -1, -1):
        record = log.records[index]
        # In a live run, the user's later speech may stand after the message.
        if record.author == "user" and record.responses and not record.kinds & TASK_ANSWER:
            break
    else:
        return []
    answers: list[UserAnswer] = []
    given = [p.function_response for p in message.parts or () if p.function_response is not None]
    first = {answer.id: answer for answer in reversed(given)}  # a store may accept a second one
    for answer in reversed(first.values()):
        found = find_request(log, answer.id or "") if answer.name == name else None
        if found is None:
            continue
        place, asked = found
        if asked.author != ctx.agent.name or asked.branch != ctx.branch:
            continue
        call = call_of(asked, answer.id or "")
        if call is None or call.name != name:
            continue
        seen = [log.records[one] for one in visible_indexes(log, place, index)]
        if is_answered_in(reversed(seen), asked, answer.id or ""):
            continue  # an earlier message has answered it
        arguments = call.args or {}
        original_id = original_call_id(name, arguments)
        record = find_original(log, place, asked, original_id)
        original = None if record is None else call_of(record, original_id)
        after = log.records[index + 1 :]
        answers.append(UserAnswer(asked, arguments, original, answer.response or {}, after))
    return answers


def _read_newest_answers(ctx: InvocationContext, name: str) -> list[UserAnswer]:
    """Return the answers of the user's newest event, for a context made by a test.

    Such a context has no message, and its session may lack the tool's call.
    """
    log = ctx.log
    newest = max((i for i, one in enumerate(log.records) if one.author == "user"), default=-1)
    answers: list[UserAnswer] = []
    for answer in log.records[newest].event().get_function_responses() if newest >= 0 else ():
        request = log.find_call(answer.id or "") if answer.name == name else None
        call = None if request is None else call_of(request, answer.id or "")
        if request is None or call is None or request.branch != ctx.branch:
            continue
        arguments = call.args or {}
        original_id = original_call_id(name, arguments)
        record = log.find_call(original_id)
        original = None if record is None else call_of(record, original_id)
        if original is None and "originalFunctionCall" in arguments:
            original = types.FunctionCall.model_validate(arguments["originalFunctionCall"])
        after = log.records[newest + 1 :]
        answers.append(UserAnswer(request, arguments, original, answer.response or {}, after))
    return answers


def is_answered(call_id: str, records: list[EventRecord]) -> bool:
    """Return whether one of the records holds a response to the call."""
    return any(call == call_id for record in records for call, _ in record.responses)
