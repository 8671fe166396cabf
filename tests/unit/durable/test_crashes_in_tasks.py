"""A process that dies at any commit within an agent that was called: the next one goes on inside
it, ends with the same log, and runs no tool twice but where nobody could know, and then says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import BaseAgent, LlmAgent, SequentialAgent
from ostinato.testing import FunctionModel, call
from ostinato.tools import FunctionTool
from tests.unit.durable.crash import (
    Life,
    Scenario,
    World,
    calls_named,
    flagged,
    lines_by_branch,
    unanswered,
)
from tests.unit.durable.test_crash_points import answer, booking, clerk

pytestmark = pytest.mark.long

DONE = call("finish_task", result="Booked.")


def talker(*turns: Any) -> FunctionModel:
    """A model that says the turn after those that it has said, words too."""

    def reply(request: Any) -> Any:
        said = sum(content.role == "model" for content in request.contents)
        return turns[min(said, len(turns) - 1)]

    return FunctionModel(reply)


def desk(world: World, name: str = "desk", *turns: Any, **options: Any) -> LlmAgent:
    turns = turns or (call("book"), "Sure?", call("book"), DONE)
    tools = options.pop("tools", [booking(world)])
    return LlmAgent(name=name, model=talker(*turns), tools=tools, mode="task", **options)


def root(world: World, *turns: Any, **options: Any) -> LlmAgent:
    return clerk(world, "root", *turns, **options)


def task(world: World) -> BaseAgent:
    turns = (call("desk", request="Book"), "Done.")
    return root(world, *turns, sub_agents=[desk(world)], output_key="said")


def tasks(world: World) -> BaseAgent:
    both = [desk(world, "one"), desk(world, "two")]
    calls = [call("one", request="1"), call("book"), call("two", request="2")]
    return root(world, calls, "Done.", sub_agents=both)


def nested(world: World) -> BaseAgent:
    inner = desk(world, "inner")
    outer = desk(world, "outer", call("inner", request="i"), call("book"), DONE, sub_agents=[inner])
    return root(world, call("outer", request="o"), "Done.", sub_agents=[outer])


def confirmed(world: World) -> BaseAgent:
    tools = [FunctionTool(booking(world), require_confirmation=True, in_doubt="rerun")]
    asking = desk(world, "desk", call("book"), DONE, tools=tools)
    return root(world, call("desk", request="Book"), "Done.", sub_agents=[asking])


def in_line(world: World) -> BaseAgent:
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    return SequentialAgent(name="line", sub_agents=[task(world), last])


def once(world: World) -> BaseAgent:
    form = clerk(world, "form", mode="single_turn", output_key="formed")
    return root(world, call("form", request="x"), call("book"), "Done.", sub_agents=[form])


def once_beside_tools(world: World) -> BaseAgent:
    forms = [clerk(world, name, mode="single_turn") for name in ("one", "two")]
    calls = [call("one", request="1"), call("book"), call("two", request="2")]
    return root(world, calls, "Done.", sub_agents=forms)


def once_in_task(world: World) -> BaseAgent:
    form = clerk(world, "form", mode="single_turn")
    outer = desk(world, "outer", call("form", request="f"), DONE, sub_agents=[form])
    return root(world, call("outer", request="o"), "Done.", sub_agents=[outer])


def leave(log: Any) -> Any:
    return answer(calls_named(log, "adk_request_confirmation")[-1], {"confirmed": True})


SCENARIOS = {
    "task": Scenario(task, "Go", "Yes"),
    "tasks": Scenario(tasks, "Go", "Yes", "Yes"),
    "nested": Scenario(nested, "Go", "Yes"),
    "confirmed": Scenario(confirmed, "Go", leave),
    "in_line": Scenario(in_line, "Go", "Yes"),
    "once": Scenario(once),
    "once_beside_tools": Scenario(once_beside_tools),
    "once_in_task": Scenario(once_in_task),
}


@pytest.mark.spec(70, 71)
@pytest.mark.parametrize("resumable", [False, pytest.param(True, marks=pytest.mark.service)])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_crash_at_any_commit_inside_a_called_agent_loses_nothing(
    quick_path: Path, name: str, resumable: bool
) -> None:
    scenario = SCENARIOS[name]
    whole = Life(scenario, quick_path / "whole.db", resumable)
    assert await whole.process()
    expected = lines_by_branch(await whole.log())
    for at in range(1, whole.commits + 1):
        life = Life(scenario, quick_path / f"{at}.db", resumable)
        assert not await life.process(at), at
        assert await life.process(), at
        log = await life.log()
        assert lines_by_branch(log) == expected, at
        repeated = {key.rpartition("/")[2] for key, n in life.world.effects.items() if n > 1}
        assert repeated <= flagged(log), at
        assert unanswered(log) == [], at
