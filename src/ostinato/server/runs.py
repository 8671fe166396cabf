"""Endpoints that run agents: /run, /run_sse, what runs, and cancelling it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from .. import _clock, types
from .._log import get_logger
from ..context.run_config import RunConfig, StreamingMode
from ..events.event import Event
from ..running.ahead import is_left, is_open
from ..running.run import Run
from ..running.store_access import durable_store
from ..sessions._durable_store import Place
from .endpoint import Call, Endpoint
from .host import Host
from .place import checked, no_session, outline
from .problems import Problem, problem_of, public_text
from .sse import SseResponse, end_frame, frame
from .wire import event_json, frames_of

logger = get_logger(__name__)

_KEY = "idempotency-key"
_LONGEST_KEY = 256


class Wire(BaseModel):
    """A record in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class RunAgentRequest(Wire):
    """What is to be run; as in google-adk's server.

    Attributes:
      app_name: the app; may be left out where there is only one.
      user_id, session_id: the session.
      new_message: the user's message, or function responses.
      streaming: whether parts of responses come as they are made.
      state_delta: state changes that go with the message.
      function_call_event_id: the event whose call the message answers.
      invocation_id: an invocation to go on with.
      custom_metadata: merged into every event of the run.
      service_tier: not offered.
    """

    app_name: str | None = None
    user_id: str
    session_id: str
    new_message: types.Content | None = None
    streaming: bool = False
    state_delta: dict[str, Any] | None = None
    function_call_event_id: str | None = None
    invocation_id: str | None = None
    custom_metadata: dict[str, Any] | None = None
    service_tier: str | None = None


class RunQuery(BaseModel):
    """How a run goes on.

    Attributes:
      detach: it does so when its reader is gone.
    """

    detach: bool = False


class RunStatus(Wire):
    """What runs in a session.

    Attributes:
      state: `idle`; `running`, here or in another process; `stuck`, where nobody goes on by itself;
        `left`, where its process is gone and another one will go on.
      invocation_id: the invocation.
      here: whether this process runs it.
      waiting: messages that wait for their turn.
      reason: why it is stuck.
    """

    state: str
    invocation_id: str | None = None
    here: bool = False
    waiting: int = 0
    reason: str | None = None


class CancelRequest(Wire):
    """What is to be cancelled.

    Attributes:
      invocation_id: the invocation; what runs where it is left out.
    """

    invocation_id: str | None = None


class Cancelled(Wire):
    """Whether there was something to cancel."""

    cancelled: bool


async def start(call: Call) -> tuple[Place, Run]:
    """Start what the body asks for.

    Raises:
      OstinatoError, Problem: it cannot be started.
    """
    body: RunAgentRequest = call.body
    name = body.app_name
    if name is None:
        names = list(call.host.agents.folders())
        if len(names) != 1:
            raise Problem(400, "InputValidationError", "appName is needed: there are several apps.")
        name = names[0]
    if body.service_tier is not None:
        raise Problem(400, "InputValidationError", "serviceTier is not offered; leave it out.")
    app = await call.host.agents.get(name)
    place = checked(Place(name, body.user_id, body.session_id))
    if body.new_message is None and body.invocation_id is None:
        raise Problem(400, "InputValidationError", "newMessage or invocationId is needed.")
    if await outline(call.host.services.sessions, place) is None:
        raise no_session(place, named=True)
    key = call.request.headers.get(_KEY)
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise Problem(400, "InputValidationError", "Idempotency-Key has 1 to 256 characters.")
    mode = StreamingMode.SSE if body.streaming else StreamingMode.NONE
    run = call.host.runs.start(
        app.runner,
        place,
        new_message=body.new_message,
        invocation_id=body.invocation_id,
        state_delta=body.state_delta,
        run_config=RunConfig(streaming_mode=mode, custom_metadata=body.custom_metadata),
        idempotency_key=key,
    )
    return place, run


async def run(call: Call) -> Response:
    """Run to the end, and answer with all events."""
    _, handle = await start(call)
    try:
        events = [event_json(event) async for event in handle]
    except Exception as error:  # boundary: what the agent's code raised is told, as in a stream
        problem = problem_of(error)
        message = problem.message or public_text(str(error))
        raise Problem(problem.status, problem.kind, message) from error
    return Response(b"[" + b",".join(events) + b"]", media_type="application/json")


