"""What is easily left behind by a death: a response that was not committed, a hidden session."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import BaseAgent
from ostinato.testing import call
from ostinato.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from tests.unit.durable.crash import Life, Scenario, World, calls_named, lines_by_branch
from tests.unit.durable.test_crash_points import booking, clerk
from tests.unit.flows.kit import answer_to


def ordering_and_booking(world: World) -> BaseAgent:
    def order(tool_context: Any) -> dict[str, Any]:
        world.effect(tool_context, "order")
        return {"status": "pending"}

    tools = [LongRunningFunctionTool(order), booking(world)]
    return clerk(world, "clerk", [call("order"), call("book")], "It is coming.", tools=tools)


def confirmed(world: World) -> BaseAgent:
    return clerk(world, tools=[FunctionTool(booking(world), require_confirmation=True)])


def approve(log: Any) -> Any:
    return answer_to(calls_named(log, "adk_request_confirmation")[-1], {"confirmed": True})


def asking_an_agent(world: World) -> BaseAgent:
    helper = clerk(world, "helper")
    turns = (call("helper", request="Help"), "Done.")
    return clerk(world, "root", *turns, tools=[AgentTool(helper)])


@pytest.mark.parametrize("resumable", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_the_interim_result_of_a_long_running_call_outlives_a_death_beside_it(
    tmp_path: Path, resumable: bool
) -> None:
    """Both calls had ended, and the event with both responses was not committed."""
    scenario = Scenario(ordering_and_booking)
    whole = Life(scenario, tmp_path / "whole.db", resumable)
    assert await whole.process()
    expected = lines_by_branch(await whole.log())
    for at in range(1, whole.commits + 1):
        life = Life(scenario, tmp_path / f"{at}.db", resumable)
        assert not await life.process(at, after=True)
        assert await life.process()
        assert lines_by_branch(await life.log()) == expected, at


async def test_the_session_of_an_agent_tool_is_gone_when_its_process_died_before_it_deleted_it(
    tmp_path: Path,
) -> None:
    scenario = Scenario(asking_an_agent)
    whole = Life(scenario, tmp_path / "whole.db", False)
    assert await whole.process()
    for at in range(1, whole.commits + 1):
        life = Life(scenario, tmp_path / f"{at}.db", False)
        assert not await life.process(at, after=True)
        assert await life.process()
        with closing(sqlite3.connect(life.path)) as db, db:
            assert db.execute("SELECT id FROM sessions").fetchall() == [("one",)], at


@pytest.mark.parametrize("resumable", [False, pytest.param(True, marks=pytest.mark.long)])
async def test_the_model_is_not_asked_before_the_user_allows_a_call_in_doubt_once_more(
    tmp_path: Path, resumable: bool
) -> None:
    scenario = Scenario(confirmed, "Go", approve)
    whole = Life(scenario, tmp_path / "whole.db", resumable)
    assert await whole.process()
    asked = 0
    for at in range(1, whole.commits + 1):
        life = Life(scenario, tmp_path / f"{at}.db", resumable)
        assert not await life.process(at, after=True)
        assert await life.process()
        text = str(lines_by_branch(await life.log()))
        again = "was interrupted" in text
        asked += again
        assert ("Done." in text) is not again, at
    assert asked > 0
