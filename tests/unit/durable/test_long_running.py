"""Several long-running calls that wait, nested and side by side, answered over restarts."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.runners import Runner
from ostinato.sessions.log.resume import waits_for_answer
from ostinato.sessions.session import log_of
from ostinato.sessions.sqlite_session_service import SqliteSessionService
from ostinato.testing import FunctionModel, call, final_text
from ostinato.tools import LongRunningFunctionTool
from tests.support.optionals import present
from tests.unit.durable.crash import PLACE, WHO, Life, Scenario, World, calls_named
from tests.unit.durable.test_crash_points import answer, asking, clerk

pytestmark = pytest.mark.long


def asker(world: World, name: str, count: int = 1) -> LlmAgent:
    asks = [call("ask", what=f"{name}{n}") for n in range(count)]

    def ask(what: str, tool_context: Any) -> None:
        world.effect(tool_context, what)

    return clerk(world, name, asks, f"{name} done.", tools=[LongRunningFunctionTool(ask)])


def side_by_side(world: World) -> BaseAgent:
    """Two branches, one of them a sequence below a transfer; three calls wait."""
    tail = asker(world, "tail", 0)
    tail.model = FunctionModel(lambda _: "tail done.")
    deep = SequentialAgent(name="deep", sub_agents=[asker(world, "inner"), tail])
    turns = (call("transfer_to_agent", agent_name="deep"),)
    guide = clerk(world, "guide", *turns, tools=[], sub_agents=[deep])
    return ParallelAgent(name="fan", sub_agents=[asker(world, "pair", 2), guide])


def telling(number: int) -> Any:
    def leg(log: Any) -> Any:
        asked = sorted(calls_named(log, "ask"), key=lambda c: present(c.args)["what"])
        return answer(asked[number], {"n": number})

    return leg


def spoken(log: Any) -> list[str]:
    return [text for e in log if e.author != "user" and (text := final_text([e]))]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
async def test_answers_in_any_order_each_to_a_new_process(
    quick_path: Path, order: tuple[int, ...]
) -> None:
    scenario = Scenario(side_by_side, "Go", *map(telling, order))
    life = Life(scenario, quick_path / "s.db", resumable=True)
    legs = scenario.legs
    for number in range(len(legs)):
        scenario.legs = legs[: number + 1]
        assert await life.process()
        log = await life.log()
        said = set(spoken(log))
        answered = set(order[:number])  # inner0, pair0, pair1
        assert ("pair done." in said) == (answered >= {1, 2})
        assert ("inner done." in said) == ("tail done." in said) == (0 in answered)
        ended = [e.author for e in log if e.actions.end_of_agent]
        assert ("fan" in ended) == (number == 3)
    assert set(life.world.effects.values()) == {1} and len(life.world.effects) == 3
    assert sorted(spoken(log)) == ["inner done.", "pair done.", "tail done."]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
async def test_a_crash_between_the_answers_loses_none(
    quick_path: Path, order: tuple[int, ...]
) -> None:
    scenario = Scenario(side_by_side, "Go", *map(telling, order))
    whole = Life(scenario, quick_path / "whole.db", resumable=True)
    assert await whole.process()
    wanted = sorted(spoken(await whole.log()))
    for at in range(2, whole.commits + 1, 3):
        life = Life(scenario, quick_path / f"{at}.db", resumable=True)
        assert not await life.process(at, after=True)
        assert await life.process()
        assert sorted(spoken(await life.log())) == wanted, at


async def test_a_loop_waits_in_its_second_round_over_a_restart(quick_path: Path) -> None:
    def tree(world: World) -> BaseAgent:
        def turn(request: Any) -> Any:
            rounds = str(request.contents).count("Round.")
            waits = rounds == 1 and "'ok'" not in str(request.contents)
            return call("ask") if waits else "Round."

        one = LlmAgent(name="one", model=FunctionModel(turn), tools=[asking(world)])
        return LoopAgent(name="loop", sub_agents=[one], max_iterations=3)

    def tell(log: Any) -> Any:
        return answer(calls_named(log, "ask")[0], {"ok": True})

    scenario = Scenario(tree, "Go", tell)
    life = Life(scenario, quick_path / "s.db", resumable=True)
    scenario.legs = scenario.legs[:1]
    assert await life.process()
    assert spoken(await life.log()) == ["Round."]
    scenario.legs = ("Go", tell)
    assert await life.process()
    assert spoken(await life.log()) == ["Round."] * 3


class _Waits:
    """A tool that lets a test cancel the run before it begins, or while it runs."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()

    async def wait(self, **_: Any) -> None:
        self.reached.set()
        await asyncio.Event().wait()


@pytest.mark.parametrize("begun", [False, True])
async def test_a_cancelled_long_running_call_stays_open_only_if_its_tool_had_begun(
    quick_path: Path, begun: bool
) -> None:
    waits = _Waits()

    async def ask() -> None:
        await waits.wait()

    hook: dict[str, Any] = {} if begun else {"before_tool_callback": waits.wait}
    agent = LlmAgent(
        name="clerk",
        model=FunctionModel(lambda _: call("ask")),
        tools=[LongRunningFunctionTool(ask)],
        **hook,
    )
    service = SqliteSessionService(quick_path / "s.db", synchronous="NORMAL")
    runner = Runner(agent=agent, app_name="talk", session_service=service, auto_create_session=True)

    async def consume() -> None:
        async for _ in runner.run_async(**WHO, new_message="Go"):
            pass

    task = asyncio.create_task(consume())
    await waits.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    session = await service.get_session(**PLACE)
    assert session is not None
    responses = [r.response for e in session.events for r in e.get_function_responses()]
    assert bool(responses) is not begun
    invocation_id = session.events[0].invocation_id
    assert waits_for_answer(log_of(session), invocation_id) is begun
    await runner.close()
    await service.close()
