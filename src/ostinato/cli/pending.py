"""Calls of a session that wait for somebody outside: approvals, credentials, long-running tools.

The run asks for them, answers them, or says how they are answered later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from .. import types
from ..events.event import Event
from .failure import USAGE, CliError

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


def short_id(one: Pending, others: Iterable[Pending]) -> str:
    """Return the beginning of a waiting call's id that is enough to tell it from the others."""
    full = one.call.id or ""
    rest = [o.call.id or "" for o in others if o is not one]
    for length in range(12, len(full)):
        if not any(other.startswith(full[:length]) for other in rest):
            return full[:length].rstrip("-")
    return full


def find(waiting: list[Pending], wanted: str, kinds: tuple[Kind, ...]) -> Pending:
    """Return the waiting call that a person means by an id, or by the beginning of one.

    Raises:
      CliError: there is none, or more than one.
    """
    choice = [one for one in waiting if one.kind in kinds]
    exact = [one for one in choice if wanted in (one.call.id, one.tool_call_id)]
    found = exact or [
        one
        for one in choice
        if (one.call.id or "").startswith(wanted) or one.tool_call_id.startswith(wanted)
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{short_id(one, waiting)} ({one.tool})" for one in choice)
    if found:
        raise CliError(f"{wanted!r} fits more than one call: {names}. Give more of the id.", USAGE)
    what = "an approval" if "approval" in kinds else "a result"
    raise CliError(
        f"No call {wanted!r} waits for {what} in this session"
        + (f"; these do: {names}." if names else "; none does.")
    )
