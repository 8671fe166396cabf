"""Questions of an MCP server to the user: a pause of the run, answered in any later process.

A server since 2026-07-28 answers a call with its questions and a state. Both go into the event log
with the request to the user; the answer sends the call again with the state, as the protocol says.
A server of an earlier protocol asks over the open connection, which no pause survives: its question
is cancelled, unless the program gave an `elicitation_callback`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from ..._log import get_logger
from ..._optional import need
from ...auth.tool_confirmation import ToolConfirmation
from ...events.request_input import TOOL_QUESTION
from ..json_fit import fit_schema
from ..result_limits import without_nul
from .connection_params import EXTRA
from .sampling import CONSENT_SCHEMA, METHOD, SAMPLING, Sampler, describe_request, dump_params

if TYPE_CHECKING:
    from ...context.context import Context as ToolContext
    from ...sessions.log.event_log import EventRecord

_log = get_logger(__name__)

WAITING = "Waiting for the user's answer to a question of the MCP server."
MAX_ROUNDS = 20


class Resumption(NamedTuple):
    """What a call is sent with after its questions were answered.

    Attributes:
      responses: answers by the key of the question, as JSON of the protocol.
      state: the server's state, or None.
      samples: by the same keys, requests to the model that the user agreed to.
      is_refused: whether the user did not agree to a request to the model, which ends the call.
    """

    responses: dict[str, Any]
    state: str | None
    samples: Mapping[str, dict[str, Any]] = {}
    is_refused: bool = False


async def cancel_live_question(context: Any, params: Any) -> Any:
    """Answer a question that a server asks over an open connection: the user gives no answer.

    The SDK calls it for servers before 2026-07-28.
    """
    _log.warning(
        "An MCP server asked the user over its open connection, which no pause survives; the "
        "question was cancelled. Give the toolset an elicitation_callback to answer it at once."
    )
    return need("mcp.types", extra=EXTRA).ElicitResult(action="cancel")


def ask_user(
    result: Any, answered: Mapping[str, Any], tool_context: ToolContext, server: str
) -> dict[str, Any]:
    """Ask the user the open questions of a result; the run pauses.

    Args:
      result: the SDK's InputRequiredResult.
      answered: answers that callbacks gave already, by key, as JSON.
      tool_context: the call's context.
      server: the server's name.

    Returns:
      The call's response until then.
    """
    open_requests: dict[str, dict[str, Any]] = {
        key: _read_request(request, server)
        for key, request in result.input_requests.items()
        if key not in answered
    }
    for one in open_requests.values():
        fault = "" if SAMPLING in one else find_question_fault(one)
        if fault:
            return {"error": f"The question of MCP server {server} cannot be asked: {fault}."}
    state = {"state": result.request_state, "answered": dict(answered), "open": open_requests}
    request_answer(state, tool_context)
    return {"status": WAITING}


def find_question_fault(asked: Mapping[str, Any]) -> str:
    """Return why a question cannot be put to the user; empty if it can.

    Args:
      asked: the question's parameters, as JSON of the protocol.
    """
    if asked.get("url") is not None:
        try:
            parts = urlsplit(str(asked["url"]))
            is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_web = False
        return "" if is_web else "it names an address that is not one of http or https"
    for name, one in _properties_of(asked.get("requestedSchema")).items():
        holder = _dict_of(one)
        inner = _dict_of(holder.get("items")).get("type")
        if "$ref" in holder or holder.get("type") == "object" or inner in ("object", "array"):
            return f"its form nests the field {name[:100]!r}, which MCP does not allow"
    return ""


def _close_schema(schema: Any) -> dict[str, Any] | None:
    """Return the schema of a form that takes no other fields; a server knows only its own."""
    return {"additionalProperties": False, **_dict_of(schema)} if schema else None


def _make_answer_schema(opened: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the schema of the answer: that of a single form, or an object of all forms by key.

    Returns:
      None if no question has a form.
    """
    if len(opened) == 1:
        (asked,) = opened.values()
        return _close_schema(asked.get("requestedSchema"))
    forms: dict[str, Any] = {}
    for key, asked in opened.items():
        if not asked.get("url"):
            schema = _close_schema(asked.get("requestedSchema")) or {"type": "object"}
            message = describe_question(asked)
            forms[key] = {**schema, "title": message, "description": message}
    if not forms:
        return None
    return _close_schema({"type": "object", "properties": forms, "required": [*forms]})


def _properties_of(schema: Any) -> dict[str, Any]:
    return _dict_of(_dict_of(schema).get("properties"))


