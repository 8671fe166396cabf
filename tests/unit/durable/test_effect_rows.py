"""What a run writes into the effects ledger: outcomes, approvals, and how doubts were resolved."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.agents.run_config import RunConfig
from ostinato.apps import App
from ostinato.context.budget import Budget
from ostinato.errors import BudgetExceededError, RunCancelledError
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.sessions.store.durable_store import Fence, Place
from ostinato.sessions.store.effect_ledger import Effect, EffectFilter, EffectSettings
from ostinato.testing import ScriptedModel, call
from ostinato.testing.crash_points import (
    CrashWorld,
    ProcessKilledError,
    instrument,
    open_watched_store,
)
from ostinato.testing.scenario import Scenario
from ostinato.tools import AgentTool, FunctionTool, ToolContext
from ostinato.workflow import Workflow

PLACE = Place("app", "ann", "s")
NAMES: dict[str, Any] = {"user_id": "ann", "session_id": "s"}


def pay(amount: int) -> dict[str, Any]:
    """Pay."""
    return {"paid": amount}


def fail() -> None:
    """Fail."""
    raise ValueError("no funds")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteSessionService]:
    service = SqliteSessionService(
        tmp_path / "s.db", synchronous="NORMAL", effects=EffectSettings()
    )
    await service.create_session(app_name="app", **NAMES)
    yield service
    await service.close()


async def run(store: Any, tools: list[Any], *turns: Any, message: Any = "Go.") -> list[Any]:
    agent = LlmAgent(name="shop", model=ScriptedModel(turns), tools=tools)
    runner = Runner(agent=agent, app_name="app", session_service=store)
    try:
        return [one async for one in runner.run_async(**NAMES, new_message=message)]
    finally:
        await runner.close()


async def effects(store: SqliteSessionService) -> list[Effect]:
    return [*reversed((await store.effects()).effects)]


async def test_each_call_leaves_a_row_with_digests(store: Any) -> None:
    await run(
        store,
        [pay],
        call("pay", amount=3),
        [call("pay", amount=3), call("pay", amount=4)],
        "Paid.",
    )
    found = await effects(store)
    assert [(one.tool, one.outcome, one.attempts) for one in found] == [("pay", "done", 1)] * 3
    assert found[0].args_digest == found[1].args_digest != found[2].args_digest
    assert found[0].result_digest == found[1].result_digest != found[2].result_digest
    assert {one.source for one in found} == {"FunctionTool"}
    assert len({one.call_id for one in found}) == 3
    assert all(one.begun <= one.finished for one in found)


async def test_a_tool_that_raises_has_failed(store: Any) -> None:
    with pytest.raises(ValueError, match="no funds"):
        await run(store, [fail], call("fail"))
    assert [(one.tool, one.outcome) for one in await effects(store)] == [("fail", "failed")]


async def test_an_approved_call_names_who_approved(store: Any) -> None:
    tool = FunctionTool(pay, require_confirmation=True)
    events = await run(store, [tool], call("pay", amount=3))
    assert await effects(store) == []  # it only asked
    asked = events[-1].get_function_calls() or events[-2].get_function_calls()
    part = types.Part(
        function_response=types.FunctionResponse(
            id=asked[0].id, name=asked[0].name, response={"confirmed": True}
        )
    )
    await run(store, [tool], "Paid.", message=types.Content(role="user", parts=[part]))
    (effect,) = await effects(store)
    assert (effect.approved_by, effect.outcome) == ("ann", "done")


@pytest.mark.parametrize(
    ("policy", "attempts", "outcome", "resolution"),
    [
        ({"in_doubt": "rerun"}, 2, "done", "rerun"),
        ({"in_doubt": "at_most_once"}, 1, "unknown", "at_most_once"),
        ({"check": lambda args, tool_context: {"paid": 3}}, 1, "done", "check"),
        ({"in_doubt": "ask"}, 1, "unknown", "ask"),
    ],
)
async def test_a_doubt_is_recorded_with_its_resolution(
    tmp_path: Path, policy: dict[str, Any], attempts: int, outcome: str, resolution: str
) -> None:
    agent = LlmAgent(name="shop", tools=[FunctionTool(pay, **policy)])
    (tmp_path / "whole").mkdir()
    world = CrashWorld(tmp_path / "whole", None, kills=False)
    await live(world, agent)
    at = world.points.index("after pay") + 1
    with pytest.raises(ProcessKilledError):
        await live(CrashWorld(tmp_path, at, kills=False), agent)
    store = SqliteSessionService(tmp_path / "sessions.db")
    lease = await store.lease(PLACE)
    assert lease is not None
    await store.hand_over(PLACE, Fence(lease.owner, lease.token), failed=True)
    assert await effects(store) == []
    await live(CrashWorld(tmp_path, None, kills=False), agent)
    (found,) = await effects(store)
    assert (found.attempts, found.outcome, found.resolution) == (attempts, outcome, resolution)
    assert found.in_doubt
    await store.close()


@pytest.mark.long
async def test_each_call_has_one_row_wherever_the_process_dies(tmp_path: Path) -> None:
    agent = LlmAgent(name="shop", tools=[FunctionTool(pay)])
    parallel = [call("pay", amount=2), call("pay", amount=3)]
    turns: list[Any] = [call("pay", amount=1), parallel, "Paid."]
    (tmp_path / "whole").mkdir()
    world = CrashWorld(tmp_path / "whole", None, kills=False)
    await live(world, agent, turns)
    shapes: set[tuple[int, ...]] = set()
    for at in range(1, len(world.points) + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        found = await die_and_resume(folder, at, agent, turns)
        if not found:  # it died before its message was stored
            continue
        assert len({one.call_id for one in found}) == len(found) == 3, world.points[at - 1]
        shapes.add(tuple(one.attempts for one in found))
    assert {(1, 1, 1), (2, 1, 1), (1, 2, 2)} <= shapes


async def die_and_resume(folder: Path, at: int, agent: LlmAgent, turns: Any) -> Any:
    """Be a process that dies at a point, then one that resumes; return the effects."""
    with pytest.raises(ProcessKilledError):
        await live(CrashWorld(folder, at, kills=False), agent, turns)
    store = SqliteSessionService(folder / "sessions.db")
    for lease in (await store.lease(PLACE), *await store.open_leases()):
        if lease is not None and lease.owner:
            await store.hand_over(lease.place, Fence(lease.owner, lease.token), failed=True)
    await live(CrashWorld(folder, None, kills=False), agent, turns)
    found = await effects(store)
    await store.close()
    return found


async def live(world: CrashWorld, agent: LlmAgent, turns: Any = ()) -> None:
    """Be a process that runs one message, or resumes it."""
    scripts = turns if isinstance(turns, dict) else {"": turns or [call("pay", amount=3), "Paid."]}
    scenario = Scenario([], scripts)
    with instrument(world, scenario, "shop", False):
        store = open_watched_store(world)
        runner = Runner(agent=agent, app_name="app", session_service=store)
        try:
            if await store.get_session(app_name="app", **NAMES) is None:
                await store.create_session(app_name="app", **NAMES)
                async for _ in runner.run_async(**NAMES, new_message="Go."):
                    pass
            await runner.resume_open()
        finally:
            with suppress(ProcessKilledError):
                await runner.close()
            await store.close()


def make_nested(name: str, tool: Any, *turns: Any) -> AgentTool:
    """Return an agent with one tool, to be called as a tool."""
    return AgentTool(LlmAgent(name=name, model=ScriptedModel([*turns, "Done."]), tools=[tool]))


async def test_the_tools_of_an_agent_that_is_a_tool_leave_rows(store: Any) -> None:
    inner = make_nested("inner", pay, call("pay", amount=7))
    outer = make_nested("outer", inner, call("inner", request="Go."))
    events = await run(
        store, [outer, pay], call("pay", amount=1), call("outer", request="Go."), "Paid."
    )
    first, nested = await effects(store)
    assert (first.agent, first.ran_in) == ("shop", "")
    assert (nested.tool, nested.agent, nested.outcome) == ("pay", "shop/outer/inner", "done")
    assert nested.place == PLACE
    asked = [one.id for event in events for one in event.get_function_calls()]
    assert nested.ran_in.startswith(f"_child:_child:s:{asked[1]}:")
    assert nested.key == f"app/ann/{nested.ran_in}/{nested.invocation_id}/{nested.call_id}"
    page = await store.effects(EffectFilter("app", "ann", "s"))
    assert len(page.effects) == 2
    await store.delete_session(app_name="app", **NAMES)
    assert await effects(store) == []


async def test_the_key_of_a_nested_call_is_the_one_that_its_tool_saw(store: Any) -> None:
    seen: list[str] = []

    def note(tool_context: ToolContext) -> str:
        """Note."""
        seen.append(tool_context.idempotency_key)
        return "ok"

    await run(store, [make_nested("inner", note, call("note"))], call("inner", request="Go."), "Ok")
    assert [one.key for one in await effects(store)] == seen


async def test_a_ledger_that_was_verified_during_a_nested_call_is_whole(tmp_path: Path) -> None:
    settings = EffectSettings(chained=True)
    service = SqliteSessionService(tmp_path / "s.db", synchronous="NORMAL", effects=settings)
    await service.create_session(app_name="app", **NAMES)
    noted: list[Any] = []

    async def verify(callback_context: Any) -> None:
        noted.append(await service.verify_effects())

    agent = LlmAgent(
        name="inner",
        model=ScriptedModel([call("pay", amount=7), "Done."]),
        tools=[pay],
        after_agent_callback=verify,
    )
    inner = AgentTool(agent)
    await run(service, [inner, pay], call("inner", request="Go."), call("pay", amount=1), "Paid.")
    report = await service.verify_effects(noted[0].heads, noted[0].spans)
    assert (noted[0].rows, report.rows, report.chained, report.problems) == (1, 2, 2, [])
    await service.close()


async def test_parallel_nested_calls_share_the_ledger(store: Any) -> None:
    tools = [make_nested(f"inner{n}", pay, call("pay", amount=n)) for n in range(4)]
    calls = [call(f"inner{n}", request="Go.") for n in range(4)]
    await run(store, [*tools, pay], [*calls, call("pay", amount=9)], "Paid.")
    found = await effects(store)
    assert sorted(one.number for one in found) == [1, 2, 3, 4, 5]
    assert {one.agent for one in found} == {"shop", *(f"shop/inner{n}" for n in range(4))}
    assert (await store.verify_effects()).problems == []


@pytest.mark.long
async def test_a_nested_call_has_one_row_wherever_the_process_dies(tmp_path: Path) -> None:
    agent = LlmAgent(name="shop", tools=[AgentTool(LlmAgent(name="inner", tools=[pay]))])
    turns = {
        "shop": [call("inner", request="Go."), "Ok."],
        "inner": [call("pay", amount=1), "Paid."],
    }
    (tmp_path / "whole").mkdir()
    world = CrashWorld(tmp_path / "whole", None, kills=False)
    await live(world, agent, turns)
    for at in range(1, len(world.points) + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        found = await die_and_resume(folder, at, agent, turns)
        if found:  # else it died before its message was stored
            assert [(one.place, one.agent) for one in found] == [(PLACE, "shop/inner")]


class Gate:
    """Tools that wait, and say that they run.

    Attributes:
      begun: set when a tool runs.
    """

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._open = threading.Event()

    async def wait(self) -> str:
        """Wait for ever."""
        self.begun.set()
        await asyncio.Event().wait()
        return "never"

    def wait_in_thread(self) -> str:
        """Wait in a thread."""
        self._loop.call_soon_threadsafe(self.begun.set)
        self._open.wait(5)
        return "done"

    def open(self) -> None:
        """Let the tool in the thread end."""
        self._open.set()


async def end_by_task(runner: Runner, gate: Gate) -> None:
    """Cancel the task of a run whose tool runs."""

    async def read() -> None:
        async for _ in runner.run_async(**NAMES, new_message="Go."):
            pass

    task = asyncio.create_task(read())
    await gate.begun.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def end_by_runner(runner: Runner, gate: Gate) -> None:
    """Cancel a run by its runner while its tool runs."""
    run = runner.start(**NAMES, new_message="Go.")
    await gate.begun.wait()
    await runner.cancel(**NAMES)
    with suppress(RunCancelledError):
        async for _ in run:
            pass


async def end_by_reader(runner: Runner, gate: Gate) -> None:
    """Stop reading the events of a run while its tool runs."""
    events = runner.run_async(**NAMES, new_message="Go.")
    await anext(events)
    reading = asyncio.ensure_future(anext(events))
    await gate.begun.wait()
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    await events.aclose()


ENDS = [end_by_task, end_by_runner, end_by_reader]


@pytest.mark.parametrize("tool", ["wait", pytest.param("wait_in_thread", marks=pytest.mark.long)])
@pytest.mark.parametrize("end", ENDS)
async def test_a_tool_whose_run_was_cancelled_leaves_a_row(store: Any, end: Any, tool: str) -> None:
    gate = Gate()
    model = ScriptedModel([call(tool), "Ok."])
    agent = LlmAgent(name="shop", model=model, tools=[getattr(gate, tool)])
    runner = Runner(agent=agent, app_name="app", session_service=store)
    await end(runner, gate)
    gate.open()
    (found,) = await effects(store)
    assert (found.tool, found.outcome, found.attempts) == (tool, "unknown", 1)
    assert (found.in_doubt, found.resolution, found.agent) == (True, "", "shop")
    assert (await store.effects(EffectFilter(in_doubt=True))).effects == [found]
    await runner.close()


async def test_a_tool_that_the_budget_cut_is_unknown_and_told_so(store: Any) -> None:
    gate = Gate()
    config = RunConfig(budget=Budget(max_seconds=0.05))
    agent = LlmAgent(name="shop", model=ScriptedModel([call("wait"), "Ok."]), tools=[gate.wait])
    runner = Runner(agent=agent, app_name="app", session_service=store)
    with pytest.raises(BudgetExceededError):
        async for _ in runner.run_async(**NAMES, new_message="Go.", run_config=config):
            pass
    events = (await store.get_session(app_name="app", **NAMES)).events
    (found,) = await effects(store)
    assert (found.outcome, found.in_doubt) == ("unknown", True)
    (response,) = [one for event in events for one in event.get_function_responses()]
    assert "its outcome is unknown" in response.response["error"]
    await runner.close()


@pytest.mark.parametrize("is_single_turn", [True, False])
async def test_a_caller_is_told_of_a_call_that_a_limit_cut_in_an_agent_that_is_a_tool(
    store: Any, is_single_turn: bool
) -> None:
    gate = Gate()
    model = ScriptedModel([call("wait"), "Waited."])
    options: dict[str, Any] = {"mode": "single_turn"} if is_single_turn else {}
    inner = LlmAgent(name="inner", model=model, tools=[gate.wait], timeout=0.05, **options)
    outer_model = ScriptedModel([call("inner", request="Go."), "Ok."])
    tools: dict[str, Any] = (
        {"sub_agents": [inner]} if is_single_turn else {"tools": [AgentTool(inner)]}
    )
    outer = LlmAgent(name="shop", model=outer_model, **tools)
    app = App(name="app", root_agent=outer, tool_errors="feedback")
    runner = Runner(app=app, session_service=store)
    async for _ in runner.run_async(**NAMES, new_message="Go."):
        pass
    (told,) = outer_model.requests[1].function_responses
    assert told.response is not None
    assert "its outcome is unknown" in told.response["error"]
    (found,) = await effects(store)
    assert (found.tool, found.outcome, found.attempts) == ("wait", "unknown", 1)
    events = (await store.get_session(app_name="app", **NAMES)).events
    calls = [one.id for event in events for one in event.get_function_calls()]
    answered = [one.id for event in events for one in event.get_function_responses()]
    assert sorted(calls) == sorted(answered)
    await runner.close()


@pytest.mark.parametrize("end", ENDS)
async def test_a_nested_tool_whose_run_was_cancelled_leaves_a_row(store: Any, end: Any) -> None:
    gate = Gate()
    inner = make_nested("inner", gate.wait, call("wait"))
    model = ScriptedModel([call("inner", request="Go."), "Ok."])
    agent = LlmAgent(name="shop", model=model, tools=[inner])
    runner = Runner(agent=agent, app_name="app", session_service=store)
    await end(runner, gate)
    (found,) = await effects(store)
    assert (found.tool, found.outcome, found.agent) == ("wait", "unknown", "shop/inner")
    assert found.place == PLACE
    await runner.close()


@pytest.mark.parametrize("end", [end_by_task, end_by_runner])
async def test_a_tool_node_whose_run_was_cancelled_leaves_a_row(store: Any, end: Any) -> None:
    gate = Gate()
    graph = Workflow(name="graph", edges=[("START", FunctionTool(gate.wait))])
    runner = Runner(node=graph, app_name="app", session_service=store)
    await end(runner, gate)
    (found,) = await effects(store)
    assert (found.tool, found.outcome, found.agent) == ("wait", "unknown", "graph@1/wait@1")
    await runner.close()


async def test_a_call_that_was_cancelled_before_its_tool_began_leaves_no_row(store: Any) -> None:
    gate = Gate()

    async def hold(**_: Any) -> None:
        await gate.wait()

    agent = LlmAgent(
        name="shop",
        model=ScriptedModel([call("pay", amount=1), "Ok."]),
        tools=[pay],
        before_tool_callback=hold,
    )
    runner = Runner(agent=agent, app_name="app", session_service=store)
    await end_by_task(runner, gate)
    assert await effects(store) == []
    await runner.close()


async def test_a_call_in_doubt_that_its_next_run_closes_leaves_a_row(tmp_path: Path) -> None:
    agent = LlmAgent(name="shop", tools=[FunctionTool(pay)])
    (tmp_path / "whole").mkdir()
    world = CrashWorld(tmp_path / "whole", None, kills=False)
    await live(world, agent)
    at = world.points.index("after pay") + 1
    with pytest.raises(ProcessKilledError):
        await live(CrashWorld(tmp_path, at, kills=False), agent)
    store = SqliteSessionService(tmp_path / "sessions.db", effects=EffectSettings())
    lease = await store.lease(PLACE)
    assert lease is not None
    await store.hand_over(PLACE, Fence(lease.owner, lease.token), failed=True)
    gate = Gate()

    async def hold(**_: Any) -> None:
        await gate.wait()

    agent = LlmAgent(
        name="shop", model=ScriptedModel(["Ok."]), tools=[pay], before_tool_callback=hold
    )
    runner = Runner(agent=agent, app_name="app", session_service=store)
    task = asyncio.create_task(runner.resume_open())
    await gate.begun.wait()
    await runner.cancel(**NAMES)
    await task
    await runner.close()
    (found,) = await effects(store)
    assert (found.tool, found.outcome, found.attempts) == ("pay", "unknown", 1)
    assert (found.in_doubt, found.agent, found.begun <= found.finished) == (True, "shop", True)
    await store.close()
