"""Endpoints of calls that wait for a person: the list over all sessions, and the answers."""

from __future__ import annotations

import asyncio
from typing import Any, Literal, cast

from pydantic import Field, ValidationError, model_validator

from .. import auth, types
from ..events.pending import Kind, Pending
from ..events.request_input import DECLINED
from ..hosting.input_answers import as_response, check_answer, read_answer
from ..sessions.store.durable_store import Place
from .endpoint import SESSION_PATH, Call, Endpoint, NoQuery
from .problems import invalid_input
from .runs import StrictRecord, WireRecord
from .waiting_calls import WaitingCall

_SESSIONS = 1000  # last changed sessions that the list covers in a service without a query
_AT_ONCE = 8


class CredentialRequest(WireRecord):
    """The credential that a call waits for; it holds no secret.

    Attributes:
      key: names the credential in stores.
      scheme: how the service authenticates, as OpenAPI describes it.
      consent_uri: where the user consents, for OAuth2 and OpenID Connect.
      redirect_uri: where the provider sends the browser afterwards.
    """

    key: str
    scheme: dict[str, Any]
    consent_uri: str | None = None
    redirect_uri: str | None = None


class OpenCall(WireRecord):
    """A call that waits.

    Attributes:
      user_id, session_id, invocation_id, event_id: where it waits.
      call_id: the call to answer.
      kind: `approval`, `credential`, `input` for a question to a person, or `result` of a
        long-running tool.
      asker: the agent or workflow node that asks.
      tool: name of the tool.
      tool_call_id: id of the tool's own call.
      args: arguments of the tool's call.
      hint: what the tool says to the person.
      payload: what the tool wants filled in, or what a question is about.
      message: the question, for kind `input`.
      response_schema: JSON schema of the answer, for kind `input`; None if any answer will do.
      credential: what is asked for, for kind `credential`.
      origin: where the tool comes from (docs/server.md); None for a function.
      since: when it was asked, seconds since 1970.
    """

    user_id: str
    session_id: str
    invocation_id: str
    event_id: str
    call_id: str
    kind: Kind
    asker: str
    tool: str
    tool_call_id: str
    args: dict[str, Any]
    hint: str = ""
    payload: Any = None
    message: str = ""
    response_schema: dict[str, Any] | None = None
    credential: CredentialRequest | None = None
    origin: dict[str, str] | None = None
    since: float


class Inbox(WireRecord):
    """Calls that wait, those asked last first.

    Attributes:
      complete: whether this is the last page; of a custom session service, only the sessions that
        changed last are searched.
      next_page_token: names the page that follows; left out after the last one.
    """

    approvals: list[OpenCall]
    complete: bool
    next_page_token: str | None = None


class InboxQuery(StrictRecord):
    """Which calls.

    Attributes:
      user_id: those of one user; all where it is left out.
      page_size: so many at most.
      page_token: where the page before ended.
    """

    user_id: str | None = None
    page_size: int = Field(default=100, ge=1, le=500)
    page_token: str | None = Field(default=None, pattern=r"^[0-9]{1,18}$")


class Answer(StrictRecord):
    """What a person decides.

    Attributes:
      action: `approve`; `edit`, which approves with other arguments; `reject`, which also refuses
        a credential; `result`, for a long-running tool or a question; `respond`, which answers a
        question in words; or `credential`.
      args: the other arguments.
      payload: what the tool wanted filled in.
      reason: why the call is rejected; the model reads it.
      result: the result: an object is the whole response, any other value its `result`.
      text: the words of `respond`: text, or JSON if the question has a schema that asks for it.
      credential: the credential, as in an `exchangedAuthCredential`; it serves the invocation that
        asks, and is stored nowhere.
    """

    action: Literal["approve", "edit", "reject", "result", "respond", "credential"]
    args: dict[str, Any] | None = None
    payload: Any = None
    reason: str | None = Field(default=None, max_length=10_000)
    result: Any = None
    text: str | None = None
    credential: dict[str, Any] | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _check_fields(self) -> Answer:
        """Refuse a field that another action has: the answer would contradict itself."""
        for field in sorted(self.model_fields_set - {"action", *_FIELDS[self.action]}):
            if getattr(self, field) is not None:
                raise ValueError(f"{self.action!r} takes no {field!r}")
        return self

    def to_response(self, pending: Pending) -> dict[str, Any]:
        """Return the response to the call.

        Raises:
          Problem: the action does not fit the kind of call.
          InvalidAnswerError: the answer does not match the call's schema.
        """
        fitting = _ACTIONS[pending.kind]
        if self.action not in fitting:
            raise invalid_input(
                f"A call of kind {pending.kind!r} cannot be answered by {self.action!r}"
                + (f", only by {' or '.join(fitting)}." if fitting else ".")
            )
        if pending.kind == "credential" and self.action == "reject":
            if self.reason is not None or self.payload is not None:
                raise invalid_input("A credential is refused without a reason or a payload.")
            return dict(DECLINED)
        if self.action == "credential":
            if self.credential is None:
                raise invalid_input("'credential' needs 'credential'.")
            return _credential_response(pending, self.credential)
        if self.action == "respond":
            if self.text is None:
                raise invalid_input("'respond' needs 'text'.")
            return read_answer(pending, self.text)
        if self.action == "result":
            if "result" not in self.model_fields_set:
                raise invalid_input("'result' needs 'result'.")
            found = as_response(self.result)
            check_answer(pending, found)
            return found
        return self._decision_response()

    def _decision_response(self) -> dict[str, Any]:
        if self.action == "edit" and self.args is None:
            raise invalid_input("'edit' needs 'args'.")
        found: dict[str, Any] = {"confirmed": self.action != "reject"}
        if self.args is not None:
            found["args"] = self.args
        if self.reason is not None and self.payload is not None:
            raise invalid_input("'reject' takes a reason or a payload, not both.")
        if self.payload is not None:
            found["payload"] = self.payload
        elif self.reason is not None:
            found["payload"] = {"reason": self.reason}
        return found