def _dict_of(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read_request(request: Any, server: str) -> dict[str, Any]:
    """Return a request of a server as the event log keeps it."""
    if request.method != METHOD:
        return request.params.model_dump(mode="json", by_alias=True, exclude_none=True)
    params = dump_params(request.params)
    return {
        "message": describe_request(params, server),
        "requestedSchema": CONSENT_SCHEMA,
        SAMPLING: params,
    }


def ask_to_visit(elicitations: list[Any], tool_context: ToolContext) -> dict[str, Any]:
    """Ask the user to open addresses first, without which the server refuses a call.

    Args:
      elicitations: the questions in the server's error, as JSON.
      tool_context: the call's context.
    """
    for one in elicitations:
        fault = find_question_fault(_dict_of(one))
        if fault:
            return {"error": f"The question of the MCP server cannot be asked: {fault}."}
    opened = {str(number): one for number, one in enumerate(elicitations)}
    request_answer({"state": None, "answered": {}, "open": opened, "anew": True}, tool_context)
    return {"status": WAITING}


def request_answer(question: dict[str, Any], tool_context: ToolContext, fault: str = "") -> None:
    """Request the user's answer to a call's questions.

    Args:
      question: the questions under `open`, with what the answer is sent back with.
      tool_context: the call's context.
      fault: why the answer before could not be used.
    """
    question = without_nul(question)
    opened: dict[str, dict[str, Any]] = question["open"]
    has_keys = len(opened) > 1
    lines = [
        f"{key}: {describe_question(one)}"
        if has_keys and not one.get("url")
        else describe_question(one)
        for key, one in opened.items()
    ]
    if fault:
        lines.append(f"The answer before could not be used: {fault}.")
    addresses = [one["url"] for one in opened.values() if one.get("url")]
    tool_context.request_confirmation(
        hint="\n".join(lines),
        payload={
            TOOL_QUESTION: question,
            "payload": {"urls": addresses} if addresses else None,
            "response_schema": _make_answer_schema(opened),
        },
    )
    tool_context.actions.skip_summarization = True


def describe_question(asked: Mapping[str, Any]) -> str:
    """Return a question as the user reads it."""
    message = str(asked.get("message") or "The MCP server asks for an answer.")
    return f"{message} Open {asked['url']}" if asked.get("url") else message


def read_question(tool_context: ToolContext) -> dict[str, Any] | None:
    """Return what the newest request of this call asked, from the log; None if it asked nothing."""
    call_id = tool_context.function_call_id
    for record in reversed(tool_context.get_invocation_context().log.records):
        if record.author == "user" or not _is_about(record, call_id):
            continue
        actions = record.event().actions
        if call_id in actions.requested_auth_configs:
            continue  # the call asked for a credential since; the answer is still for the question
        asked = actions.requested_tool_confirmations.get(call_id or "")
        payload: Any = None if asked is None else asked.payload
        if isinstance(payload, dict) and TOOL_QUESTION in payload:
            return cast("dict[str, Any]", payload)[TOOL_QUESTION]
        return None
    return None


def _is_about(record: EventRecord, call_id: str | None) -> bool:
    """Return whether an event answers a call, or asks about the call of a workflow node."""
    if any(call == call_id for call, _ in record.responses):
        return True
    return any(one.startswith(f"{call_id}:") for one in record.long_running)


def read_answer(question: dict[str, Any], answer: ToolConfirmation) -> Resumption | None:
    """Return what a call is sent with after the user's answer; None to send it from the start.

    Args:
      question: as `read_question` returns it.
      answer: the user's; its payload is the form's content, or a dict of these by the question's
        key if there were several.

    Raises:
      ValueError: the payload does not fit the form; the message says where.
    """
    if question.get("anew") and answer.confirmed:
        return None
    opened: dict[str, dict[str, Any]] = question["open"]
    responses: dict[str, Any] = dict(question["answered"])
    samples: dict[str, dict[str, Any]] = {}
    for key, asked in opened.items():
        if not answer.confirmed:
            if SAMPLING in asked:
                return Resumption({}, None, is_refused=True)
            responses[key] = {"action": "decline"}
            continue
        responses[key] = {"action": "accept"}
        if not asked.get("url"):
            given: Any = answer.payload
            if len(opened) > 1:
                given = given.get(key) if isinstance(given, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            schema = _close_schema(asked.get("requestedSchema")) or {"type": "object"}
            fitting = fit_schema(given, schema, "the answer")
            if SAMPLING not in asked:
                responses[key]["content"] = fitting
                continue
            if not fitting:
                return Resumption({}, None, is_refused=True)
            samples[key] = asked[SAMPLING]
            del responses[key]
    return Resumption(responses, question.get("state"), samples)


async def answer_at_once(
    client: Any, result: Any, with_elicitation: bool, sampler: Sampler | None
) -> dict[str, Any]:
    """Return the answers that the program's callbacks give, by key, as JSON of the protocol.

    Args:
      client: the SDK's session.
      result: its InputRequiredResult.
      with_elicitation: whether the program answers questions to the user itself.
      sampler: answers requests to the model; None leaves them to the program's callback.

    Raises:
      MCPError: a callback refuses, or a request has no callback.
    """
    sdk = need("mcp", extra=EXTRA)
    context = need("mcp.client.session", extra=EXTRA).ClientRequestContext
    answers: dict[str, Any] = {}
    requests: dict[str, Any] = result.input_requests or {}
    for key, request in requests.items():
        if request.method == "elicitation/create" and not with_elicitation:
            continue
        if request.method == METHOD and sampler is not None:
            if not sampler.policy.consent:
                answers[key] = await sampler.answer(dump_params(request.params))
            continue
        meta = request.params.meta if request.params else None
        asked = context(session=client, request_id=key, meta=meta)
        answer = await client.dispatch_input_request(asked, request)
        if isinstance(answer, sdk.ErrorData):
            raise sdk.MCPError.from_error_data(answer)
        answers[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    return answers
