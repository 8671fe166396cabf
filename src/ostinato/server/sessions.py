"""Endpoints of sessions: make, list, search, change, fork, rewind and delete them."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, Field
from starlette.responses import Response

from .. import _clock
from ..errors import AlreadyExistsError, InputValidationError, OstinatoError
from ..events.event import Event
from ..events.event_actions import EventActions
from ..sessions.base_session_service import GetSessionConfig, ListSessionsResponse, check_name
from ..sessions.session import Session
from .endpoint import Call, Endpoint
from .place import need_session, outline
from .problems import Problem
from .runs import Wire
from .wire import listed_json, session_json

_TITLES = "__session_metadata__"  # where google-adk's page keeps what a person called a session
_SCAN = 1000  # sessions that one search looks at, at most
_SIZE = 50


class CreateSessionRequest(Wire):
    """How a session begins."""

    session_id: str | None = None
    state: dict[str, Any] | None = None
    events: list[Event] | None = None


class State(BaseModel):
    """State of a new session: any object."""

    model_config = {"extra": "allow"}


class UpdateSessionRequest(Wire):
    """State keys to change; null removes one."""

    state_delta: dict[str, Any]


class ForkRequest(Wire):
    """Where a new session leaves the old one: behind an event, at the end where none is named."""

    at_event: str | None = None
    new_session_id: str | None = None


class RewindRequest(Wire):
    """The invocation before which a session is to be again."""

    before_invocation_id: str


class ListQuery(Wire):
    """Which sessions.

    Attributes:
      user_id: those of one user.
      search: those with this text in id or title.
      page_size: so many at most.
      page_token: where the page before ended.
    """

    user_id: str | None = None
    search: str | None = Field(default=None, max_length=256)
    page_size: int = Field(default=_SIZE, ge=1, le=500)
    page_token: str | None = Field(default=None, max_length=2000)


class GetQuery(Wire):
    """How many of the newest events come with a session; all where it is left out."""

    num_recent_events: int | None = Field(default=None, ge=0, le=2**31)


class SessionSummary(Wire):
    """A session in a list."""

    id: str
    user_id: str
    title: str | None = None
    last_update_time: float


class SessionPage(Wire):
    """A page of sessions, the one changed last first."""

    sessions: list[SessionSummary]
    next_page_token: str | None = None


@runtime_checkable
class _Paged(Protocol):
    async def list_sessions(
        self,
        *,
        app_name: str,
        user_id: str | None = None,
        page_size: int | None = None,
        page_token: str | None = None,
    ) -> ListSessionsResponse: ...


async def _whole(session: Session, status: int = 200) -> Response:
    return Response(await session_json(session), status, media_type="application/json")


async def listing(call: Call) -> Response:
    """List a user's sessions, all at once, as google-adk's server does."""
    app = await call.host.agents.get(call.path["app"])
    user = check_name("user id", call.path["user"])
    found = await call.host.services.sessions.list_sessions(app_name=app.name, user_id=user)
    rows = [listed_json(one)[:-1] + b',"events":[]}' for one in found.sessions]
    return Response(b"[" + b",".join(rows) + b"]", media_type="application/json")


async def page(call: Call) -> SessionPage:
    """List or search the sessions of an app, page by page."""
    app = await call.host.agents.get(call.path["app"])
    query: ListQuery = call.query
    service: Any = call.host.services.sessions
    if not isinstance(service, _Paged):
        raise NotImplementedError("This session service does not list sessions.")
    wanted = (query.search or "").casefold()
    found: list[SessionSummary] = []
    token, seen = query.page_token, 0
    while len(found) < query.page_size and seen < _SCAN:
        size = query.page_size - len(found) if not wanted else min(200, query.page_size)
        part = await _page(service, app.name, query.user_id, size, token)
        seen += len(part.sessions)
        token = part.next_page_token
        found += [one for one in map(_summary, part.sessions) if _fits(one, wanted)]
        if token is None:
            break
    return SessionPage(sessions=found, next_page_token=token)


async def _page(
    service: _Paged, app: str, user: str | None, size: int, token: str | None
) -> ListSessionsResponse:
    try:
        return await service.list_sessions(
            app_name=app, user_id=user, page_size=size, page_token=token
        )
    except TypeError:  # a service of somebody's own that knows no pages
        if token is not None:
            raise InputValidationError("This session service has no pages.") from None
        return await service.list_sessions(app_name=app, user_id=user)


def _summary(session: Session) -> SessionSummary:
    return SessionSummary(
        id=session.id,
        user_id=session.user_id,
        title=title_of(session.state),
        last_update_time=session.last_update_time,
    )


def title_of(state: dict[str, Any]) -> str | None:
    """Return what a person called a session, or None."""
    metadata = state.get(_TITLES)
    name: Any = metadata.get("displayName") if isinstance(metadata, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return name if isinstance(name, str) and name else None


def _fits(session: SessionSummary, text: str) -> bool:
    return text in session.id.casefold() or text in (session.title or "").casefold()


async def create(call: Call) -> Response:
    """Make a session."""
    body: CreateSessionRequest = call.body or CreateSessionRequest()
    return await _create(call, body.session_id, body.state, body.events or [])


async def create_as(call: Call) -> Response:
    """Make a session under an id; the body is its state."""
    check_name("session id", call.path["session"])
    state = {} if call.body is None else dict(call.body.model_extra or {})
    return await _create(call, call.path["session"], state, [])


async def _create(
    call: Call, session_id: str | None, state: dict[str, Any] | None, events: list[Event]
) -> Response:
    app = await call.host.agents.get(call.path["app"])
    service = call.host.services.sessions
    names = {"app_name": app.name, "user_id": check_name("user id", call.path["user"])}
    try:
        made = await service.create_session(**names, session_id=session_id, state=state)
    except AlreadyExistsError as error:
        raise Problem(409, "AlreadyExistsError", f"Session already exists: {session_id}") from error
    try:
        for event in events:
            await service.append_event(made, event)
    except OstinatoError:
        await service.delete_session(**names, session_id=made.id)
        raise
    return await _whole(made)


async def get(call: Call) -> Response:
    """Return a session with its events."""
    recent = GetSessionConfig(num_recent_events=call.query.num_recent_events)
    return await _whole(await need_session(call.host.services.sessions, call.place(), recent))


async def update(call: Call) -> Response:
    """Change a session's state, by an event of its own."""
    place, service = call.place(), call.host.services.sessions
    session = await need_session(service, place)
    event = Event(
        invocation_id=f"p-{_clock.new_id()}",
        author="user",
        actions=EventActions(state_delta=call.body.state_delta),
    )
    await service.append_event(session, event)
    call.host.runs.stir(place)
    return await _whole(session)


