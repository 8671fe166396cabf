"""Endpoints of runs: /run, /run_sse, the status of a session's run, and its cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from .. import _clock, types
from .._log import get_logger
from ..context.run_config import RunConfig, StreamingMode
from ..events.event import Event
from ..execution.recovery.blockers import is_abandoned, is_open
from ..execution.run_handle import Run
from ..execution.store_access import durable_store
from ..sessions.store.durable_store import Place
from .bodies import CountedParts
from .client_input import check_client_metadata, check_client_state, check_message
from .endpoint import SESSION_PATH, Call, Endpoint, NoQuery
from .host import Host
from .names import Id
from .place import (
    check_place,
    ensure_session,
    load_outline,
    session_not_found,
    session_to_create,
)
from .problems import invalid_input, problem_of
from .session_json import event_json, event_pieces
from .sse import BARE_END, encode_frame, wait_for_disconnect

logger = get_logger(__name__)


class WireRecord(BaseModel):
    """A record in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class StrictRecord(WireRecord):
    """A record of a route that google-adk's server lacks; it refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


class RunAgentRequest(WireRecord):
    """A request to run an agent, as in google-adk's server.

    Attributes:
      app_name: the app; required, although google-adk's record allows none.
      user_id, session_id: the session.
      new_message: the user's message, or function responses.
      streaming: whether to send partial responses.
      state_delta: state changes that come with the message.
      function_call_event_id: the event whose call the message answers.
      invocation_id: an invocation to resume.
      custom_metadata: merged into every event of the run.
      service_tier: not supported.
    """

    app_name: Id | None = None
    user_id: Id
    session_id: Id
    new_message: Annotated[types.Content | None, CountedParts] = None
    streaming: bool = False
    state_delta: dict[str, Any] | None = None
    function_call_event_id: Id | None = None
    invocation_id: Id | None = None
    custom_metadata: dict[str, Any] | None = None
    service_tier: Id | None = None


class RunQuery(BaseModel):
    """Options of a run.

    Attributes:
      detach: the run continues when its reader disconnects.
    """

    detach: bool = False


class RunStatus(WireRecord):
    """The status of a session's run.

    Attributes:
      state: `idle`; `running`, in this or another process; `stuck`, if no process resumes it
        automatically; `left`, if its process has ended and another one will resume it.
      invocation_id: the invocation.
      here: whether this process runs it.
      waiting: the number of queued messages.
      reason: why it is stuck.
    """

    state: str
    invocation_id: str | None = None
    here: bool = False
    waiting: int = 0
    reason: str | None = None


class CancelRequest(StrictRecord):
    """What is to be cancelled.

    Attributes:
      invocation_id: the invocation; what runs where it is left out.
    """

    invocation_id: Id | None = None


class Cancelled(WireRecord):
    """Whether there was something to cancel."""

    cancelled: bool


async def start_run(call: Call) -> tuple[Place, Run]:
    """Start the run that the body describes.

    Raises:
      OstinatoError, Problem: the run cannot be started.
    """
    body: RunAgentRequest = call.body
    name = body.app_name
    if name is None:
        raise invalid_input("appName is required.")
    if body.service_tier is not None:
        raise invalid_input("serviceTier is not supported; leave it out.")
    app = await call.host.agents.get_app(name)
    place = check_place(Place(name, body.user_id, body.session_id))
    check_message(body.new_message)
    check_client_state(call.host.settings, body.state_delta)
    check_client_metadata(body.custom_metadata)
    if body.new_message is None and body.invocation_id is None:
        raise invalid_input("newMessage or invocationId is required.")
    create = call.host.settings.auto_create_session
    if not await ensure_session(call.host.services.sessions, place, create=create):
        raise session_to_create(place)
    metadata = {**(body.custom_metadata or {}), **call.key_metadata()}
    mode = StreamingMode.SSE if body.streaming else StreamingMode.NONE
    run = call.host.runs.start_run(
        app.runner,
        place,
        new_message=body.new_message,
        invocation_id=body.invocation_id,
        state_delta=body.state_delta,
        run_config=RunConfig(streaming_mode=mode, custom_metadata=metadata or None),
        idempotency_key=call.key,
    )
    parts = (body.new_message and body.new_message.parts) or ()
    if call.key is not None or any(part.function_response for part in parts):
        # the status shows whether the key, or the answer to a call, was accepted
        await run.wait_until_accepted()
    return place, run


async def run_agent(call: Call) -> Response:
    """Run an agent to its end, and return all events."""
    _, handle = await start_run(call)
    collecting = asyncio.create_task(_collect_events(call, handle), name="ostinato-run-answer")
    leaving = asyncio.create_task(
        wait_for_disconnect(call.request.receive), name="ostinato-run-reader"
    )
    try:
        await asyncio.wait({collecting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not collecting.done() and not call.is_detached:
            await handle.cancel()
        events = await collecting
    finally:
        for task in (collecting, leaving):
            task.cancel()
        await asyncio.wait({collecting, leaving})
    return Response(b"[" + b",".join(events) + b"]", media_type="application/json")


async def _collect_events(call: Call, handle: Run) -> list[bytes]:
    return [event_json(event) async for event in call.run_events(handle)]


async def run_sse(call: Call) -> Response:
    """Run an agent, and stream its events."""
    _, handle = await start_run(call)
    return call.stream_frames(_stream_frames(call, handle))


async def _stream_frames(call: Call, handle: Run) -> AsyncGenerator[bytes, None]:
    over, split = False, call.body.function_call_event_id is None
    try:
        try:
            async for event in call.run_events(handle):
                for one in numbered_frames(event, handle.numbers.get(event.id), split=split):
                    yield one
        except Exception as error:  # boundary: the stream has started, so the error goes into it
            over = True
            yield encode_frame(error_json(error))
        over = True
        yield BARE_END
    finally:
        if not over and not call.is_detached:
            await handle.cancel()


def numbered_frames(event: Event, number: int | None, *, split: bool) -> list[bytes]:
    """Return an event's frames; only the last one has the number, when the event is complete."""
    number = None if event.partial else number
    pieces = event_pieces(event, split=split)
    return [
        *(encode_frame(piece) for piece in pieces[:-1]),
        encode_frame(pieces[-1], number),
    ]


