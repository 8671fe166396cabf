"""An approved call whose run ends early has a response: its result, or that it was cancelled."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ostinato.errors import CallNotOpenError, LeaseLostError, RunCancelledError
from ostinato.events import Event, EventActions
from ostinato.execution.rewind import rewind_changes
from ostinato.plugins.base_plugin import BasePlugin
from ostinato.sessions.base_session_service import BaseSessionService
from ostinato.sessions.session import log_of
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import call
from ostinato.tools import FunctionTool
from tests.approvals.kit import NAMES, PLACE, Desk, decide

CANCELLED = {"error": "The call was cancelled before it finished; its outcome is unknown."}
NOT_RUN = {
    "error": "The run stopped after the user had answered and before this call began; it did not "
    "run."
}


class SlowDesk(Desk):
    """A desk whose tool waits once it has begun."""

    def __init__(self, service: BaseSessionService) -> None:
        self.begun = asyncio.Event()
        super().__init__(service, call("pay", amount=5), "Next.", "More.")

    def pay_tool(self) -> FunctionTool:
        async def pay(amount: int) -> dict[str, Any]:
            """Pay slowly."""
            self.paid.append(amount)
            self.begun.set()
            await asyncio.sleep(60)
            return {"paid": amount}

        return FunctionTool(pay, require_confirmation=True)

    async def responses(self) -> list[Any]:
        """Return what the call is answered, in order."""
        found = [one for event in await self.events() for one in event.get_function_responses()]
        return [one.response for one in found if one.name == "pay"]


async def test_a_reader_that_leaves_during_an_approved_tool(service: Any) -> None:
    desk = SlowDesk(service)
    request = await desk.ask()
    invocation_id = (await desk.events())[0].invocation_id
    reader = asyncio.create_task(desk.say(decide(request)))
    await desk.begun.wait()
    reader.cancel()
    with suppress(asyncio.CancelledError):
        await reader
    assert (await desk.responses())[1:] == [CANCELLED]
    await desk.say(None, invocation_id=invocation_id)
    await desk.say("Was it paid?")
    assert desk.paid == [5] and (await desk.responses())[1:] == [CANCELLED]
    told = [
        part.function_response.response
        for content in desk.model.requests[-1].contents
        for part in content.parts or ()
        if part.function_response is not None
    ]
    assert told == [CANCELLED]


async def test_a_run_that_is_cancelled_during_an_approved_tool(service: Any) -> None:
    desk = SlowDesk(service)
    request = await desk.ask()
    run = desk.runner.start(**PLACE, new_message=decide(request))
    await desk.begun.wait()
    await run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()
    assert (await desk.responses())[1:] == [CANCELLED]


async def test_a_keyed_answer_whose_run_is_cancelled_closes_its_call(service: Any) -> None:
    desk = SlowDesk(service)
    request = await desk.ask()
    run = desk.runner.start(**PLACE, new_message=decide(request), idempotency_key="k")
    await desk.begun.wait()
    await run.cancel()
    with pytest.raises(RunCancelledError):
        await run.result()
    assert (await desk.responses())[1:] == [CANCELLED]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("later", ["a message", "recovery"])
async def test_an_approved_call_of_a_left_run_that_is_cancelled_never_begins(
    tmp_path: Path, key: str | None, later: str
) -> None:
    path = str(tmp_path / "sessions.db")
    desk, plugin = Desk(SqliteSessionService(path)), BeforeTool()
    request = await desk.ask()
    desk.runner.plugin_manager.register_plugin(plugin)
    run = desk.runner.start(**PLACE, new_message=decide(request), idempotency_key=key)
    await plugin.reached.wait()
    await run.hand_over()
    with pytest.raises(LeaseLostError):
        await run.result()
    other = Desk(SqliteSessionService(path), "Next.")
    assert await other.runner.cancel(**PLACE)
    if later == "recovery":
        assert [one.outcome for one in await other.runner.resume_open()] == ["failed"]
    else:
        await other.say("Hello.")
    assert desk.paid == other.paid == []
    found = [one for event in await other.events() for one in event.get_function_responses()]
    assert [one.response for one in found if one.name == "pay"][1:] == [NOT_RUN]
    for one in (desk, other):
        await one.runner.close()


class BeforeTool(BasePlugin):
    """Holds an approved call back before its tool begins."""

    def __init__(self) -> None:
        super().__init__(name="before")
        self.reached = asyncio.Event()

    async def before_tool_callback(self, **_: Any) -> None:
        self.reached.set()
        await asyncio.sleep(60)


class Holding(BasePlugin):
    """Holds back the event with a tool's result."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(name="holding")
        self.desk, self.held = desk, asyncio.Event()

    async def on_event_callback(self, **_: Any) -> None:
        if self.desk.paid:
            self.held.set()
            await asyncio.sleep(60)


async def test_an_approved_tool_that_ended_keeps_its_result(service: Any) -> None:
    desk = Desk(service)
    request, plugin = await desk.ask(), Holding(desk)
    desk.runner.plugin_manager.register_plugin(plugin)
    reader = asyncio.create_task(desk.say(decide(request)))
    await plugin.held.wait()
    reader.cancel()
    with suppress(asyncio.CancelledError):
        await reader
    stored = [one.response for e in await desk.events() for one in e.get_function_responses()]
    assert stored[-1] == {"paid": 5}


async def test_an_answer_at_once_with_a_rewind_leaves_nothing_in_the_inbox(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer was checked before the rewind, and comes to the inbox after it."""
    gate = asyncio.Event()

    async def hold() -> str:
        """Hold the session."""
        await gate.wait()
        return "held"

    desk = Desk(store, call("pay", amount=5), call("hold"), "Held.", tools=[])
    desk.runner.agent.tools = [desk.pay_tool(), hold]
    request = await desk.ask()
    asking = (await desk.events())[-1].invocation_id
    busy = asyncio.create_task(desk.say("Hold."))

    async def rewind() -> None:
        session = await store.get_session(**NAMES)
        actions = EventActions(rewind_before_invocation_id=asking)
        changes = rewind_changes(log_of(session), asking)
        await store.append(session, [Event(author="user", actions=actions)], changes=changes)

    async def rewind_first(name: str, *args: Any) -> None:
        if not rewound:
            rewound.append(name)
            await rewind()
        await found[name](*args)

    rewound: list[str] = []
    found = {name: getattr(store, name) for name in ("put_message", "claim_answers")}
    for name in found:
        monkeypatch.setattr(store, name, partial(rewind_first, name))
    outcome = asyncio.create_task(desk.outcome(decide(request)))
    while not rewound:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert isinstance(await outcome, CallNotOpenError)  # while the session is busy
    gate.set()
    await busy
    assert (await store.open_requests("desk")).requests == []
    assert desk.paid == []
