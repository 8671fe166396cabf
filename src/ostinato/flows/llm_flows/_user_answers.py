"""The user's answers to the framework's own calls: which there are, and what they answer."""

from __future__ import annotations

from typing import Any

from ...context.invocation import InvocationContext
from ...events.event import Event
from ...sessions.event_log import TASK_ANSWER, EventRecord


class UserAnswer:
    """One answer.

    Attributes:
      request: the event that asked.
      arguments: arguments of the call that asked.
      response: what the user answered, as it came; the log keeps no secrets of it.
      after: the records committed since the answer.
    """

    __slots__ = ("after", "arguments", "request", "response")

    def __init__(
        self,
        request: EventRecord,
        arguments: dict[str, Any],
        response: dict[str, Any],
        after: list[EventRecord],
    ) -> None:
        self.request = request
        self.arguments = arguments
        self.response = response
        self.after = after


def message_answers(ctx: InvocationContext) -> bool:
    """Tell whether the current message answers calls at all."""
    message = ctx.user_content
    if message is None or not message.parts:
        return False
    for part in message.parts:
        if part.function_response is not None:
            return True
    return False


def user_answers(ctx: InvocationContext, name: str) -> list[UserAnswer]:
    """Return the answers that the current message gives to calls named `name` of this agent."""
    message = ctx.user_content
    if message is None or not message_answers(ctx):
        return []
    log = ctx.log
    for index in range(len(log.records) - 1, -1, -1):
        record = log.records[index]
        if record.author == "user" and not record.kinds & TASK_ANSWER:
            break
    else:
        return []
    answers: list[UserAnswer] = []
    given = [p.function_response for p in message.parts or () if p.function_response is not None]
    for answer in given:
        asked = log.find_call(answer.id or "") if answer.name == name else None
        if asked is None or asked.author != ctx.agent.name or asked.branch != ctx.branch:
            continue
        arguments = _arguments(asked.event(), answer.id)
        after = log.records[index + 1 :]
        answers.append(UserAnswer(asked, arguments, answer.response or {}, after))
    return answers


def _arguments(event: Event, call_id: str | None) -> dict[str, Any]:
    for call in event.get_function_calls():
        if call.id == call_id:
            return call.args or {}
    return {}


def is_answered(call_id: str, records: list[EventRecord]) -> bool:
    """Tell whether one of the records holds a response to the call."""
    return any(call == call_id for record in records for call, _ in record.responses)
