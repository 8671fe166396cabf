"""What a fork takes over of decisions: an answer runs its tool in the session that accepted it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import types
from ostinato.apps import App
from ostinato.errors import CallAlreadyAnsweredError, NothingToResumeError
from ostinato.events import Event
from ostinato.events.request_input import RequestInput
from ostinato.runners import Runner
from ostinato.testing import call
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from ostinato.workflow import START, Workflow
from tests.approvals.kit import NAMES, PLACE, Desk, decide, requests

COPY: dict[str, Any] = {**NAMES, "new_session_id": "copy"}
NOT_RUN = {"error": "not run: answered in the session that this is a copy of"}


async def resume(runner: Runner, invocation_id: str, message: Any = None) -> None:
    """Resume an invocation of the copy, or answer one of its calls."""
    place: dict[str, Any] = {"user_id": "ann", "session_id": "copy"}
    if message is None:
        run = runner.run_async(**place, invocation_id=invocation_id)
    else:
        run = runner.run_async(**place, new_message=message)
    async for _ in run:
        pass


async def responses(service: Any, name: str) -> list[Any]:
    """Return what a tool's calls are answered in the copy."""
    session = await service.get_session(**{**NAMES, "session_id": "copy"})
    found = [one for event in session.events for one in event.get_function_responses()]
    return [one.response for one in found if one.name == name]


def answer_event(events: list[Event]) -> Event:
    """Return the event of the user's answer."""
    return next(one for one in events if one.author == "user" and one.get_function_responses())


async def test_an_answer_at_which_a_session_is_forked_runs_nothing_there(service: Any) -> None:
    desk = Desk(service, call("pay", amount=5), "Done.", "Nothing more.")
    request = await desk.ask()
    await desk.say(decide(request))
    answer = answer_event(await desk.events())
    await service.fork_session(**COPY, at_event=answer.id)
    assert (await responses(service, "pay"))[-1] == NOT_RUN
    with pytest.raises(NothingToResumeError):
        await resume(desk.runner, answer.invocation_id)
    with pytest.raises(CallAlreadyAnsweredError):
        await resume(desk.runner, "", decide(request))
    assert desk.paid == [5]
    await resume(desk.runner, "", "And now?")
    assert desk.paid == [5]


@pytest.mark.parametrize("close_requests", [False, True])
async def test_an_answer_that_a_program_stored_runs_its_tool_in_its_own_session(
    service: Any, close_requests: bool
) -> None:
    desk = Desk(service)
    request = await desk.ask()
    invocation_id = (await desk.events())[0].invocation_id
    event = Event(author="user", invocation_id=invocation_id, content=decide(request))
    await service.append_event(await service.get_session(**NAMES), event)
    await service.fork_session(**COPY, close_requests=close_requests)
    with pytest.raises(NothingToResumeError):
        await resume(desk.runner, invocation_id)
    assert desk.paid == []
    await desk.say(None, invocation_id=invocation_id)
    assert desk.paid == [5]


@pytest.mark.parametrize("close_requests", [False, True])
async def test_a_fork_during_an_approved_tool_does_not_run_it_again(
    service: Any, close_requests: bool
) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    runs: list[int] = []

    async def pay(amount: int) -> str:
        """Pay slowly."""
        runs.append(amount)
        begun.set()
        await gate.wait()
        return "paid"

    tool = FunctionTool(pay, require_confirmation=True)
    desk = Desk(service, call("pay", amount=5), "Done.", tools=[tool])
    request = await desk.ask()
    paying = asyncio.create_task(desk.say(decide(request)))
    await begun.wait()
    await service.fork_session(**COPY, close_requests=close_requests)
    with pytest.raises(NothingToResumeError):
        await resume(desk.runner, (await desk.events())[0].invocation_id)
    gate.set()
    await paying
    assert runs == [5]
    assert (await responses(service, "pay"))[-1] == NOT_RUN


async def test_of_two_calls_the_open_one_comes_along(service: Any) -> None:
    both = types.Content(
        role="model",
        parts=[
            types.Part(function_call=types.FunctionCall(name="pay", args={"amount": number}))
            for number in (1, 2)
        ],
    )
    desk = Desk(service, both, "One.", "Done.")
    one, two = requests(await desk.say())
    await desk.say(decide(one))
    await service.fork_session(**COPY, at_event=answer_event(await desk.events()).id)
    assert desk.paid == [1]
    await resume(desk.runner, "", decide(two))
    assert desk.paid == [1, 2]


async def test_a_fork_after_the_result_keeps_it(service: Any) -> None:
    desk = Desk(service)
    await desk.say(decide(await desk.ask()))
    await service.fork_session(**COPY)
    assert (await responses(service, "pay"))[-1] == {"paid": 5}


async def test_an_open_request_asks_anew_in_a_fork(service: Any) -> None:
    desk = Desk(service, call("pay", amount=5), "No.", "Done.")
    request = await desk.ask()
    asking = (await desk.events())[-1]
    await desk.say(decide(request, False))
    await service.fork_session(**COPY, at_event=asking.id)
    await resume(desk.runner, "", decide(request))
    assert desk.paid == [5]


async def test_an_answered_question_of_a_node_runs_nothing_in_a_fork(service: Any) -> None:
    runs: list[Any] = []
    begun, gate = asyncio.Event(), asyncio.Event()

    async def ask(ctx: Any) -> Any:
        """Ask."""
        yield RequestInput(interrupt_id="sure", message="Sure?")

    async def pay(node_input: Any) -> str:
        """Pay."""
        runs.append(node_input)
        begun.set()
        await gate.wait()
        return "paid"

    graph = Workflow(name="desk", edges=[(START, ask, pay)])
    runner = Runner(
        app=App(name="desk", root_agent=graph), session_service=service, auto_create_session=True
    )
    asked = [one async for one in runner.run_async(**PLACE, new_message="Pay.")][-1]
    answer = types.FunctionResponse(id="sure", name="adk_request_input", response={"result": 1})
    message = types.Content(role="user", parts=[types.Part(function_response=answer)])

    async def say() -> None:
        async for _ in runner.run_async(**PLACE, new_message=message):
            pass

    paying = asyncio.create_task(say())
    await begun.wait()
    await service.fork_session(**COPY)
    with pytest.raises(NothingToResumeError):
        await resume(runner, asked.invocation_id)
    gate.set()
    await paying
    assert len(runs) == 1


async def test_a_long_running_tool_without_a_result_is_not_run_in_a_fork(service: Any) -> None:
    begun, gate = asyncio.Event(), asyncio.Event()
    runs: list[int] = []

    async def order() -> None:
        """Order something."""
        runs.append(1)
        begun.set()
        await gate.wait()

    desk = Desk(service, call("order"), "Soon.", tools=[LongRunningFunctionTool(order)])
    ordering = asyncio.create_task(desk.say("Order."))
    await begun.wait()
    await service.fork_session(**COPY)
    await resume(desk.runner, (await desk.events())[0].invocation_id)
    gate.set()
    await ordering
    assert runs == [1]
