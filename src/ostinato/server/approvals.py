"""Endpoints of calls that wait for a person: an inbox over all sessions, and the answers."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from .. import types
from ..sessions._durable_store import Place
from .endpoint import Call, Endpoint
from .problems import Problem
from .runs import Wire
from .waiting import WaitingCall

_SESSIONS = 1000  # sessions that the inbox looks at, those changed last
_AT_ONCE = 8


class OpenCall(Wire):
    """A call that waits.

    Attributes:
      user_id, session_id, invocation_id, event_id: where it waits.
      call_id: the call to answer.
      kind: `approval`, `credential`, or `result` of a long-running tool.
      tool: name of the tool.
      tool_call_id: id of the tool's own call.
      args: arguments of the tool's call.
      hint: what the tool says to the person.
      payload: what the tool wants filled in.
      since: when it was asked, seconds since 1970.
    """

    user_id: str
    session_id: str
    invocation_id: str
    event_id: str
    call_id: str
    kind: Literal["approval", "credential", "result"]
    tool: str
    tool_call_id: str
    args: dict[str, Any]
    hint: str = ""
    payload: Any = None
    since: float


class Inbox(Wire):
    """Calls that wait, those of the session that changed last first.

    Attributes:
      complete: whether all sessions were looked at, not only those changed last.
    """

    approvals: list[OpenCall]
    complete: bool


class InboxQuery(Wire):
    """Whose: those of one user, or of all."""

    user_id: str | None = None


class Answer(Wire):
    """What a person decides.

    Attributes:
      action: `approve`; `edit`, which approves with other arguments; `reject`; or `result`, for
        that of a long-running tool.
      args: the other arguments.
      payload: what the tool wanted filled in.
      result: the result.
    """

    action: Literal["approve", "edit", "reject", "result"]
    args: dict[str, Any] | None = None
    payload: Any = None
    result: dict[str, Any] | None = None

    def response(self, kind: str) -> dict[str, Any]:
        """Return what the call is answered with.

        Raises:
          Problem: the decision does not fit the kind of call.
        """
        if (kind == "approval") != (self.action != "result") or kind == "credential":
            raise _bad(f"A call that waits for {kind} cannot be answered by {self.action!r}.")
        if self.action == "result":
            if self.result is None:
                raise _bad("'result' needs the result.")
            return self.result
        if (self.action == "edit") != (self.args is not None):
            raise _bad("'edit' comes with args, 'approve' and 'reject' without.")
        found: dict[str, Any] = {"confirmed": self.action != "reject"}
        if self.args is not None:
            found["args"] = self.args
        if self.payload is not None:
            found["payload"] = self.payload
        return found


class Answered(Wire):
    """The invocation that goes on with an answer; its events come by the session's stream."""

    invocation_id: str


def _bad(message: str) -> Problem:
    return Problem(400, "InputValidationError", message)


async def inbox(call: Call) -> Inbox:
    """List what waits for a person in the sessions of an app."""
    app = await call.host.agents.get(call.path["app"])
    service, waiting = call.host.services.sessions, call.host.waiting
    found = (await service.list_sessions(app_name=app.name, user_id=call.query.user_id)).sessions
    gate = asyncio.Semaphore(_AT_ONCE)

    async def of(place: Place, updated: float) -> list[WaitingCall]:
        async with gate:
            return await waiting.listed(place, updated)

    parts = await asyncio.gather(
        *(
            of(Place(app.name, one.user_id, one.id), one.last_update_time)
            for one in found[:_SESSIONS]
        )
    )
    return Inbox(
        approvals=[_shown(one) for part in parts for one in part],
        complete=len(found) <= _SESSIONS,
    )


def _shown(one: WaitingCall) -> OpenCall:
    pending = one.pending
    return OpenCall(
        user_id=one.place.user_id,
        session_id=one.place.session_id,
        invocation_id=one.event.invocation_id,
        event_id=one.event.id,
        call_id=pending.call.id or "",
        kind=pending.kind,
        tool=pending.tool,
        tool_call_id=pending.tool_call_id,
        args=pending.args,
        hint=pending.hint,
        payload=pending.payload,
        since=one.event.timestamp,
    )


async def answer(call: Call) -> Answered:
    """Answer a call that waits, and let its invocation go on whether or not anybody reads it."""
    place = call.place()
    app = await call.host.agents.get(place.app_name)
    wanted = call.path["call"]
    for one in await call.host.waiting.of(place):
        if wanted in (one.pending.call.id, one.pending.tool_call_id):
            break
    else:
        raise Problem(404, "NotFoundError", "No such call waits in this session.")
    part = one.pending.answer(call.body.response(one.pending.kind))
    call.host.runs.start(app.runner, place, new_message=types.Content(role="user", parts=[part]))
    return Answered(invocation_id=one.event.invocation_id)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/apps/{app}/approvals",
        "List the calls that wait for a person, over all sessions of an app",
        inbox,
        query=InboxQuery,
        answer=Inbox,
        problems=(404, 503),
    ),
    Endpoint(
        "POST",
        "/apps/{app}/users/{user}/sessions/{session}/approvals/{call}",
        "Approve, edit, reject or answer a call that waits",
        answer,
        body=Answer,
        answer=Answered,
        status=202,
        problems=(404, 503),
    ),
)
