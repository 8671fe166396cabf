"""What a run writes into the effects ledger: outcomes, approvals, and how doubts were resolved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.runners import Runner
from ostinato.sessions import SqliteSessionService
from ostinato.sessions.store.durable_store import Fence, Place
from ostinato.sessions.store.effect_ledger import Effect, EffectSettings
from ostinato.testing import ScriptedModel, call
from ostinato.testing.crash_points import (
    CrashWorld,
    ProcessKilledError,
    instrument,
    open_watched_store,
)
from ostinato.testing.scenario import Scenario
from ostinato.tools import FunctionTool

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
        with pytest.raises(ProcessKilledError):
            await live(CrashWorld(folder, at, kills=False), agent, turns)
        store = SqliteSessionService(folder / "sessions.db")
        lease = await store.lease(PLACE)
        if lease is not None and lease.owner:
            await store.hand_over(PLACE, Fence(lease.owner, lease.token), failed=True)
        await live(CrashWorld(folder, None, kills=False), agent, turns)
        found = await effects(store)
        await store.close()
        if not found:  # it died before its message was stored
            continue
        assert len({one.call_id for one in found}) == len(found) == 3, world.points[at - 1]
        shapes.add(tuple(one.attempts for one in found))
    assert {(1, 1, 1), (2, 1, 1), (1, 2, 2)} <= shapes


async def live(world: CrashWorld, agent: LlmAgent, turns: Sequence[Any] = ()) -> None:
    """Be a process that runs one message, or resumes it."""
    scenario = Scenario([], {"": turns or [call("pay", amount=3), "Paid."]})
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
