"""Endpoint that tries something else: a fork of a session with another instruction, model or tool
result, in which a message runs.
"""

from __future__ import annotations

from typing import Annotated, Any

from starlette.responses import Response

from .. import types
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import as_agent
from ..context.run_config import RunConfig, StreamingMode
from ..errors import ModelUnavailableError, OstinatoError
from ..events.event import Event
from ..execution.store_access import durable_store, import_events
from ..models.registry import LLMRegistry
from ..runners import Runner
from ..sessions.log.event_log import EventRecord
from ..sessions.log.fork import answer_open_calls, fold_state, kept_records
from ..sessions.session import Session
from ..sessions.state import SCOPED_PREFIXES
from ..sessions.store.durable_store import Place
from .agents import ServedApp
from .bodies import CountedParts
from .client_input import check_message
from .endpoint import SESSION_PATH, Call, Endpoint, NoQuery
from .names import Id
from .place import load_records, need_session
from .problems import Problem, invalid_input
from .runs import StrictRecord
from .session_json import session_json


class EditedResult(StrictRecord):
    """Another result of a call.

    Attributes:
      call_id: the call.
      response: the result that the model is to read.
    """

    call_id: Id
    response: dict[str, Any]


class TrialRequest(StrictRecord):
    """What is to be tried.

    Attributes:
      at_event: the last event that the fork takes over; none of them if it is left out.
      new_message: the message that runs in the fork.
      agent: the agent whose instruction or model changes; the root if it is left out.
      instruction: its instruction for this run.
      model: the name of its model for this run.
      result: another result of a call among the events.
    """

    at_event: Id | None = None
    new_message: Annotated[types.Content, CountedParts]
    agent: Id | None = None
    instruction: str | None = None
    model: Id | None = None
    result: EditedResult | None = None


async def start_trial(call: Call) -> Response:
    """Fork a session, start a detached run in the fork, and return the fork.

    A trial that a crash interrupts resumes with the agents as the app has them.

    Raises:
      InputValidationError, Problem: what is to be tried does not exist, or the server is not a
        developer's.
    """
    if not call.host.settings.developer:  # a client of a service must not change its agents
        raise Problem(
            403, "DeveloperOnly", "Trials are for developers: only `ostinato web` runs them."
        )
    place, body = call.read_place(), call.body
    app = await call.host.agents.get_app(place.app_name)
    check_message(body.new_message)
    runner = make_trial_runner(app, body)
    made = await _fork_session(call, place, body)
    where = Place(made.app_name, made.user_id, made.id)
    call.host.runs.start_run(
        runner,
        where,
        new_message=body.new_message,
        run_config=RunConfig(streaming_mode=StreamingMode.SSE),
    )
    return Response(await session_json(made), 201, media_type="application/json")


def make_trial_runner(app: ServedApp, body: TrialRequest) -> Runner:
    """Return a runner for one run with the changes; the app's own if there are none.

    Raises:
      Problem: the agent does not exist or has no model, or the model's name is not known.
    """
    if body.instruction is None and body.model is None:
        return app.runner
    root = as_agent(app.runner.agent).clone()
    name = body.agent or root.name
    agent = root.find_agent(name)
    if not isinstance(agent, LlmAgent):
        fault = "has no instruction and model" if agent is not None else "does not exist"
        raise invalid_input(
            f"Agent {name!r} {fault}; name an agent with a model outside of workflow graphs."
        )
    if body.instruction is not None:
        agent.instruction = body.instruction
    if body.model is not None:
        try:
            LLMRegistry.resolve(body.model)
        except ModelUnavailableError as error:
            raise invalid_input(str(error)) from error
        agent.model = body.model
    return app.runner_with_root(root)


async def _fork_session(call: Call, place: Place, body: TrialRequest) -> Session:
    """Return a new session with the events up to `at_event`."""
    service = call.host.services.sessions
    if body.at_event is not None and body.result is None:
        return await service.fork_session(**place._asdict(), at_event=body.at_event)
    _, records = await load_records(service, place)
    durable = durable_store(service)
    initial = (
        {} if durable is None else await durable.initial_state(await need_session(service, place))
    )
    kept = list[EventRecord]()
    if body.at_event is not None:
        kept = kept_records(records, body.at_event, place.session_id)
    events = [record.event() for record in kept] + answer_open_calls(kept)
    for event in events:  # the state of the user and the app does not change
        delta = event.actions.state_delta
        own = {key: value for key, value in delta.items() if not key.startswith(SCOPED_PREFIXES)}
        event.actions.state_delta = own
    if body.result is not None:
        _edit_result(events, body.result)
    names = {"app_name": place.app_name, "user_id": place.user_id}
    state = initial if durable is not None else fold_state(initial, kept)
    made = await service.create_session(**names, state=state)
    try:
        await import_events(service, made, events)
    except OstinatoError:
        await service.delete_session(**names, session_id=made.id)
        raise
    return made


def _edit_result(events: list[Event], result: EditedResult) -> None:
    """Replace the result of a call.

    Raises:
      Problem: no event has a result of the call.
    """
    for event in events:
        for part in (event.content.parts if event.content else None) or ():
            if part.function_response and part.function_response.id == result.call_id:
                part.function_response.response = result.response
                return
    raise invalid_input(f"No result of the call {result.call_id!r} is among the events.")


ENDPOINTS = (
    Endpoint(
        "POST",
        f"{SESSION_PATH}/trials",
        "Fork a session and run a message there with another instruction, model or tool result",
        start_trial,
        body=TrialRequest,
        query=NoQuery,
        answer=Session,
        status=201,
        problems=(409,),
        upload=True,
    ),
)
