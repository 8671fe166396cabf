"""A rejection holds: the call does not run, whatever asks when the answer comes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.events import Event
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.sessions.store.effect_ledger import EffectSettings
from ostinato.testing import ScriptedModel, call
from ostinato.tools import BaseTool, FunctionTool, LongRunningFunctionTool, ToolContext
from tests.approvals.kit import NAMES, Desk, decide, requests
from tests.unit.durable.crash import DyingStore, Killed

REJECTED = {"error": "This tool call is rejected."}


def tool_of(paid: list[Any], *, kind: Any = FunctionTool, **options: Any) -> Any:
    def pay(amount: int) -> dict[str, Any]:
        """Pay."""
        paid.append(amount)
        return {"paid": amount}

    return kind(pay, **options) if kind else pay


def tool_with_context(paid: list[Any], **options: Any) -> Any:
    def pay(amount: int, tool_context: ToolContext) -> dict[str, Any]:
        """Pay."""
        paid.append(amount)
        return {"paid": amount}

    return FunctionTool(pay, **options)


def answers(events: list[Event]) -> list[dict[str, Any] | None]:
    return [one.response for event in events for one in event.get_function_responses()]


async def test_a_condition_that_no_longer_holds_runs_no_rejected_call(service: Any) -> None:
    limit, paid = [1], list[int]()
    tool = tool_of(paid, require_confirmation=lambda amount: amount > limit[0])
    desk = Desk(service, tools=[tool])
    request = await desk.ask()
    limit[0] = 100
    assert answers(await desk.say(decide(request, False))) == [REJECTED]
    assert paid == []


@pytest.mark.parametrize("make", [tool_of, tool_with_context])
async def test_a_tool_that_no_longer_asks_runs_no_rejected_call(make: Any) -> None:
    paid = list[int]()
    desk = Desk(InMemorySessionService(), tools=[make(paid, require_confirmation=True)])
    request = await desk.ask()
    desk.runner.agent.tools = [make(paid)]
    reason = {"reason": "Too much."}
    assert answers(await desk.say(decide(request, False, payload=reason))) == [REJECTED | reason]
    assert paid == []


async def test_a_tool_that_no_longer_asks_runs_an_approved_call() -> None:
    paid = list[int]()
    desk = Desk(InMemorySessionService(), tools=[tool_of(paid, require_confirmation=True)])
    request = await desk.ask()
    desk.runner.agent.tools = [tool_of(paid, kind=None)]
    await desk.say(decide(request, True))
    assert paid == [5]


async def test_a_rejection_in_a_called_agent_holds() -> None:
    limit, paid = [1], list[int]()
    tool = tool_of(paid, require_confirmation=lambda amount: amount > limit[0])
    cashier = LlmAgent(
        name="cashier",
        description="Pays.",
        mode="single_turn",
        model=ScriptedModel([call("pay", amount=5), "No."]),
        tools=[tool],
    )
    desk = Desk(InMemorySessionService(), call("cashier", request="Pay."), "Done.", tools=[])
    desk.runner.agent.sub_agents = [cashier]
    request = await desk.ask()
    limit[0] = 100
    assert REJECTED in answers(await desk.say(decide(request, False)))
    assert paid == []


class Asking(BaseTool):
    """A tool that asks in its body and reads the answer there."""

    def __init__(self) -> None:
        super().__init__(name="pay", description="Pay.")

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name="pay", description="Pay.")

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return ask_in_body(tool_context)


def ask_in_body(tool_context: ToolContext) -> dict[str, Any]:
    answer = tool_context.tool_confirmation
    if answer is None:
        tool_context.request_confirmation(hint="Pay?")
        return {"status": "asked"}
    return {"status": "paid" if answer.confirmed else "saved for later"}


def pay_or_keep(amount: int, tool_context: ToolContext) -> dict[str, Any]:
    """Pay."""
    return ask_in_body(tool_context)


pay_or_keep.__name__ = "pay"


@pytest.mark.parametrize(
    "tool",
    [Asking(), FunctionTool(pay_or_keep), FunctionTool(pay_or_keep, in_doubt="ask")],
    ids=["class", "function", "ask"],
)
async def test_a_tool_that_asks_in_its_body_reads_the_rejection_there(tool: Any) -> None:
    desk = Desk(InMemorySessionService(), call("pay", amount=5), "Done.", "Done.", tools=[tool])
    request = await desk.ask()
    assert answers(await desk.say(decide(request, False))) == [{"status": "saved for later"}]


async def test_a_body_that_asks_no_more_runs_no_rejected_call_without_a_context() -> None:
    paid = list[int]()
    desk = Desk(InMemorySessionService(), call("pay", amount=5), "Done.", "Done.", tools=[Asking()])
    request = await desk.ask()
    desk.runner.agent.tools = [tool_of(paid)]
    assert answers(await desk.say(decide(request, False))) == [REJECTED]
    assert paid == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"in_doubt": "rerun"},
        {"in_doubt": "at_most_once"},
        {"check": lambda args, context: None},
    ],
    ids=["default", "rerun", "at_most_once", "check"],
)
async def test_a_rejected_second_run_holds_whatever_the_policy_is_now(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """A call in doubt asks a person; an upgrade then changes what its tool does in doubt."""
    paid = list[int]()
    dying = DyingStore(tmp_path / "s.db")

    async def pay(amount: int) -> dict[str, Any]:
        """Pay."""
        paid.append(amount)
        if not dying.dead:
            dying.dead = True
            raise Killed
        return {"paid": amount}

    desk = Desk(dying, tools=[FunctionTool(pay, in_doubt="ask")])
    with pytest.raises((Killed, BaseExceptionGroup)):
        await desk.say()
    await dying.close()

    store = SqliteSessionService(tmp_path / "s.db", effects=EffectSettings())
    agent = LlmAgent(
        name="clerk", model=ScriptedModel(["Done."]), tools=[FunctionTool(pay, in_doubt="ask")]
    )
    runner = Runner(app=App(name="desk", root_agent=agent), session_service=store)
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
        db.execute("UPDATE ostinato_lease SET expires = 0")
    assert [one.outcome for one in await runner.resume_open()] == ["paused"]
    session = await store.get_session(**NAMES)
    assert session is not None
    (request,) = requests(session.events)
    agent.tools = [FunctionTool(pay, **options)]
    told = [
        event
        async for event in runner.run_async(
            user_id="ann", session_id="one", new_message=decide(request, False)
        )
    ]
    (response,) = answers(told)
    assert response and response["error"].startswith(REJECTED["error"])
    assert "unknown whether the call took effect" in response["error"]
    assert paid == [5]
    page = await store.effects()
    assert page.effects[0].resolution == "rejected"
    await runner.close()
    await store.close()


async def test_a_rejected_long_running_call_does_not_start() -> None:
    paid = list[int]()
    desk = Desk(
        InMemorySessionService(),
        tools=[tool_of(paid, kind=LongRunningFunctionTool, require_confirmation=True)],
    )
    request = await desk.ask()
    desk.runner.agent.tools = [tool_of(paid, kind=LongRunningFunctionTool)]
    assert answers(await desk.say(decide(request, False))) == [REJECTED]
    assert paid == []