async def run_sse(call: Call) -> Response:
    """Run, and send each event as it comes."""
    _, handle = await start(call)
    split = call.body.function_call_event_id is None
    settings = call.host.settings
    frames = _frames(handle, split=split, detach=call.query.detach)
    return SseResponse(frames, heartbeat=settings.heartbeat, write_timeout=settings.write_timeout)


async def _frames(handle: Run, *, split: bool, detach: bool) -> AsyncGenerator[bytes, None]:
    over = False
    try:
        try:
            async for event in handle:
                for one in numbered_frames(event, handle.numbers.get(event.id), split=split):
                    yield one
        except Exception as error:  # boundary: the stream has begun; the client is told in it
            over = True
            yield frame(error_json(error))
        over = True
        yield end_frame()
    finally:
        if not over and not detach:
            await handle.cancel()


def numbered_frames(event: Event, number: int | None, *, split: bool) -> list[bytes]:
    """Return an event's frames; the number goes with the last, when all of it has been sent."""
    number = None if event.partial else number
    pieces = frames_of(event, split=split)
    return [
        *(frame(piece) for piece in pieces[:-1]),
        frame(pieces[-1], number),
    ]


def error_json(error: Exception) -> bytes:
    """Return an error as google-adk's server tells it within a stream."""
    problem = problem_of(error)
    kind = type(error).__name__
    message = problem.message or public_text(str(error))
    return (
        _ERROR(
            error=f"{kind}: {message}",
            error_details=_Details(error_type=kind, error_message=message, timestamp=_clock.now()),
        )
        .model_dump_json()
        .encode()
    )


class _Details(BaseModel):
    error_type: str
    error_message: str
    timestamp: float


class _ERROR(BaseModel):
    error: str
    error_details: _Details


async def status(call: Call) -> RunStatus:
    """Tell what runs in a session."""
    place, service = call.place(), call.host.services.sessions
    if await outline(service, place) is None:
        raise no_session(place)
    return await run_status(call.host, place)


async def run_status(host: Host, place: Place) -> RunStatus:
    """Tell what runs in a session that there is, here or in another process."""
    service = host.services.sessions
    here = host.runs.is_here(place)
    durable = durable_store(service)
    if durable is None:
        return RunStatus(state="running" if here else "idle", here=here)
    if not here:
        await service.flush()  # what ended just now may not have been given back
    waiting = len(await durable.messages(place))
    lease = await durable.lease(place)
    if lease is None or not lease.invocation_id:
        return RunStatus(state="running" if here else "idle", here=here, waiting=waiting)
    state = "stuck"
    if is_open(lease):
        state = "left" if is_left(lease) and not here else "running"
    return RunStatus(
        state=state,
        invocation_id=lease.invocation_id,
        here=here,
        waiting=waiting,
        reason=lease.stuck or None,
    )


async def cancel(call: Call) -> Cancelled:
    """Cancel what runs in a session."""
    place = call.place()
    app = await call.host.agents.get(place.app_name)
    if await outline(call.host.services.sessions, place) is None:
        raise no_session(place)
    wanted = call.body.invocation_id if call.body is not None else None
    return Cancelled(
        cancelled=await app.runner.cancel(
            user_id=place.user_id, session_id=place.session_id, invocation_id=wanted
        )
    )


_SESSION = "/apps/{app}/users/{user}/sessions/{session}"
_EVENTS = Annotated[list[Event], Field(description="The events of the run.")]

ENDPOINTS = (
    Endpoint(
        "POST",
        "/run",
        "Run an agent and answer with all its events",
        run,
        body=RunAgentRequest,
        answer=_EVENTS,
        problems=(404, 409, 500, 502, 503, 504),
        long=True,
        upload=True,
        headers=("Idempotency-Key",),
    ),
    Endpoint(
        "POST",
        "/run_sse",
        "Run an agent and stream its events",
        run_sse,
        body=RunAgentRequest,
        query=RunQuery,
        answer=Event,
        media="text/event-stream",
        problems=(404, 409, 503),
        long=True,
        upload=True,
        headers=("Idempotency-Key",),
    ),
    Endpoint(
        "GET",
        f"{_SESSION}/run",
        "Tell what runs in a session",
        status,
        answer=RunStatus,
        problems=(404, 503),
    ),
    Endpoint(
        "POST",
        f"{_SESSION}/cancel",
        "Cancel what runs in a session",
        cancel,
        body=CancelRequest,
        optional=True,
        answer=Cancelled,
        problems=(404, 503),
    ),
)