def error_json(error: Exception) -> bytes:
    """Return an error in the format of google-adk's streams."""
    problem = problem_of(error)
    kind, message = problem.kind, problem.message
    return (
        _StreamError(
            error=f"{kind}: {message}",
            error_details=_ErrorDetails(
                error_type=kind, error_message=message, timestamp=_clock.now()
            ),
        )
        .model_dump_json()
        .encode()
    )


class _ErrorDetails(BaseModel):
    error_type: str
    error_message: str
    timestamp: float


class _StreamError(BaseModel):
    error: str
    error_details: _ErrorDetails


async def get_run_status(call: Call) -> RunStatus:
    """Return the status of a session's run."""
    place, service = call.read_place(), call.host.services.sessions
    if await load_outline(service, place) is None:
        raise session_not_found()
    return await read_run_status(call.host, place)


async def read_run_status(host: Host, place: Place) -> RunStatus:
    """Return the status of the run of an existing session, in this or another process."""
    service = host.services.sessions
    here = host.runs.is_running_here(place)
    durable = durable_store(service)
    if durable is None:
        return RunStatus(state="running" if here else "idle", here=here)
    if not here:
        await service.flush()  # the lease of a run that has just ended may not be released yet
    waiting = len(await durable.messages(place))
    lease = await durable.lease(place)
    if lease is None or not lease.invocation_id:
        return RunStatus(state="running" if here else "idle", here=here, waiting=waiting)
    state = "stuck"
    if is_open(lease):
        state = "left" if is_abandoned(lease) and not here else "running"
    return RunStatus(
        state=state,
        invocation_id=lease.invocation_id,
        here=here,
        waiting=waiting,
        reason=lease.stuck or None,
    )


async def cancel_run(call: Call) -> Cancelled:
    """Cancel the run of a session."""
    place = call.read_place()
    app = await call.host.agents.get_app(place.app_name)
    if await load_outline(call.host.services.sessions, place) is None:
        raise session_not_found()
    wanted = call.body.invocation_id if call.body is not None else None
    return Cancelled(
        cancelled=await app.runner.cancel(
            user_id=place.user_id, session_id=place.session_id, invocation_id=wanted
        )
    )


_EVENTS = Annotated[list[Event], Field(description="The events of the run.")]

ENDPOINTS = (
    Endpoint(
        "POST",
        "/run",
        "Run an agent and answer with all its events",
        run_agent,
        body=RunAgentRequest,
        query=RunQuery,
        answer=_EVENTS,
        problems=(409, 502),
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
        problems=(409,),
        long=True,
        upload=True,
        headers=("Idempotency-Key",),
    ),
    Endpoint(
        "GET",
        f"{SESSION_PATH}/run",
        "Tell what runs in a session",
        get_run_status,
        query=NoQuery,
        answer=RunStatus,
    ),
    Endpoint(
        "POST",
        f"{SESSION_PATH}/cancel",
        "Cancel what runs in a session",
        cancel_run,
        body=CancelRequest,
        optional=True,
        query=NoQuery,
        answer=Cancelled,
    ),
)
