"""Endpoints of sessions: create, update, fork, rewind and delete."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import Response

from .. import _clock
from ..errors import AlreadyExistsError, OstinatoError
from ..events.event import Event
from ..events.event_actions import EventActions
from ..execution.request_checks import check_state_delta
from ..execution.store_access import import_events
from ..sessions.base_session_service import GetSessionConfig, check_name
from ..sessions.session import Session
from ..sessions.store.session_search import TITLE_KEY
from .agents import ServedApp
from .client_input import check_client_state
from .endpoint import SESSION_PATH, Call, Endpoint, NoQuery
from .names import Id, check_event, check_new_session, check_owner
from .place import load_outline, need_session
from .problems import Problem
from .runs import StrictRecord, WireRecord
from .session_json import outline_json, session_json


class CreateSessionRequest(WireRecord):
    """How a session begins."""

    session_id: Id | None = None
    state: dict[str, Any] | None = None
    events: list[Event] | None = None


class State(BaseModel):
    """State of a new session: any object."""

    model_config = {"extra": "allow"}


class UpdateSessionRequest(WireRecord):
    """State keys to change; null removes one."""

    state_delta: dict[str, Any]


class ForkRequest(StrictRecord):
    """Where a new session leaves the old one: behind an event, at the end where none is named."""

    at_event: Id | None = None
    new_session_id: Id | None = None


class RewindRequest(StrictRecord):
    """The invocation before which a session is to be again."""

    before_invocation_id: Id


class GetQuery(WireRecord):
    """How many of the newest events come with a session; all where it is left out."""

    num_recent_events: int | None = Field(default=None, ge=0, le=2**31)


async def _session_response(session: Session, status: int = 200) -> Response:
    return Response(await session_json(session), status, media_type="application/json")


async def list_user_sessions(call: Call) -> Response:
    """List a user's sessions, all at once, as google-adk's server does."""
    app = await call.host.agents.get_app(call.path["app"])
    user = check_name("user id", call.path["user"])
    found = await call.host.services.sessions.list_sessions(app_name=app.name, user_id=user)
    rows = [outline_json(one)[:-1] + b',"events":[]}' for one in found.sessions]
    return Response(b"[" + b",".join(rows) + b"]", media_type="application/json")


async def create_session(call: Call) -> Response:
    """Create a session."""
    body: CreateSessionRequest = call.body or CreateSessionRequest()
    return await _make_session(call, body.session_id, body.state, body.events or [])


async def create_session_as(call: Call) -> Response:
    """Create a session with the id of the path; the body is its state."""
    check_name("session id", call.path["session"])
    state = {} if call.body is None else dict(call.body.model_extra or {})
    return await _make_session(call, call.path["session"], state, [])


async def _make_session(
    call: Call, session_id: str | None, state: dict[str, Any] | None, events: list[Event]
) -> Response:
    app = await call.host.agents.get_app(call.path["app"])
    service = call.host.services.sessions
    user = check_name("user id", check_owner("user id", call.path["user"]))
    names = {"app_name": app.name, "user_id": user}
    check_new_session(session_id)
    _check_state(call, app, state)
    for event in events:
        check_event(event)
        _check_state(call, app, event.actions.state_delta)
    try:
        made = await service.create_session(**names, session_id=session_id, state=state)
    except AlreadyExistsError as error:
        raise Problem(409, "AlreadyExistsError", f"Session already exists: {session_id}") from error
    try:
        await import_events(service, made, events)
    except OstinatoError:
        await service.delete_session(**names, session_id=made.id)
        raise
    return await _session_response(made)


def _check_state(call: Call, app: ServedApp, delta: dict[str, Any] | None) -> None:
    """Refuse state that a client may not write, or that violates the root agent's schema.

    The page sets the title, which belongs to no schema.
    """
    check_client_state(call.host.settings, delta)
    own = {key: value for key, value in (delta or {}).items() if key != TITLE_KEY}
    check_state_delta(app.runner.agent, own)


async def get_session(call: Call) -> Response:
    """Return a session with its events."""
    recent = GetSessionConfig(num_recent_events=call.query.num_recent_events)
    return await _session_response(
        await need_session(call.host.services.sessions, call.read_place(), recent)
    )


async def update_session(call: Call) -> Response:
    """Update a session's state with a separate event."""
    place, service = call.read_place(), call.host.services.sessions
    _check_state(call, await call.host.agents.get_app(place.app_name), call.body.state_delta)
    session = await need_session(service, place)
    event = Event(
        invocation_id=f"p-{_clock.new_id()}",
        author="user",
        actions=EventActions(state_delta=call.body.state_delta),
    )
    await service.append_event(session, event)
    call.host.runs.notify_change(place)
    return await _session_response(session)


async def delete_session(call: Call) -> None:
    """Delete a session and its own artifacts, if it exists."""
    place, services = call.read_place(), call.host.services
    names = place._asdict()
    if await load_outline(services.sessions, place) is not None:
        for name in await services.artifacts.list_artifact_keys(**names):
            if not name.startswith("user:"):
                await services.artifacts.delete_artifact(**names, filename=name)
    await services.sessions.delete_session(**names)
    if services.spans is not None:
        await services.spans.forget(*place)
    call.host.runs.notify_change(place)


async def fork_session(call: Call) -> Response:
    """Create a new session from the events of this one."""
    body: ForkRequest = call.body or ForkRequest()
    place = call.read_place()
    check_new_session(body.new_session_id)
    made = await call.host.services.sessions.fork_session(
        **place._asdict(), at_event=body.at_event, new_session_id=body.new_session_id
    )
    return await _session_response(made, 201)


async def rewind_session(call: Call) -> Response:
    """Rewind a session to before an invocation."""
    place = call.read_place()
    app = await call.host.agents.get_app(place.app_name)
    await app.runner.rewind_async(
        user_id=place.user_id,
        session_id=place.session_id,
        rewind_before_invocation_id=call.body.before_invocation_id,
    )
    call.host.runs.notify_change(place)
    return await _session_response(await need_session(call.host.services.sessions, place))


_ALL = SESSION_PATH.removesuffix("/{session}")

ENDPOINTS = (
    Endpoint(
        "GET",
        _ALL,
        "List a user's sessions without their events",
        list_user_sessions,
        answer=list[Session],
    ),
    Endpoint(
        "POST",
        _ALL,
        "Make a session",
        create_session,
        body=CreateSessionRequest,
        optional=True,
        answer=Session,
        problems=(409,),
    ),
    Endpoint(
        "GET",
        SESSION_PATH,
        "Return a session with its events",
        get_session,
        query=GetQuery,
        answer=Session,
    ),
    Endpoint(
        "POST",
        SESSION_PATH,
        "Make a session under an id; the body is its state",
        create_session_as,
        body=State,
        optional=True,
        answer=Session,
        problems=(409,),
    ),
    Endpoint(
        "PATCH",
        SESSION_PATH,
        "Change a session's state",
        update_session,
        body=UpdateSessionRequest,
        answer=Session,
        problems=(409,),
    ),
    Endpoint("DELETE", SESSION_PATH, "Delete a session", delete_session),
    Endpoint(
        "POST",
        f"{SESSION_PATH}/fork",
        "Make a new session that begins as this one did",
        fork_session,
        body=ForkRequest,
        query=NoQuery,
        optional=True,
        answer=Session,
        status=201,
        problems=(409,),
    ),
    Endpoint(
        "POST",
        f"{SESSION_PATH}/rewind",
        "Take a session back to before an invocation",
        rewind_session,
        body=RewindRequest,
        query=NoQuery,
        answer=Session,
        problems=(409,),
    ),
)
