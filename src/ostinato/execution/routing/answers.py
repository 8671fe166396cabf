"""Checks of the answers in a user's message before the message is accepted.

An answer counts once, for a request that the runtime wrote. A refused answer leaves its call open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from ... import auth, types
from ...agents.base_agent import BaseAgent
from ...agents.llm_agent import LlmAgent
from ...agents.node_agent import NodeAgent
from ...auth.redaction import public_message
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...errors import CallNotOpenError, InvalidAnswerError
from ...events.event import Event, NodeInfo
from ...events.request_input import DECLINED, TOOL_QUESTION
from ...events.tool_origin import OWN_TOOL, ToolOrigin
from ...flows.llm_flows.auth_preprocessor import TOOLSET_AUTH_CREDENTIAL_ID_PREFIX
from ...flows.llm_flows.tool_calls.call_origins import (
    describe_other,
    describe_tool,
    find_call_origin,
    is_other_tool,
    is_unreachable,
)
from ...flows.llm_flows.tool_calls.framework_calls import read_question_answer
from ...flows.llm_flows.tool_calls.request_tools import find_runtime_tools, may_add_tools
from ...sessions.log.call_requests import (
    call_of,
    call_requests,
    check_not_rewound,
    find_original,
    find_request,
    find_unstarted,
    kind_of,
    original_call_id,
    read_question,
)
from ...sessions.log.confirmation_answers import (
    already_answered,
    check_confirmation,
    read_confirmation,
)
from ...sessions.log.event_log import EventLog, EventRecord, visible_indexes
from ...sessions.log.history import is_imported
from ...sessions.store.durable_store import CallAnswer, CallRequest
from ...tools.base_tool import BaseTool, describe_origin
from ...tools.function_tool import make_rejection
from ...tools.json_fit import parse_answer
from ...workflow.requests import is_request
from .agent_choice import agents_below, may_run_from_code
from .policy_answers import find_payload_fault, find_unknown_field, is_policy_question

_CREDENTIAL_FIELDS = {  # by AuthCredentialTypes
    "apiKey": "api_key",
    "http": "http",
    "oauth2": "oauth2",
    "openIdConnect": "oauth2",
    "serviceAccount": "service_account",
}

_AGENT_GONE = "Agent {!r}, which made this call, is gone; the call did not run."


class _Asked(NamedTuple):
    """A request in the log with its answer."""

    number: int
    record: EventRecord
    request: CallRequest
    response: types.FunctionResponse


def read_answers(log: EventLog, message: types.Content, message_id: str) -> list[CallAnswer]:
    """Return the answers in a message, each of which claims a call.

    Args:
      log: all records of the session.
      message: the user's message.
      message_id: id of the message; its own stored answers are no conflict.

    Raises:
      CallNotOpenError: a call does not wait for an answer.
      CallAlreadyAnsweredError: another message has answered a call.
      InvalidAnswerError: an answer does not fit its call.
    """
    for part in message.parts or ():
        if part.function_response is not None:
            return _read_answers(log, message, message_id)
    return []


def _read_answers(log: EventLog, message: types.Content, message_id: str) -> list[CallAnswer]:
    found: list[CallAnswer] = []
    shown = public_message(message).parts or ()
    for asked, part in zip(_find_requests(log, message), shown, strict=True):
        if asked is None or part.function_response is None:
            continue
        request = asked.request
        if any(one.call_id == request.call_id for one in found):
            raise InvalidAnswerError(f"The message answers call {request.call_id!r} twice.")
        _check_open(log, asked, message_id)
        _check_response(log, asked)
        found.append(
            CallAnswer(
                call_id=request.call_id,
                answer=json.dumps(part.function_response.response or {}, default=str),
                message_id=message_id,
                once=request.kind != "result",
                request=request,
                seen=log.offset + len(log),
            )
        )
    return found


def _find_requests(log: EventLog, message: types.Content) -> Sequence[_Asked | None]:
    """Return the request that each part of a message answers, or None for other parts."""
    found: list[_Asked | None] = []
    for part in message.parts or ():
        response = part.function_response
        place = None if response is None else find_request(log, response.id or "")
        if response is None or place is None:
            if response is not None:
                _refuse_plain_call(log, response)
            found.append(None)
            continue
        index, record = place
        requests = call_requests(record.event(), log)
        request = next(one for one in requests if one.call_id == response.id)
        found.append(_Asked(index, record, request, response))
    return found


def _refuse_plain_call(log: EventLog, response: types.FunctionResponse) -> NoReturn:
    """Refuse an answer to a call that does not wait for one.

    Raises:
      CallNotOpenError: always; only long-running calls wait for an answer.
    """
    call_id = response.id or ""
    record = log.find_call(call_id)
    if record is None:
        raise CallNotOpenError(
            f"The message answers function call {call_id!r} ({response.name}), which is not in "
            "this session. Use the id of the call as it was yielded."
        )
    if is_imported(record):
        raise CallNotOpenError(
            f"Call {call_id!r} is imported history, so it does not wait for an answer."
        )
    names = [name for call, name in record.calls if call == call_id]
    if any(kind_of(name) != "result" for name in (*names, response.name or "")):
        raise CallNotOpenError(
            f"Call {call_id!r} is not a request of the runtime; an answer to it approves nothing."
        )
    raise CallNotOpenError(
        f"Call {call_id!r} does not wait for an answer: only calls of long-running tools do."
    )


def _check_open(log: EventLog, asked: _Asked, message_id: str) -> None:
    request, call_id = asked.request, asked.request.call_id
    check_not_rewound(log, asked.number, call_id)
    visible = list(visible_indexes(log, asked.number))
    records = (log.records[index] for index in reversed(visible))
    if request.kind == "result" and call_id in find_unstarted(records):
        raise CallNotOpenError(
            f"Call {call_id!r} does not wait for a result, because its tool has not started: a "
            "person has to approve the call first, or it was rejected or could not start."
        )
    for index in reversed(visible):
        record = log.records[index]
        if record is asked.record or all(call != call_id for call, _ in record.responses):
            continue
        if record.author != "user":
            if request.kind != "result" or is_imported(record):
                raise CallNotOpenError(
                    f"Call {call_id!r} does not wait any more: it was closed without an answer."
                )
        elif request.kind != "result" and record.invocation_id != message_id:
            given = next(
                one for one in record.event().get_function_responses() if one.id == call_id
            )
            answer = json.dumps(given.response or {}, default=str)
            raise already_answered(call_id, answer, record.timestamp)


def _check_response(log: EventLog, asked: _Asked) -> None:
    """Refuse a response whose name or form does not match its request."""
    request, response = asked.request, asked.response
    if response.name != request.name and not (
        response.name is None and request.kind in ("input", "result")
    ):
        raise InvalidAnswerError(
            f"The answer to call {request.call_id!r} is named {response.name!r}, but the call is "
            f"{request.name!r}. Answer with the call's name."
        )
    if request.kind == "result" or is_request(asked.record):
        return  # any result is valid; a workflow node checks its own answers
    arguments = read_question(request)[0].args or {}
    fault = _find_fault(request, response.response or {}, arguments)
    if not fault and request.kind == "approval" and is_policy_question(asked.record, arguments):
        decided, _ = read_confirmation(response.response or {})
        fault = find_payload_fault(arguments, decided)
    if fault:
        raise InvalidAnswerError(
            f"The answer to call {request.call_id!r} ({request.name}) cannot be used: "
            f"{fault.rstrip('.')}. The call stays open."
        )


def _find_fault(request: CallRequest, response: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Return the fault in the form of a response, or an empty text."""
    try:
        if request.kind == "approval":
            check_confirmation(response)
        elif request.kind == "credential":
            if response != DECLINED:
                _read_credential(response)
        elif not (response == DECLINED and arguments.get("functionCallId")):
            parse_answer(response, arguments.get("response_schema"))
    except ValueError as error:
        return _first_fault(error)
    return ""


