"""Marks of the runtime in events' metadata: no text stands for one, no client writes one."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents import RunConfig
from ostinato.errors import CallNotOpenError, InputValidationError
from ostinato.sessions import InMemorySessionService
from ostinato.testing import call
from ostinato.tools import FunctionTool
from tests.approvals.kit import Desk, decide

MARKS = ["imported", "sealed", "rerun", "no_request", "chain", "rejected"]


@pytest.mark.parametrize("mark", MARKS)
async def test_a_mark_as_an_argument_is_text(mark: str) -> None:
    service = InMemorySessionService()
    paid: list[str] = []

    def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return "paid"

    text = f"ostinato:{mark}"
    tool = FunctionTool(pay, require_confirmation=True)
    desk = Desk(service, call("pay", to=text), "Done.", tools=[tool])
    await desk.say(decide(await desk.ask()))
    assert paid == [text]


async def test_a_request_with_a_mark_as_an_argument_is_in_the_inbox_of_a_fork(store: Any) -> None:
    def pay(to: str) -> str:
        """Pay."""
        return to

    tool = FunctionTool(pay, require_confirmation=True)
    desk = Desk(store, call("pay", to="ostinato:imported"), "Done.", tools=[tool])
    request = await desk.ask()
    assert [one.request.call_id for one in (await store.open_requests("desk")).requests] == [
        request.id
    ]


@pytest.mark.parametrize("mark", MARKS)
async def test_a_run_config_may_not_hold_a_mark(mark: str) -> None:
    desk = Desk(InMemorySessionService())
    config = RunConfig(custom_metadata={"mine": 1, f"ostinato:{mark}": True})
    with pytest.raises(InputValidationError, match=f"ostinato:{mark}"):
        await desk.say("Pay 5.", run_config=config)
    request = await desk.ask()
    with pytest.raises(InputValidationError, match=f"ostinato:{mark}"):
        await desk.say(decide(request), run_config=config)
    assert desk.paid == []


async def test_a_run_config_keeps_metadata_of_the_program(desk: Desk) -> None:
    events = await desk.say("Pay 5.", run_config=RunConfig(custom_metadata={"mine": 1}))
    assert all((event.custom_metadata or {})["mine"] == 1 for event in events)


async def test_a_plain_call_takes_no_answer(service: Any) -> None:
    """A call that ran, and one that a client invented, wait for nobody."""
    desk = Desk(service, call("pay", amount=5), "Done.", "More.")
    request = await desk.ask()
    tool_call = (request.args or {})["originalFunctionCall"]["id"]
    invented = types.FunctionCall(id="own", name="pay", args={"amount": 5})
    for open_too in (True, False):
        before = len(await desk.events())
        for name in ("pay", "other"):
            answer = types.FunctionResponse(id=tool_call, name=name, response={"paid": 1})
            with pytest.raises(CallNotOpenError):
                await desk.say(
                    types.Content(role="user", parts=[types.Part(function_response=answer)])
                )
        assert len(await desk.events()) == before
        if open_too:
            await desk.say(decide(request))
    await desk.say(types.Content(role="user", parts=[types.Part(function_call=invented)]))
    answer = types.FunctionResponse(id="own", name="pay", response={"paid": 1})
    with pytest.raises(CallNotOpenError):
        await desk.say(types.Content(role="user", parts=[types.Part(function_response=answer)]))
