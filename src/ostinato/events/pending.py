"""Calls of a session that wait for a person or another program: approvals, credentials, questions
to a person, long-running tools. The command line and the server show and answer them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from .. import types
from .event import Event, path_in_graph
from .request_input import REQUEST_INPUT
from .tool_origin import ToolOrigin, read_tool_origin
from .visible_events import visible_events

CONFIRMATION = "adk_request_confirmation"
CREDENTIAL = "adk_request_credential"
QUESTIONS = frozenset((CONFIRMATION, CREDENTIAL, REQUEST_INPUT))
"""Names of the calls by which the runtime asks a person."""

IMPORTED = "ostinato:imported"
"""Key of the custom metadata of events from outside, and of the responses that close their calls:
no caller waits for an answer to them."""

ENDED = "ostinato:ended"
"""Key of the custom metadata of responses: ids of the long-running calls whose tools did not begin,
so that no result will come."""
EDITED_CALLS = "ostinato:edited_calls"
"""Key of the custom metadata of an event with calls: ids of those that a plugin changed, so that
the log has other arguments than the model gave."""
POLICY = "policy"
"""Key in the custom metadata of events: what the policy decided on calls, by call id."""

Kind = Literal["approval", "credential", "input", "result"]


_KnownCall = tuple[Event, types.FunctionCall]


def is_edited(event: Event, call_id: str) -> bool:
    """Return whether a plugin changed a call before its event was stored.

    Args:
      event: the event that holds the call.
      call_id: id of the call.
    """
    ids: Any = (event.custom_metadata or {}).get(EDITED_CALLS)
    return isinstance(ids, list) and call_id in ids


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that waits.

    Attributes:
      kind: what it waits for.
      call: the call to answer.
      tool: name of the tool behind it.
      tool_call_id: id of the tool's own call.
      args: arguments of the tool's call.
      hint: what the tool says to the person; often empty.
      payload: what the tool wants filled in, or what a question is about; any JSON, or None.
      event_id: the event that asks; calls of one event are answered together.
      invocation_id: the invocation that waits.
      asker: the agent or workflow node that asks.
      asker_path: the path of that node; empty outside of workflows.
      message: the question of a request for input; empty for other kinds.
      response_schema: JSON schema of the answer to a request for input, or None.
      origin: where the tool comes from; None for a function, or if it is unknown.
    """

    kind: Kind
    call: types.FunctionCall
    tool: str
    tool_call_id: str
    args: dict[str, Any]
    hint: str
    payload: Any
    event_id: str
    invocation_id: str = ""
    asker: str = ""
    asker_path: str = ""
    message: str = ""
    response_schema: dict[str, Any] | None = None
    origin: ToolOrigin | None = None

    def answer(self, response: dict[str, Any]) -> types.Part:
        """Return the part that answers the call."""
        return types.Part(
            function_response=types.FunctionResponse(
                id=self.call.id, name=self.call.name, response=response
            )
        )


def make_approval_hint(name: str) -> str:
    """Return what a person reads if `require_confirmation` asks about a call of a tool."""
    return (
        f"Please approve or reject the tool call {name}() by responding with a "
        "FunctionResponse with an expected ToolConfirmation payload."
    )


def make_rerun_hint(name: str) -> str:
    """Return what a person reads about a call of a tool that is in doubt."""
    return (
        f"The tool call {name}() was interrupted and may have taken effect already. "
        "Approve to run it again, or reject it."
    )


def is_runtime_hint(hint: str, name: str) -> bool:
    """Return whether the runtime asks with a hint, and not the body of a tool.

    The runtime asks by `require_confirmation` or about a call in doubt. It takes the answer itself:
    a rejected call does not run. A tool that asks in its body reads the answer there.

    Args:
      hint: what the person reads.
      name: the name of the tool that is called.
    """
    return hint in (make_approval_hint(name), make_rerun_hint(name))


class UnstartedCalls:
    """Calls whose tools have not begun: a person has to approve them, or they have ended before.

    No result of a long-running call is accepted meanwhile.

    Attributes:
      ids: the calls.
    """

    __slots__ = ("_questions", "ids")

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self._questions: dict[str, tuple[str, bool]] = {}

    def is_answer(self, call_id: str | None) -> bool:
        """Return whether a response to a call answers a question about another call."""
        return call_id in self._questions

    def note_event(self, event: Event) -> None:
        """Note what the next event of the session asks, answers or ends."""
        if event.author == "user":
            for response in event.get_function_responses():
                about, is_runtime = self._questions.get(response.id or "", ("", True))
                if about and (not is_runtime or _is_approval(response.response or {})):
                    self.ids.discard(about)
            return
        metadata = event.custom_metadata or {}
        for call in event.get_function_calls():
            if call.id is None or call.id not in (event.long_running_tool_ids or ()):
                continue
            self.ids.discard(call.id)  # a model may use an id again
            if call.name == CONFIRMATION:
                about, hint, name = _read_question(call.args or {})
                is_runtime = about in metadata.get(POLICY, ()) or is_runtime_hint(hint, name)
                self._questions[call.id] = about, is_runtime
                self.ids.add(about)
        self.ids.update(metadata.get(ENDED, ()))