_FIELDS: dict[str, tuple[str, ...]] = {
    "approve": ("payload",),
    "edit": ("args", "payload"),
    "reject": ("payload", "reason"),
    "result": ("result",),
    "respond": ("text",),
    "credential": ("credential",),
}
_ACTIONS: dict[Kind, tuple[str, ...]] = {
    "approval": ("approve", "edit", "reject"),
    "credential": ("credential", "reject"),
    "input": ("respond", "result"),
    "result": ("result",),
}


def _credential_response(pending: Pending, given: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a request for a credential.

    Raises:
      Problem: the credential is not valid; the message names fields and shows no value.
    """
    try:
        credential = auth.AuthCredential.model_validate(given)
    except ValidationError as error:
        fields = {".".join(map(str, one["loc"])) or "auth_type" for one in error.errors()}
        raise invalid_input(
            f"The credential is not valid. Check: {', '.join(sorted(fields))}."
        ) from None
    config = _read_auth_config(pending)
    return {
        **{key: config[key] for key in ("authScheme", "credentialKey") if key in config},
        "exchangedAuthCredential": credential.model_dump(
            mode="json", by_alias=True, exclude_none=True
        ),
    }


def _read_auth_config(pending: Pending) -> dict[str, Any]:
    return _read_object(pending.call.args or {}, "authConfig")


def _read_object(record: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object in a record, or an empty one if it holds something else."""
    found = record.get(key)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _credential_request(pending: Pending) -> CredentialRequest | None:
    if pending.kind != "credential":
        return None
    config = _read_auth_config(pending)
    client = _read_object(_read_object(config, "exchangedAuthCredential"), "oauth2")
    return CredentialRequest(
        key=str(config.get("credentialKey") or ""),
        scheme=config.get("authScheme") or {},
        consent_uri=client.get("authUri"),
        redirect_uri=client.get("redirectUri"),
    )


class Answered(WireRecord):
    """The invocation that resumes with an answer; the session's stream has its events."""

    invocation_id: str


async def list_approvals(call: Call) -> Inbox:
    """List the calls that wait for a person in the sessions of an app."""
    app = await call.host.agents.get_app(call.path["app"])
    service, waiting = call.host.services.sessions, call.host.waiting
    query: InboxQuery = call.query
    after = None if query.page_token is None else int(query.page_token)
    page = await waiting.load_page(app.name, query.user_id, query.page_size, after)
    if page is not None:
        return Inbox(
            approvals=[_open_call(one) for one in page.calls],
            complete=page.next is None,
            next_page_token=None if page.next is None else str(page.next),
        )
    found = (await service.list_sessions(app_name=app.name, user_id=call.query.user_id)).sessions
    gate = asyncio.Semaphore(_AT_ONCE)

    async def load_calls(place: Place, updated: float) -> list[WaitingCall]:
        async with gate:
            return await waiting.list_cached(place, updated)

    parts = await asyncio.gather(
        *(
            load_calls(Place(app.name, one.user_id, one.id), one.last_update_time)
            for one in found[:_SESSIONS]
        )
    )
    return Inbox(
        approvals=[_open_call(one) for part in parts for one in part],
        complete=len(found) <= _SESSIONS,
    )


def _open_call(one: WaitingCall) -> OpenCall:
    pending = one.pending
    return OpenCall(
        user_id=one.place.user_id,
        session_id=one.place.session_id,
        invocation_id=one.event.invocation_id,
        event_id=one.event.id,
        call_id=pending.call.id or "",
        kind=pending.kind,
        asker=pending.asker,
        tool=pending.tool,
        tool_call_id=pending.tool_call_id,
        args=pending.args,
        hint=pending.hint,
        payload=pending.payload,
        message=pending.message,
        response_schema=pending.response_schema,
        credential=_credential_request(pending),
        origin=pending.origin and pending.origin.to_json(),
        since=one.event.timestamp,
    )


async def answer_call(call: Call) -> Answered:
    """Answer an open call; its invocation resumes as a detached run.

    Raises:
      CallNotOpenError, CallAlreadyAnsweredError, InvalidAnswerError: the answer was not accepted,
        and no run started.
    """
    place = call.read_place()
    app = await call.host.agents.get_app(place.app_name)
    one = await call.host.waiting.find_call(place, call.path["call"])
    part = one.pending.answer(call.body.to_response(one.pending))
    run = call.host.runs.start_run(
        app.runner, place, new_message=types.Content(role="user", parts=[part])
    )
    await run.wait_until_accepted()
    return Answered(invocation_id=one.event.invocation_id)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/apps/{app}/approvals",
        "List the calls that wait for a person, over all sessions of an app",
        list_approvals,
        query=InboxQuery,
        answer=Inbox,
    ),
    Endpoint(
        "POST",
        f"{SESSION_PATH}/approvals/{{call:path}}",
        "Approve, edit, reject or answer a call that waits",
        answer_call,
        body=Answer,
        query=NoQuery,
        answer=Answered,
        status=202,
        problems=(409,),
    ),
)
