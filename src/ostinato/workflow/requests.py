"""Checks of answers to the requests of nodes, before the answers are stored.

An answer that no node waits for, or of the wrong type, is refused; the request stays open.
"""

from __future__ import annotations

from typing import Any

from .. import types
from ..errors import InvalidAnswerError, RequestWithdrawnError
from ..events.request_input import REQUEST_INPUT
from ..sessions.log.event_log import EventLog, EventRecord, visible_indexes
from .node_credential import credential_in
from .rehydrate import CREDENTIAL_ID, REQUEST_CREDENTIAL, Past, Request


def check_answers(log: EventLog, message: types.Content) -> None:
    """Raise where a message answers a node's request that it cannot answer.

    Args:
      log: the session's records.
      message: the user's message.

    Raises:
      RequestWithdrawnError: the request was answered before, or its node failed meanwhile, or was
        rewound.
      InvalidAnswerError: the answer is not of the type that the request asks for.
    """
    read: dict[str, Past] = {}
    for part in message.parts or ():
        response = part.function_response
        if response is None or response.name not in (None, REQUEST_INPUT, REQUEST_CREDENTIAL):
            continue
        record = log.find_call(response.id or "")
        if record is None or not is_request(record):
            continue
        past = read.get(record.invocation_id)
        if past is None:
            past = read[record.invocation_id] = Past(record.invocation_id)
            past.read_log(log)
        request = past.find_request(response.id or "")
        if request is None or not request.own:
            continue
        reason = _explain_closed(log, request, log.records.index(record))
        if reason:
            raise RequestWithdrawnError(
                f"Request {request.call_id!r} of node {request.path} {reason}; no node waits "
                "for this answer. Look for the requests that are open, or send a message."
            )
        if request.call_id.startswith(CREDENTIAL_ID):
            credential_in(response.response)
            continue
        fault = _find_fault(response.response, request)
        if fault:
            raise InvalidAnswerError(
                f"The answer to request {request.call_id!r} of node {request.path} does not fit "
                f"its schema: {fault}. Answer again."
            )


def _find_fault(response: dict[str, Any] | None, request: Request) -> str:
    """Return why a response does not fit the schema of a request; empty if it does.

    The error is raised apart from this one: a server hides the text of an error's cause.
    """
    try:
        request.parse_answer(response)
    except ValueError as error:
        return str(error) or "it is of another type"
    return ""


def is_request(record: EventRecord) -> bool:
    """Return whether an event holds the request of a workflow node."""
    if any(name == REQUEST_INPUT and call in record.long_running for call, name in record.calls):
        calls = record.event().get_function_calls()
        return any(one.name == REQUEST_INPUT and "interruptId" in (one.args or {}) for one in calls)
    return bool(record.path) and any(
        call == CREDENTIAL_ID + record.path for call, _ in record.calls
    )


def _explain_closed(log: EventLog, request: Request, index: int) -> str:
    if request.answered:
        return "was answered already"
    if request.withdrawn:
        return "was withdrawn, because its node failed after it had asked"
    if all(visible != index for visible in visible_indexes(log, index)):
        return "was withdrawn, because the session was rewound to before it"
    return ""
