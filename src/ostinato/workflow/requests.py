"""Answers to the requests of nodes, looked at before they are stored: one that nobody waits for, or
of the wrong type, is refused, and the request stays as it was.
"""

from __future__ import annotations

from .. import types
from ..errors import InputValidationError, RequestWithdrawnError
from ..events.request_input import REQUEST_INPUT
from ..sessions.event_log import EventLog, EventRecord, visible_indexes
from .answers import answer_of
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
      InputValidationError: the answer is not of the type that the request asks for.
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
            past.read(log)
        request = past.request(response.id or "")
        if request is None or not request.own:
            continue
        reason = _over(log, request, log.records.index(record))
        if reason:
            raise RequestWithdrawnError(
                f"Request {request.call_id!r} of node {request.path} {reason}; nobody waits for "
                "this answer. Look for the requests that are open, or send a message."
            )
        if request.call_id.startswith(CREDENTIAL_ID):
            credential_in(response.response)
            continue
        try:
            answer_of(response.response, request.schema)
        except ValueError as error:
            raise InputValidationError(
                f"The answer to request {request.call_id!r} of node {request.path} does not fit "
                f"its schema: {error}. Answer again."
            ) from None


def is_request(record: EventRecord) -> bool:
    """Tell whether an event holds the request of a workflow node."""
    if any(name == REQUEST_INPUT for _, name in record.calls):
        return '"interruptId"' in record.data
    return bool(record.path) and any(
        call == CREDENTIAL_ID + record.path for call, _ in record.calls
    )


def _over(log: EventLog, request: Request, index: int) -> str:
    if request.answered:
        return "was answered already"
    if request.withdrawn:
        return "was withdrawn, for the node failed after it had asked"
    if all(visible != index for visible in visible_indexes(log, index)):
        return "was withdrawn, for the conversation was taken back to before it"
    return ""
