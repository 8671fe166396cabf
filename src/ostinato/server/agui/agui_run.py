"""Endpoint /apps/{app}/agui: runs of an agent as AG-UI's events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

from starlette.responses import Response

from ... import types
from ...context.run_config import RunConfig, StreamingMode
from ...errors import RunCancelledError
from ...execution.run_handle import Run
from ...sessions.session import Session
from ...sessions.store.durable_store import Place
from ..client_conversations import (
    begin_or_find_session,
    begin_session,
    build_answers,
    build_text_answer,
    load_pending,
)
from ..client_input import check_client_state, without_app_state
from ..endpoint import Call, Endpoint
from ..idempotency import is_accepted
from ..place import check_place, need_session
from ..problems import problem_of, public_message, public_name
from .agui_events import (
    AguiEvent,
    EventTranslator,
    encode_event,
    messages_of,
    outcome_of,
    run_finished,
    run_started,
)
from .client_tools import ClientTools
from .input import RunAgentInput


async def run_agent(call: Call) -> Response:
    """Run an agent in a thread; without a new message, send a snapshot of the thread."""
    body: RunAgentInput = call.body
    app = await call.host.agents.get_app(call.path["app"])
    place = check_place(Place(app.name, body.read_user(), body.thread_id))
    service = call.host.services.sessions
    session = await service.get_session(**place._asdict())
    if session is None:
        past = body.earlier_turns()
        if call.key is None:
            await begin_session(call.host, app, place.user_id, past, session_id=place.session_id)
        else:
            await begin_or_find_session(call.host, app, place, past)
        session = await need_session(service, place)
    delta = without_app_state(call.host.settings, _changed_state(session.state, body.state))
    check_client_state(call.host.settings, delta)
    if call.key is not None and await is_accepted(service, place, call.key):
        message = types.Content(role="user", parts=body.new_parts())  # the log has the answer
    else:
        message = await _new_message(call, session, place, body)
    if message is None:
        frames = _snapshot_frames(body, session)
    else:
        tools = ClientTools(body.tools or (), place.session_id)
        handle = call.host.runs.start_run(
            app.runner_with(tools) if body.tools else app.runner,
            place,
            new_message=message,
            state_delta=delta or None,
            run_config=RunConfig(
                streaming_mode=StreamingMode.SSE,
                custom_metadata=call.key_metadata() or None,
            ),
            idempotency_key=call.key,
        )
        await handle.wait_until_accepted()
        frames = _run_frames(call, place, handle, {**session.state, **delta}, tools)
    return call.stream_frames(frames)


def _changed_state(known: dict[str, Any], state: Any) -> dict[str, Any]:
    """Return the values of the client's state that differ from the session's."""
    if not isinstance(state, dict):
        return {}
    values = cast("dict[str, Any]", state)
    return {key: value for key, value in values.items() if known.get(key) != value}


async def _new_message(
    call: Call, session: Session, place: Place, body: RunAgentInput
) -> types.Content | None:
    """Return the new message of the thread, or None if nothing is new.

    A result that the session already has is the client's copy, and not new.

    Raises:
      CallNotOpenError: a result answers a call that was never made.
      InvalidAnswerError: two new results or answers are for one call.
    """
    answers = body.call_results()
    if answers:
        known = {one.id for event in session.events for one in event.get_function_responses()}
        answers = [one for one in answers if one[0] not in known]
    for one in body.resume or ():
        found = await call.host.waiting.find_call(place, one.interrupt_id)
        answers.append((one.interrupt_id, one.call_response(found.pending)))
    words = body.new_parts()
    if answers:
        message = await build_answers(call.host, place, answers, "resume")
        return types.Content(role="user", parts=[*(message.parts or ()), *words])
    if not words:
        return None
    answer = await build_text_answer(call.host, place, body.new_text())
    return answer or types.Content(role="user", parts=words)


async def _snapshot_frames(body: RunAgentInput, session: Session) -> AsyncGenerator[bytes, None]:
    yield encode_event(run_started(body))
    yield encode_event({"type": "STATE_SNAPSHOT", "snapshot": session.state})
    yield encode_event({"type": "MESSAGES_SNAPSHOT", "messages": messages_of(session)})
    yield encode_event(run_finished(body, {"type": "success"}))


async def _run_frames(
    call: Call, place: Place, handle: Run, state: dict[str, Any], tools: ClientTools
) -> AsyncGenerator[bytes, None]:
    """Yield the events of a run; without an idempotency key, the run ends with its reader."""
    over = False
    translator = EventTranslator(state)
    try:
        yield encode_event(run_started(call.body))
        yield encode_event({"type": "STATE_SNAPSHOT", "snapshot": state})
        failure: AguiEvent | None = None
        try:
            async for event in call.run_events(handle):
                for one in translator.translate_event(event):
                    yield encode_event(one)
        except RunCancelledError:
            failure = run_finished(call.body, {"type": "cancelled"}, handle.usage)
        except Exception as error:  # boundary: the stream has started, so the error goes into it
            problem = problem_of(error)
            failure = _error_event(problem.kind, problem.message)
        over = True
        for one in translator.end_run():
            yield encode_event(one)
        yield encode_event(failure or await _final_event(call, place, handle, translator, tools))
    finally:
        if not over and not call.is_detached:
            await handle.cancel()


async def _final_event(
    call: Call, place: Place, handle: Run, translator: EventTranslator, tools: ClientTools
) -> AguiEvent:
    if translator.pieces.failure is not None:
        code, message = translator.pieces.failure
        return _error_event(code, public_message(code, message, translator.pieces.invocation))
    try:
        pending = [
            one for one in await load_pending(call.host, place) if not tools.is_client_call(one)
        ]
        return run_finished(call.body, outcome_of(pending, tools.called), handle.usage)
    except Exception as error:  # boundary: the stream has started, so the error goes into it
        problem = problem_of(error)
        return _error_event(problem.kind, problem.message)


def _error_event(code: str, message: str) -> AguiEvent:
    kind = public_name(code)
    return {"type": "RUN_ERROR", "message": message or kind, "code": kind}


ENDPOINTS = (
    Endpoint(
        "POST",
        "/apps/{app}/agui",
        "Run an agent and stream AG-UI's events",
        run_agent,
        body=RunAgentInput,
        answer=dict[str, Any],
        media="text/event-stream",
        problems=(409,),
        long=True,
        upload=True,
        headers=("Idempotency-Key",),
    ),
)