def _read_credential(response: Mapping[str, Any]) -> None:
    given = response.get("exchangedAuthCredential", response.get("exchanged_auth_credential"))
    if given is None:
        raise ValueError("'exchangedAuthCredential' is missing")
    credential = auth.AuthCredential.model_validate(given)
    field = _CREDENTIAL_FIELDS[credential.auth_type.value]
    if credential.resource_ref is None and not getattr(credential, field):
        raise ValueError(f"'exchangedAuthCredential' holds no {to_camel(field)}")


def _first_fault(error: ValueError) -> str:
    """Return the fault without the values of the answer, which may be secret."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the answer"
        return f"{where}: {first['msg']}"
    return str(error)


async def check_tools(
    ctx: InvocationContext,
    root_agent: BaseAgent,
    answers: Sequence[CallAnswer],
    message: types.Content,
) -> None:
    """Refuse answers to calls of removed tools, and answers that do not fit the tool.

    Args:
      ctx: the run, for the toolsets.
      root_agent: the agents.
      answers: the result of `read_answers` for the message.
      message: the user's message.

    Raises:
      InvalidAnswerError: a tool is gone, or its arguments do not fit. The calls stay open.
      CallNotOpenError: a request is about a call that its agent has not made.
    """
    given = _responses_by_call(message)
    for answer in answers:
        request = answer.request
        if request is None:
            continue
        record = _record_of(ctx.log, answer.call_id)[1]
        if not _is_about_tool(request, record):
            continue
        agent = _agent_of(root_agent, request.author)
        decision, edited = _read_decision(request, given[answer.call_id])
        is_rejected = decision is not None and not decision.confirmed
        if _is_gone(root_agent, record, request.author):
            if is_rejected and len(answers) == 1:
                continue  # see `close_calls_of_gone_agents`
            raise InvalidAnswerError(
                f"Agent {request.author!r}, which asked by call {answer.call_id!r}, is gone. The "
                "call stays open; an approval can be rejected, in a message of its own."
            )
        if not isinstance(agent, LlmAgent):
            continue  # its calls run elsewhere: in a remote agent, or from a node's code
        call = _original_of(ctx.log, request)
        if call is None:
            continue
        listed = await agent.canonical_tools(ReadonlyContext(ctx))
        tool = find_runtime_tools(ctx, agent, listed).get(call.name or "")
        made = ctx.log.find_call(call.id or "")
        origin = OWN_TOOL if made is None else find_call_origin(call.id or "", made)
        if tool is None or is_other_tool(agent, origin, call, tool):
            is_hidden = tool is None and origin.is_own and may_add_tools(ctx, agent)
            if is_rejected or is_hidden:
                continue  # a rejection runs no tool, and only a request tells all of them
            raise InvalidAnswerError(await _describe_loss(ctx, agent, request, call, origin, tool))
        if decision is not None and request.kind == "approval":
            _check_decision(request, record, tool, decision, edited)


async def _describe_loss(
    ctx: InvocationContext,
    agent: Any,
    request: CallRequest,
    call: types.FunctionCall,
    origin: ToolOrigin,
    tool: BaseTool | None,
) -> str:
    """Return why an answer is refused whose tool the agent does not have now.

    Args:
      ctx: the run.
      agent: the agent.
      request: the request that the answer is for.
      call: the tool's call.
      origin: where the tool came from.
      tool: another tool with that name, if there is one.
    """
    wanted = describe_tool(call.name or "", origin)
    if await is_unreachable(ctx, agent, origin):
        return (
            f"{origin.source_text} cannot be reached, so the answer to call {request.call_id!r} "
            f"for its tool {call.name!r} is not taken. The call stays open; answer again later."
        )
    found = ""
    if tool is not None:
        where = describe_other(describe_origin(tool), origin)
        found = f" Its tool of that name is now one of {where}."
    return (
        f"Agent {request.author!r} no longer has the tool {wanted}, which call "
        f"{request.call_id!r} asks for.{found} The call stays open."
    )


def _is_about_tool(request: CallRequest, record: EventRecord) -> bool:
    """Return whether an agent's tool asks; questions of workflow nodes and models are no tool's."""
    if is_request(record) or request.kind == "result":
        return False
    return request.kind != "input" or record.has_metadata(TOOL_QUESTION)


def _read_decision(
    request: CallRequest, response: dict[str, Any]
) -> tuple[auth.ToolConfirmation | None, dict[str, Any] | None]:
    """Return what an answer decides about the tool's call, and the edited arguments.

    The decision is None for a credential; a question that is declined counts as rejected.
    """
    if request.kind == "approval":
        return read_confirmation(response)
    return read_question_answer(response) if request.kind == "input" else None, None


def _check_decision(
    request: CallRequest,
    record: EventRecord,
    tool: BaseTool,
    decision: auth.ToolConfirmation,
    edited: dict[str, Any] | None,
) -> None:
    """Refuse a decision that does not fit the tool.

    Args:
      request: the request for confirmation.
      record: the request in the log.
      tool: the tool that it is about.
      decision: the person's decision.
      edited: the edited arguments, if there are any.
    """
    fault = ""
    question = read_question(request)[0].args or {}
    if is_policy_question(record, question):
        fault = find_unknown_field(tool, question, decision)
    if fault:
        raise InvalidAnswerError(
            f"The answer to call {request.call_id!r}, by which a policy asks about tool "
            f"{tool.name!r}, cannot be used: {fault.rstrip('.')}. The call stays open."
        )
    fault = "" if edited is None else tool.find_argument_fault(edited)
    if fault:
        raise InvalidAnswerError(
            f"The edited arguments of call {request.call_id!r} do not fit tool "
            f"{tool.name!r}: {fault.rstrip('.')}. The call stays open."
        )


class ClosedCalls(NamedTuple):
    """The calls of agents that are gone, which a message decides.

    Attributes:
      events: the responses to the tools' calls.
      is_all: whether no answer of the message is for an agent that exists.
    """

    events: list[Event]
    is_all: bool


def close_calls_of_gone_agents(
    ctx: InvocationContext,
    root_agent: BaseAgent,
    answers: Sequence[CallAnswer],
    message: types.Content,
) -> ClosedCalls:
    """Answer the tools' calls whose agents are gone, so that no decision stays without an outcome.

    Args:
      ctx: the run.
      root_agent: the agents.
      answers: the answers of a message, which is accepted.
      message: the user's message.
    """
    given = _responses_by_call(message)
    events: list[Event] = []
    gone = 0
    for answer in answers:
        request = answer.request
        if request is None:
            continue
        index, record = _record_of(ctx.log, request.call_id)
        if not (_is_about_tool(request, record) and _is_gone(root_agent, record, request.author)):
            continue
        gone += 1
        call_id = original_call_id(request.name, read_question(request)[0].args or {})
        found = find_original(ctx.log, index, record, call_id)
        call = None if found is None else call_of(found, call_id)
        if call is None:
            continue
        result = {"error": _AGENT_GONE.format(request.author)}
        decision, _ = _read_decision(request, given[answer.call_id])
        if decision is not None and not decision.confirmed:
            result = make_rejection(decision)
        response = types.FunctionResponse(id=call.id, name=call.name, response=result)
        events.append(
            Event(
                invocation_id=ctx.invocation_id,
                author=record.author,
                branch=record.branch,
                isolation_scope=record.scope,
                node_info=NodeInfo(path=record.path),
                content=types.Content(role="user", parts=[types.Part(function_response=response)]),
            )
        )
    return ClosedCalls(events, bool(answers) and gone == len(answers))


def _responses_by_call(message: types.Content) -> dict[str | None, dict[str, Any]]:
    return {
        part.function_response.id: part.function_response.response or {}
        for part in message.parts or ()
        if part.function_response is not None
    }


def _record_of(log: EventLog, call_id: str) -> tuple[int, EventRecord]:
    found = find_request(log, call_id)
    assert found is not None  # `read_answers` has found it
    return found


def _original_of(log: EventLog, request: CallRequest) -> types.FunctionCall | None:
    """Return the recorded tool call of a request; None for the request of a toolset.

    Raises:
      CallNotOpenError: the requesting agent made no such call.
    """
    original = original_call_id(request.name, read_question(request)[0].args or {})
    if original.startswith(TOOLSET_AUTH_CREDENTIAL_ID_PREFIX):
        return None
    index, record = _record_of(log, request.call_id)
    found = find_original(log, index, record, original)
    if found is None:
        raise CallNotOpenError(
            f"Call {request.call_id!r} is about call {original!r}, which agent "
            f"{request.author!r} has not made; an answer to it runs nothing."
        )
    return call_of(found, original)


def _is_gone(root_agent: BaseAgent, record: EventRecord, name: str) -> bool:
    """Return whether the agent of a record with this name does not exist any more."""
    return _agent_of(root_agent, name) is None and not may_run_from_code(root_agent, record)


def _agent_of(root_agent: BaseAgent, name: str) -> BaseAgent | None:
    """Return the agent with a name, in the tree or in a graph of it, or None."""
    for one in agents_below(root_agent):
        if one.name == name and not isinstance(one, NodeAgent):
            return one
    return root_agent.find_agent(name)
