"""Calls of a session that wait for somebody outside: approvals, credentials, long-running tools.

The command line and the server ask for them and answer them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from .. import types
from .event import Event

CONFIRMATION = "adk_request_confirmation"
CREDENTIAL = "adk_request_credential"

Kind = Literal["approval", "credential", "result"]


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
      payload: what the tool wants filled in, any JSON; None where there is nothing.
      event_id: the event that asks; calls of one event are answered together.
    """

    kind: Kind
    call: types.FunctionCall
    tool: str
    tool_call_id: str
    args: dict[str, Any]
    hint: str
    payload: Any
    event_id: str

    def answer(self, response: dict[str, Any]) -> types.Part:
        """Return the part that answers the call."""
        return types.Part(
            function_response=types.FunctionResponse(
                id=self.call.id, name=self.call.name, response=response
            )
        )


def pending_calls(events: Iterable[Event]) -> list[Pending]:
    """Return the calls of a session that wait for an answer, oldest first."""
    found: dict[str, tuple[int, Pending]] = {}
    tools: dict[str, types.FunctionCall] = {}
    starts: dict[str, int] = {}
    for index, event in enumerate(events):
        starts.setdefault(event.invocation_id, index)
        for response in event.get_function_responses():
            if event.author == "user":
                found.pop(response.id or "", None)
        for call in event.get_function_calls():
            tools[call.id or ""] = call
            if call.id in (event.long_running_tool_ids or ()):
                found[call.id or ""] = (index, _pending(event, call, tools))
        rewound = event.actions.rewind_before_invocation_id
        if rewound:
            start = starts.get(rewound, index)
            found = {key: entry for key, entry in found.items() if entry[0] < start}
    return [one for _, one in found.values()]


def _pending(
    event: Event, call: types.FunctionCall, tools: dict[str, types.FunctionCall]
) -> Pending:
    args: dict[str, Any] = call.args or {}
    kind: Kind = "result"
    tool, hint, payload = call, "", None
    if call.name == CONFIRMATION:
        kind = "approval"
        tool = types.FunctionCall.model_validate(args.get("originalFunctionCall") or {})
        asked: dict[str, Any] = args.get("toolConfirmation") or {}
        payload = asked.get("payload")
        hint = str(asked.get("hint") or "")
        if "FunctionResponse" in hint:  # meant for programs, not for a person
            hint = ""
    elif call.name == CREDENTIAL:
        kind = "credential"
        tool = tools.get(str(args.get("functionCallId")), call)
    return Pending(
        kind=kind,
        call=call,
        tool=tool.name or "?",
        tool_call_id=tool.id or "",
        args=tool.args or {},
        hint=hint,
        payload=payload,
        event_id=event.id,
    )