async def delete(call: Call) -> None:
    """Delete a session and the files that are its own; nothing happens where there is none."""
    place, services = call.place(), call.host.services
    names = place._asdict()
    if await outline(services.sessions, place) is not None:
        for name in await services.artifacts.list_artifact_keys(**names):
            if not name.startswith("user:"):
                await services.artifacts.delete_artifact(**names, filename=name)
    await services.sessions.delete_session(**names)
    await services.spans.forget(*place)
    call.host.runs.stir(place)


async def fork(call: Call) -> Response:
    """Make a new session that begins as this one did."""
    body: ForkRequest = call.body or ForkRequest()
    place = call.place()
    made = await call.host.services.sessions.fork_session(
        **place._asdict(), at_event=body.at_event, new_session_id=body.new_session_id
    )
    return await _whole(made, 201)


async def rewind(call: Call) -> Response:
    """Take a session back to before an invocation."""
    place = call.place()
    app = await call.host.agents.get(place.app_name)
    await app.runner.rewind_async(
        user_id=place.user_id,
        session_id=place.session_id,
        rewind_before_invocation_id=call.body.before_invocation_id,
    )
    call.host.runs.stir(place)
    return await get(call)


_ALL = "/apps/{app}/users/{user}/sessions"
_ONE = _ALL + "/{session}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/apps/{app}/sessions",
        "List or search an app's sessions, page by page",
        page,
        query=ListQuery,
        answer=SessionPage,
        problems=(404, 501, 503),
    ),
    Endpoint(
        "GET",
        _ALL,
        "List a user's sessions without their events",
        listing,
        answer=list[Session],
        problems=(404, 503),
    ),
    Endpoint(
        "POST",
        _ALL,
        "Make a session",
        create,
        body=CreateSessionRequest,
        optional=True,
        answer=Session,
        problems=(404, 409, 503),
    ),
    Endpoint(
        "GET",
        _ONE,
        "Return a session with its events",
        get,
        query=GetQuery,
        answer=Session,
        problems=(404, 503),
    ),
    Endpoint(
        "POST",
        _ONE,
        "Make a session under an id; the body is its state",
        create_as,
        body=State,
        optional=True,
        answer=Session,
        problems=(404, 409, 503),
    ),
    Endpoint(
        "PATCH",
        _ONE,
        "Change a session's state",
        update,
        body=UpdateSessionRequest,
        answer=Session,
        problems=(404, 409, 503),
    ),
    Endpoint("DELETE", _ONE, "Delete a session", delete, problems=(503,)),
    Endpoint(
        "POST",
        f"{_ONE}/fork",
        "Make a new session that begins as this one did",
        fork,
        body=ForkRequest,
        optional=True,
        answer=Session,
        status=201,
        problems=(404, 409, 503),
    ),
    Endpoint(
        "POST",
        f"{_ONE}/rewind",
        "Take a session back to before an invocation",
        rewind,
        body=RewindRequest,
        answer=Session,
        problems=(404, 409, 503),
    ),
)
