"""Requests to people in the event log: which calls wait for an answer, and what an answer is for.

Only events that the runtime wrote are requests: the call's name, its id among the long-running
ids, and an agent as author. History from outside is marked when it is stored, see `history.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ... import _clock
from ...auth.tool_confirmation import ToolConfirmation
from ...errors import CallNotOpenError, InvalidAnswerError, RequestWithdrawnError
from ...events.event import Event, path_in_graph
from ...events.pending import ENDED, IMPORTED, UnstartedCalls
from ...events.request_input import REQUEST_INPUT
from ...events.tool_origin import ToolOrigin, read_tool_origin
from ...types import FunctionCall, FunctionResponse
from ..session import Session, log_of
from ..store.durable_store import CallAnswer, CallChanges, CallRequest, RequestKind
from .confirmation_answers import check_confirmation, read_confirmation
from .event_log import EventLog, EventRecord, newest_visible, visible_indexes, visible_records
from .resume import SEALED, OpenCall

REQUEST_CONFIRMATION = "adk_request_confirmation"
REQUEST_CREDENTIAL = "adk_request_credential"

_KINDS: dict[str, RequestKind] = {
    REQUEST_CONFIRMATION: "approval",
    REQUEST_CREDENTIAL: "credential",
    REQUEST_INPUT: "input",
}


def kind_of(name: str) -> RequestKind:
    """Return what a long-running call with this name waits for."""
    return _KINDS.get(name, "result")


def find_request(log: EventLog, call_id: str) -> tuple[int, EventRecord] | None:
    """Return index and record of the newest request with a call id, or None."""
    for index in range(len(log.records) - 1, -1, -1):
        record = log.records[index]
        if call_id in record.long_running and record.author != "user":
            if any(call == call_id for call, _ in record.calls):
                return None if record.has_metadata(IMPORTED) else (index, record)
    return None


def original_call_id(name: str, arguments: dict[str, Any]) -> str:
    """Return the id of the tool's call that a request is about; empty if it is about none."""
    if name == REQUEST_CONFIRMATION:
        call: Any = arguments.get("originalFunctionCall")
        return str(call.get("id") or "") if isinstance(call, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    if name in (REQUEST_CREDENTIAL, REQUEST_INPUT):
        return str(arguments.get("functionCallId") or "")
    return ""


def find_asking_call(log: EventLog, call_id: str) -> str | None:
    """Return the id of the tool's call that the request with a call id is about; empty if it is
    about none, None if there is no such request."""
    found = find_request(log, call_id)
    request = None if found is None else call_of(found[1], call_id)
    return None if request is None else original_call_id(request.name or "", request.args or {})


def find_original(
    log: EventLog, index: int, request: EventRecord, call_id: str
) -> EventRecord | None:
    """Return the record of the tool's call that a request is about, or None.

    Args:
      log: the records.
      index: index of the request; only what the same agent called before it counts.
      request: the request.
      call_id: the tool's call.
    """
    for record in reversed(log.records[:index]):
        if (record.author, record.branch) == (request.author, request.branch):
            if any(call == call_id and kind_of(name) == "result" for call, name in record.calls):
                return record
    return None


def call_of(record: EventRecord, call_id: str) -> FunctionCall | None:
    """Return a call of a record, or None if it holds no such call."""
    for call in record.event().get_function_calls():
        if call.id == call_id:
            return call
    return None


def call_requests(event: Event, log: EventLog) -> list[CallRequest]:
    """Return the requests that an event makes.

    Args:
      event: an event with long-running calls.
      log: the records before it; the tool's call behind a request is looked up there.
    """
    found: list[CallRequest] = []
    for call in event.get_function_calls():
        if call.id is None or call.id not in (event.long_running_tool_ids or ()):
            continue
        name = call.name or ""
        original = original_call_id(name, call.args or {})
        record = log.find_call(original) if original else None
        tool = None if record is None else call_of(record, original)
        origin = read_tool_origin(event if record is None else record.event(), original or call.id)
        question = {
            "call": call.model_dump(mode="json", by_alias=True, exclude_none=True),
            "tool": tool and tool.model_dump(mode="json", by_alias=True, exclude_none=True),
            "path": path_in_graph(event),
        }
        if origin is not None:
            question["origin"] = origin.to_json()
        found.append(
            CallRequest(
                call_id=call.id,
                kind=kind_of(name),
                name=name,
                invocation_id=event.invocation_id,
                event_id=event.id,
                author=event.author,
                asked=event.timestamp,
                question=json.dumps(question),
            )
        )
    return found


def open_requests_in(records: Sequence[EventRecord]) -> list[CallRequest]:
    """Return the requests of a session's records that no user has answered and no rewind hides."""
    log = EventLog(records)
    visible = visible_records(log)
    unstarted = find_unstarted(visible)
    found: list[CallRequest] = []
    for record in visible:
        if not record.long_running or record.author == "user" or record.has_metadata(IMPORTED):
            continue
        found += [
            request
            for request in call_requests(record.event(), log)
            if not is_answered_in(visible, record, request.call_id)
            and not (request.kind == "result" and request.call_id in unstarted)
        ]
    return found


def find_unstarted(records: Iterable[EventRecord]) -> set[str]:
    """Return the calls whose tools have not begun: a person has to approve them, or they have ended
    before.

    Args:
      records: the visible records, oldest first.
    """
    calls = UnstartedCalls()
    for record in records:
        if record.author == "user":
            is_of_use = any(calls.is_answer(call) for call, _ in record.responses)
        else:
            is_of_use = bool(record.long_running) or record.has_metadata(ENDED)
        if is_of_use and not record.has_metadata(IMPORTED):
            calls.note_event(record.event())
    return calls.ids


def read_question(request: CallRequest) -> tuple[FunctionCall, FunctionCall | None]:
    """Return the call that a request makes, and the tool's call behind it or None."""
    question: dict[str, Any] = json.loads(request.question)
    tool = question.get("tool")
    return (
        FunctionCall.model_validate(question["call"]),
        None if tool is None else FunctionCall.model_validate(tool),
    )


def read_origin(request: CallRequest) -> ToolOrigin | None:
    """Return where the tool behind a request comes from, or None for a function."""
    return ToolOrigin.from_json(json.loads(request.question).get("origin"))


def read_node_path(request: CallRequest) -> str:
    """Return the path of the workflow node that asks; empty outside of graphs."""
    return json.loads(request.question).get("path", "")


def note_requests(
    changes: CallChanges | None, events: Sequence[Event], log: EventLog
) -> CallChanges:
    """Return what the runtime's own events change of requests, added to given changes.

    Args:
      changes: the given changes; None for none.
      events: events that are about to be stored.
      log: the records before them.
    """
    changes = changes or CallChanges()
    asked = {one.call_id: one for one in changes.asked}
    answers = [*changes.answers]
    withdrawn = dict.fromkeys(changes.withdrawn)
    for event in events:
        if event.long_running_tool_ids and event.author != "user":
            for request in call_requests(event, log):
                asked[request.call_id] = request
                held = _find_held(log, request)
                if held is not None:
                    asked.pop(held, None)
                    withdrawn[held] = None
        elif is_final_answer(event):
            ended = (event.custom_metadata or {}).get(ENDED)
            answers += [
                CallAnswer(one.id or "", json.dumps(one.response, default=str), event.id, False)
                for one in event.get_function_responses()
                if ended is None or one.id in ended
            ]
        elif is_node_failure(event):
            withdrawn.update(dict.fromkeys(_questions_of_node(log, event)))
        elif event.author == "user":
            for request in _find_released(log, event):
                withdrawn.pop(request.call_id, None)
                asked[request.call_id] = request
    return replace(changes, asked=[*asked.values()], answers=answers, withdrawn=tuple(withdrawn))


def _find_held(log: EventLog, request: CallRequest) -> str | None:
    """Return the long-running call whose tool does not begin before a request is answered."""
    tool = read_question(request)[1] if request.kind == "approval" else None
    record = None if tool is None else log.find_call(tool.id or "")
    if tool is None or record is None or tool.id not in record.long_running:
        return None
    return tool.id


def _find_released(log: EventLog, event: Event) -> Iterator[CallRequest]:
    """Yield the long-running calls that wait for results again, since a user's event lets their
    tools run."""
    answered = [find_request(log, one.id or "") for one in event.get_function_responses()]
    records = [one[1] for one in answered if one is not None]
    calls = UnstartedCalls()
    for record in records:
        calls.note_event(record.event())
    held = {*calls.ids}
    calls.note_event(event)
    for call_id in sorted(held - calls.ids):
        record = log.find_call(call_id)
        if record is None or call_id not in record.long_running:
            continue
        yield from (one for one in call_requests(record.event(), log) if one.call_id == call_id)


def claims_of_event(session: Session, event: Event) -> CallChanges | None:
    """Return the claims of a user's event that a program stores by itself; None if it answers
    nothing.

    The event gets its id here, which names the claims: to store it again claims nothing anew.

    Args:
      session: the session as the program has it.
      event: the event that is about to be stored.

    Raises:
      InvalidAnswerError: the event answers a call twice, or an approval by something that decides
        nothing.
      CallNotOpenError: an answer has another name than its request, or the event is of an
        invocation that is neither the request's nor its own.
      RequestWithdrawnError: a rewind hides the request.
    """
    if event.author != "user":
        return None
    responses = event.get_function_responses()
    if not responses:
        return None
    event.id = event.id or _clock.new_id()
    log, answers = log_of(session), list[CallAnswer]()
    for one in responses:
        if one.id is None:
            continue
        if any(answer.call_id == one.id for answer in answers):
            raise InvalidAnswerError(f"The event answers call {one.id!r} twice.")
        found = find_request(log, one.id)
        names = [] if found is None else [name for call, name in found[1].calls if call == one.id]
        kind = kind_of((one.name or "") if not names else names[0] or "")
        request = None
        if found is not None and event.id not in log:
            check_not_rewound(log, found[0], one.id)
        if found is not None and kind != "result":
            _check_stored_answer(log, event, one, found[1])
            asked = call_requests(found[1].event(), log)
            request = next(each for each in asked if each.call_id == one.id)
        answer, seen = json.dumps(one.response or {}, default=str), log.offset + len(log)
        answers.append(CallAnswer(one.id, answer, event.id, kind != "result", request, seen))
    return CallChanges(asked=[*_find_released(log, event)], answers=answers)


def check_not_rewound(log: EventLog, index: int, call_id: str) -> None:
    """Raise RequestWithdrawnError if a rewind hides a request.

    Args:
      log: the records.
      index: index of the request.
      call_id: its call.
    """
    if index not in visible_indexes(log, index):
        raise RequestWithdrawnError(
            f"Call {call_id!r} does not wait any more: the session was rewound to before it."
        )


def _check_stored_answer(
    log: EventLog, event: Event, response: FunctionResponse, request: EventRecord
) -> None:
    """Refuse an answer that would claim its call and that no resume could act on."""
    name = next(name for call, name in request.calls if call == response.id)
    if response.name != name and not (response.name is None and name == REQUEST_INPUT):
        raise CallNotOpenError(
            f"The answer to call {response.id!r} is named {response.name!r}, but the call is "
            f"{name!r}. Answer with the call's name."
        )
    own = event.invocation_id and log.start_of(event.invocation_id) is None
    if event.invocation_id != request.invocation_id and not own and event.id not in log:
        raise CallNotOpenError(
            f"Call {response.id!r} waits in invocation {request.invocation_id!r}, and the event "
            f"that answers it is of {event.invocation_id!r}. Give the event the call's invocation "
            "or one of its own."
        )
    if name == REQUEST_CONFIRMATION:
        try:
            check_confirmation(response.response or {})
        except ValueError:
            raise InvalidAnswerError(
                f"The answer to call {response.id!r} ({name}) decides nothing: 'confirmed' is to "
                "be true or false, and 'args' an object. The call stays open."
            ) from None


def is_node_failure(event: Event) -> bool:
    """Return whether an event says that a workflow node failed, so that its questions are moot."""
    return event.error_code is not None and event.content is None and bool(path_in_graph(event))


def _questions_of_node(log: EventLog, failed: Event) -> list[str]:
    """Return the calls by which a failed node, or nodes below it, asked for input, and that no user
    has answered: an answered call stays claimed."""
    path, below = failed.node_info.path, f"{failed.node_info.path}/"
    asked = [
        (record, call)
        for record in log.invocation(failed.invocation_id)
        if record.long_running and (record.path == path or record.path.startswith(below))
        for call, name in record.calls
        if call is not None and call in record.long_running and name == REQUEST_INPUT
    ]
    visible = visible_records(log) if asked else ()
    return [call for record, call in asked if not is_answered_in(visible, record, call)]


def is_final_answer(event: Event) -> bool:
    """Return whether the runtime answers long-running calls with an event: the output of a task,
    or the end of a call whose tool never began."""
    if event.author == "user":
        return bool(event.node_info.path)
    metadata = event.custom_metadata
    return metadata is not None and (SEALED in metadata or ENDED in metadata)


def is_answered_in(records: Iterable[EventRecord], request: EventRecord, call_id: str) -> bool:
    """Return whether records after a request hold the user's answer to it."""
    asked = False
    for record in records:
        if record.id == request.id:
            asked = True
        elif asked and record.author == "user":
            if any(call == call_id for call, _ in record.responses):
                return True
    return False


def unfinished_decisions(log: EventLog, invocation_id: str | None = None) -> list[OpenCall]:
    """Return what a user has decided and what has come to no result since.

    Args:
      log: the session's records.
      invocation_id: only what this invocation asked or the user decided in it; None for all.

    Returns:
      The tool's call behind each answered approval or credential request without a response since;
      the answered request itself of a workflow node that has said nothing since.
    """
    if not any(record.long_running for record in log.records):
        return []
    visible = visible_records(log)
    answered, given, responded, spoken = _find_places(visible)
    found: list[OpenCall] = []
    for record in visible:
        if record.author == "user" or record.has_metadata(IMPORTED):
            continue
        for call_id in sorted(record.long_running & answered.keys()):
            call, at = call_of(record, call_id), answered[call_id]
            if invocation_id not in (None, record.invocation_id, visible[at].invocation_id):
                continue
            name = (call and call.name) or ""
            if kind_of(name) == "result":
                continue  # the answer is the result
            original = original_call_id(name, (call and call.args) or {})
            source = find_original(log, log.records.index(record), record, original)
            # The user's result of a long-running call shows that the call ran, too.
            if (
                source is not None
                and max(responded.get(original, -1), given.get(original, -1)) < at
            ):
                tool = next(tool for one, tool in source.calls if one == original)
                found.append(OpenCall(source, original, tool, original in source.long_running))
            elif source is None and record.path and spoken.get(record.path, -1) < at:
                found.append(OpenCall(record, call_id, name, True))
    return found


def is_rejected(log: EventLog, call_id: str) -> bool:
    """Return whether the user's newest decision about a tool's call rejects it."""
    decision = find_decision(log, call_id)
    return decision is not None and not decision[0].confirmed


def find_decision(log: EventLog, call_id: str) -> tuple[ToolConfirmation, dict[str, Any]] | None:
    """Return the user's newest decision about a tool's call, with the arguments decided on.

    Args:
      log: the session's records.
      call_id: the tool's call.

    Returns:
      None if the user has not decided, or another program stored an answer that decides nothing.
    """
    newest = next(_decisions(log, call_id), None)
    if newest is None:
        return None
    try:
        confirmation = read_confirmation(newest.response)[0]
    except ValueError:
        return None
    edited = find_edit(log, call_id)
    if edited is not None:
        return confirmation, edited
    original = None if newest.source is None else call_of(newest.source, call_id)
    return confirmation, (original and original.args) or {}


def find_edit(log: EventLog, call_id: str) -> dict[str, Any] | None:
    """Return the arguments that the user edited last for a tool's call; None without an edit.

    Args:
      log: the session's records.
      call_id: the tool's call.
    """
    for decision in _decisions(log, call_id):
        try:
            edited = read_confirmation(decision.response)[1]
        except ValueError:  # another program stored it
            continue
        if edited is not None:
            return edited
    return None


def find_answered_request(log: EventLog, call_id: str) -> EventRecord | None:
    """Return the request for confirmation of a tool's call that the user answered last, or None."""
    newest = next(_decisions(log, call_id), None)
    return None if newest is None else newest.request


class DecidedQuestion(NamedTuple):
    """A request for confirmation that the user has answered.

    Attributes:
      record: the request.
      tool: the name of the tool that it is about.
      hint: what the user was asked.
    """

    record: EventRecord
    tool: str
    hint: str


def find_decided_question(log: EventLog, call_id: str) -> DecidedQuestion | None:
    """Return the request for confirmation that the user's newest decision about a call answers.

    Args:
      log: the session's records.
      call_id: the tool's call.

    Returns:
      None if there is no decision, or the newest one answers a tool's question for input.
    """
    for answer in answers_about(log, call_id):
        if answer.name == REQUEST_CREDENTIAL:
            continue  # it decides nothing
        if answer.name != REQUEST_CONFIRMATION:
            return None
        for call in answer.request.event().get_function_calls():
            arguments: dict[str, Any] = call.args or {}
            if original_call_id(call.name or "", arguments) == call_id:
                asked: Any = arguments.get("toolConfirmation") or {}
                tool = str(arguments["originalFunctionCall"].get("name") or "")
                return DecidedQuestion(answer.request, tool, str(asked.get("hint") or ""))
    return None


class AnswerAbout(NamedTuple):
    """An answer of the user to what the runtime asked about a tool's call.

    Attributes:
      name: what was asked: the name of the request's call.
      request: the request.
      response: the answer.
      source: the record of the tool's call; None if its agent made no such call.
      invocation_id: the invocation in which the answer came.
    """

    name: str
    request: EventRecord
    response: dict[str, Any]
    source: EventRecord | None
    invocation_id: str


def answers_about(log: EventLog, call_id: str) -> Iterator[AnswerAbout]:
    """Yield the user's answers to all that was asked about one tool's call, newest first.

    Answers about an earlier call with the same id are left out.
    """
    first: AnswerAbout | None = None
    for record in newest_visible(log):
        if first is not None and record is first.source:
            return
        if record.author != "user" or not record.responses:
            continue
        for answer in record.event().get_function_responses():
            found = find_request(log, answer.id or "")
            request = None if found is None else call_of(found[1], answer.id or "")
            if found is None or request is None:
                continue
            name = request.name or ""
            if original_call_id(name, request.args or {}) != call_id:
                continue
            source = find_original(log, *found, call_id)
            given = answer.response or {}
            one = AnswerAbout(name, found[1], given, source, record.invocation_id)
            if first is None:
                first = one
            elif source is not first.source:
                return
            yield one


def _decisions(log: EventLog, call_id: str) -> Iterator[AnswerAbout]:
    """Yield the user's answers to requests for confirmation of a tool's call, newest first."""
    return (one for one in answers_about(log, call_id) if one.name == REQUEST_CONFIRMATION)


def _find_places(
    records: Sequence[EventRecord],
) -> tuple[dict[str, int], dict[str, int], dict[str, int], dict[str, int]]:
    """Return the index of each call's first and newest answer by a user, of its newest response by
    the runtime, and of each node's newest words. A later answer to a request decides nothing."""
    answered: dict[str, int] = {}
    given: dict[str, int] = {}
    responded: dict[str, int] = {}
    spoken: dict[str, int] = {}
    for index, record in enumerate(records):
        for call, _ in record.responses:
            if call is not None and record.author == "user":
                answered.setdefault(call, index)
                given[call] = index
            elif call is not None:
                responded[call] = index
        if record.path and record.author != "user":
            spoken[record.path] = index
    return answered, given, responded, spoken