def _read_question(arguments: dict[str, Any]) -> tuple[str, str, str]:
    """Return the id of the call that a request for confirmation is about, the hint and the tool."""
    call: Any = arguments.get("originalFunctionCall") or {}
    asked: Any = arguments.get("toolConfirmation") or {}
    return str(call.get("id") or ""), str(asked.get("hint") or ""), str(call.get("name") or "")


def _is_approval(response: dict[str, Any]) -> bool:
    wrapped = response.get("response")
    if len(response) == 1 and isinstance(wrapped, str):  # as some clients send it
        try:
            fields: Any = json.loads(wrapped)
        except (ValueError, RecursionError):
            return False
        return isinstance(fields, dict) and cast("dict[str, Any]", fields).get("confirmed") is True
    return response.get("confirmed") is True


def pending_calls(events: Iterable[Event]) -> list[Pending]:
    """Return the calls of a session that wait for an answer, oldest first."""
    found: dict[str, Pending] = {}
    tools: dict[str, _KnownCall] = {}
    unstarted = UnstartedCalls()
    for event in visible_events(events):
        if IMPORTED in (event.custom_metadata or ()):
            continue
        unstarted.note_event(event)
        for response in event.get_function_responses():
            if event.author == "user" and response.id in found:
                del found[response.id]
        for call in event.get_function_calls():
            tools[call.id or ""] = event, call
            if call.id in (event.long_running_tool_ids or ()):
                found.pop(call.id or "", None)  # one that is asked anew is the newest
                found[call.id or ""] = _pending(event, call, tools)
        if event.error_code and event.content is None and path_in_graph(event):
            _withdraw(found, event)
    ids = unstarted.ids
    return [one for call, one in found.items() if one.kind != "result" or call not in ids]


def _withdraw(found: dict[str, Pending], failed: Event) -> None:
    """Take out the questions of a workflow node that has failed after it asked."""
    path = failed.node_info.path
    for key, one in list(found.items()):
        mine = one.asker_path == path or one.asker_path.startswith(f"{path}/")
        if one.kind == "input" and mine and one.invocation_id == failed.invocation_id:
            del found[key]


def _pending(event: Event, call: types.FunctionCall, tools: dict[str, _KnownCall]) -> Pending:
    args: dict[str, Any] = call.args or {}
    kind: Kind = "result"
    tool, hint, payload, message, schema = call, "", None, "", None
    call_id = call.id
    if call.name == CONFIRMATION:
        kind = "approval"
        tool = types.FunctionCall.model_validate(args.get("originalFunctionCall") or {})
        call_id = tool.id
        asked: dict[str, Any] = args.get("toolConfirmation") or {}
        payload = asked.get("payload")
        hint = str(asked.get("hint") or "")
        if "FunctionResponse" in hint:  # meant for programs, not for a person
            hint = ""
    elif call.name == CREDENTIAL:
        kind = "credential"
        call_id = str(args.get("functionCallId"))
        tool = tools.get(call_id, (event, call))[1]
    elif call.name == REQUEST_INPUT:
        kind = "input"
        call_id = str(args.get("functionCallId"))
        payload = args.get("payload")
        message = str(args.get("message") or "")
        given: Any = args.get("response_schema")
        # A model may have written the schema: what is no schema is left out, not shown.
        schema = cast("dict[str, Any]", given) if isinstance(given, dict) and given else None
    source = tools[call_id or ""][0] if (call_id or "") in tools else None
    return Pending(
        kind=kind,
        call=call,
        tool=tool.name or "?",
        tool_call_id=tool.id or "",
        args=tool.args or {},
        hint=hint,
        payload=payload,
        event_id=event.id,
        invocation_id=event.invocation_id,
        asker=event.node_name if path_in_graph(event) else event.author,
        asker_path=path_in_graph(event),
        message=message,
        response_schema=schema,
        origin=read_tool_origin(source, call_id) if source is not None else None,
    )
