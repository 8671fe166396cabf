"""Endpoint /apps/{app}/agui: runs of an agent in AG-UI's events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

from starlette.responses import Response

from ... import types
from ...context.run_config import RunConfig, StreamingMode
from ...errors import RunCancelledError
from ...running.run import Run
from ...sessions._durable_store import Place
from ...sessions.session import Session
from ..conversation import answering, begin, waiting
from ..endpoint import Call, Endpoint
from ..place import checked, need_session
from ..problems import Problem, problem_of, public_text
from ..sse import SseResponse
from .client_tools import ClientTools
from .events import Telling, Told, encoded, finished, messages_of, outcome_of, started
from .input import RunAgentInput


async def run(call: Call) -> Response:
    """Run an agent in a thread; without anything new, tell what the thread holds."""
    body: RunAgentInput = call.body
    app = await call.host.agents.get(call.path["app"])
    place = checked(Place(app.name, body.user(), body.thread_id))
    service = call.host.services.sessions
    session = await service.get_session(**place._asdict())
    if session is None:
        await begin(call.host, app, place.user_id, body.past(), session_id=place.session_id)
        session = await need_session(service, place)
    delta = _delta(session.state, body.state)
    message = await _message(call, session, place, body)
    settings = call.host.settings
    if message is None:
        frames = _held(body, session)
    else:
        tools = ClientTools(body.tools or (), place.session_id)
        handle = call.host.runs.start(
            app.runner_with(tools) if body.tools else app.runner,
            place,
            new_message=message,
            state_delta=delta or None,
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        )
        frames = _frames(call, place, handle, {**session.state, **delta}, tools)
    return SseResponse(frames, heartbeat=settings.heartbeat, write_timeout=settings.write_timeout)


def _delta(known: dict[str, Any], state: Any) -> dict[str, Any]:
    """Return what the client's state says otherwise than the session's."""
    if not isinstance(state, dict):
        return {}
    told = cast("dict[str, Any]", state)
    return {key: value for key, value in told.items() if known.get(key) != value}


async def _message(
    call: Call, session: Session, place: Place, body: RunAgentInput
) -> types.Content | None:
    """Return what is new, as a message; None where nothing is.

    A result that the session has is the client's copy of what it was told, and not new.

    Raises:
      Problem: it answers what does not wait.
    """
    answers = body.results()
    if answers:
        known = {one.id for event in session.events for one in event.get_function_responses()}
        answers = {call_id: value for call_id, value in answers.items() if call_id not in known}
    if body.resume:
        pending = {one.call.id: one for one in await waiting(call.host, place)}
        for one in body.resume:
            found = pending.get(one.interrupt_id)
            if found is None:
                raise Problem(400, "InputValidationError", "resume: no such interrupt is open.")
            answers[one.interrupt_id] = one.response(found)
    words = body.new()
    if answers:
        message = await answering(call.host, place, answers, "resume")
        return types.Content(role="user", parts=[*(message.parts or ()), *words])
    return types.Content(role="user", parts=words) if words else None


async def _held(body: RunAgentInput, session: Session) -> AsyncGenerator[bytes, None]:
    yield encoded(started(body))
    yield encoded({"type": "STATE_SNAPSHOT", "snapshot": session.state})
    yield encoded({"type": "MESSAGES_SNAPSHOT", "messages": messages_of(session)})
    yield encoded(finished(body, {"type": "success"}))


async def _frames(
    call: Call, place: Place, handle: Run, state: dict[str, Any], tools: ClientTools
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a run; a reader that is gone ends it."""
    over = False
    telling = Telling(state)
    try:
        yield encoded(started(call.body))
        yield encoded({"type": "STATE_SNAPSHOT", "snapshot": state})
        failure: Told | None = None
        try:
            async for event in handle:
                for one in telling.of(event):
                    yield encoded(one)
        except RunCancelledError:
            failure = finished(call.body, {"type": "cancelled"}, handle.usage)
        except Exception as error:  # boundary: the stream has begun; the client is told in it
            problem = problem_of(error)
            failure = _error(problem.kind, problem.message)
        over = True
        for one in telling.end():
            yield encoded(one)
        yield encoded(failure or await _ending(call, place, handle, telling, tools))
    finally:
        if not over:
            await handle.cancel()


async def _ending(
    call: Call, place: Place, handle: Run, telling: Telling, tools: ClientTools
) -> Told:
    if telling.pieces.failure is not None:
        code, message = telling.pieces.failure
        return _error(code, public_text(message))
    try:
        pending = [one for one in await waiting(call.host, place) if not tools.has(one)]
        return finished(call.body, outcome_of(pending, tools.called), handle.usage)
    except Exception as error:  # boundary: the stream has begun; the client is told in it
        problem = problem_of(error)
        return _error(problem.kind, problem.message)


def _error(code: str, message: str) -> Told:
    told = message or "Something went wrong here; the server's log has more."
    return {"type": "RUN_ERROR", "message": told, "code": code}


ENDPOINTS = (
    Endpoint(
        "POST",
        "/apps/{app}/agui",
        "Run an agent and stream AG-UI's events",
        run,
        body=RunAgentInput,
        answer=dict[str, Any],
        media="text/event-stream",
        problems=(404, 409, 503),
        long=True,
        upload=True,
    ),
)
