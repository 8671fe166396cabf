"""A process that dies at any commit, before it or after it: the next one ends with the same log, and
no tool has run twice but where nobody could know, and then the log says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.testing import FunctionModel, call
from ostinato.tools import AgentTool, FunctionTool, LongRunningFunctionTool, exit_loop
from tests.durable.crash import Life, Scenario, World, calls_named, flagged, lines_by_branch
from tests.flows.kit import check_paired


def booking(world: World, name: str = "book") -> Any:
    def tool(tool_context: Any) -> str:
        world.effect(tool_context, name)
        tool_context.state[f"{name}_done"] = True
        return f"{name} done"

    tool.__name__ = name
    return tool


def step_model(*turns: Any) -> FunctionModel:
    """A model that says the turn after those that the request shows to be over."""

    def answer(request: Any) -> Any:
        done = sum(
            1
            for content in request.contents
            if content.role == "model" and any(p.function_call for p in content.parts or ())
        )
        return turns[min(done, len(turns) - 1)]

    return FunctionModel(answer)


def clerk(world: World, name: str = "clerk", *turns: Any, **options: Any) -> LlmAgent:
    tools = options.pop("tools", [booking(world)])
    turns = turns or (call("book"), "Done.")
    return LlmAgent(name=name, model=step_model(*turns), tools=tools, **options)


def single(world: World) -> BaseAgent:
    return clerk(world, output_key="said")


def several_steps(world: World) -> BaseAgent:
    tools = [booking(world), booking(world, "pay")]
    return clerk(world, "clerk", call("book"), call("pay"), "Done.", tools=tools)


def side_by_side_tools(world: World) -> BaseAgent:
    tools = [booking(world, n) for n in ("book", "pay", "post")]
    return clerk(world, "clerk", [call("book"), call("pay"), call("post")], "Done.", tools=tools)


def transfer(world: World) -> BaseAgent:
    child = clerk(world, "child")
    turns = (call("transfer_to_agent", agent_name="child"),)
    return clerk(world, "root", *turns, tools=[], sub_agents=[child])


def transfer_to_line(world: World) -> BaseAgent:
    line = SequentialAgent(name="line", sub_agents=[clerk(world, "one"), clerk(world, "two")])
    turns = (call("transfer_to_agent", agent_name="line"),)
    return clerk(world, "root", *turns, tools=[], sub_agents=[line])


def line(world: World) -> BaseAgent:
    names = ("one", "two", "three", "four", "five")
    agents = [LlmAgent(name=n, model=FunctionModel(lambda _: "Said.")) for n in names]
    agents[1] = clerk(world, "two", include_contents="none")
    agents[2] = clerk(world, "three", include_contents="none")
    return SequentialAgent(name="line", sub_agents=list(agents))


def rounds(world: World) -> BaseAgent:
    agents = [
        clerk(world, "one", include_contents="none"),
        LlmAgent(name="two", model=FunctionModel(lambda _: "Two.")),
    ]
    return LoopAgent(name="loop", sub_agents=list(agents), max_iterations=3)


def rounds_of_one(world: World) -> BaseAgent:
    return LoopAgent(
        name="loop",
        sub_agents=[LlmAgent(name="one", model=FunctionModel(lambda _: "One."))],
        max_iterations=3,
    )


def left_loop(world: World) -> BaseAgent:
    quits = LlmAgent(name="quits", model=FunctionModel(lambda _: call("exit_loop")))
    quits.tools = [exit_loop]
    after = LlmAgent(name="after", model=FunctionModel(lambda _: "After."))
    loop = LoopAgent(name="loop", sub_agents=[clerk(world, "one"), quits], max_iterations=3)
    return SequentialAgent(name="line", sub_agents=[loop, after])


def fan(world: World) -> BaseAgent:
    agents = [clerk(world, n) for n in ("left", "right")]
    return ParallelAgent(name="fan", sub_agents=list(agents))


def fan_in_line_in_rounds(world: World) -> BaseAgent:
    agents = [clerk(world, n, include_contents="none") for n in ("left", "right")]
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    both = SequentialAgent(
        name="both", sub_agents=[ParallelAgent(name="fan", sub_agents=list(agents)), last]
    )
    return LoopAgent(name="loop", sub_agents=[both], max_iterations=2)


def agent_tool(world: World) -> BaseAgent:
    helper = clerk(world, "helper", call("book"), "Helped.")
    turns = (call("helper", request="Help"), "Done.")
    return clerk(world, "root", *turns, tools=[AgentTool(helper)])


def agent_tool_over_line(world: World) -> BaseAgent:
    helpers = SequentialAgent(
        name="helpers",
        sub_agents=[clerk(world, n, include_contents="none") for n in ("one", "two")],
    )
    turns = ([call("helpers", request="Help"), call("book")], "Done.")
    return clerk(world, "root", *turns, tools=[AgentTool(helpers), booking(world)])


def confirmed(world: World) -> BaseAgent:
    tools = [FunctionTool(booking(world), require_confirmation=True)]
    return clerk(world, tools=tools)


def waiting(world: World) -> BaseAgent:
    def ask(tool_context: Any) -> None:
        world.effect(tool_context, "ask")

    return clerk(world, "clerk", call("ask"), "Done.", tools=[LongRunningFunctionTool(ask)])


def waiting_in_line(world: World) -> BaseAgent:
    first = LlmAgent(name="first", model=FunctionModel(lambda _: "First."))
    return SequentialAgent(name="line", sub_agents=[first, waiting(world)])


def approve(log: Any) -> types.Content:
    (asked,) = calls_named(log, "adk_request_confirmation")[-1:]
    return answer(asked, {"confirmed": True})


def tell(log: Any) -> types.Content:
    return answer(calls_named(log, "ask")[0], {"ok": True})


def answer(asked: types.FunctionCall, response: dict[str, Any]) -> types.Content:
    given = types.FunctionResponse(id=asked.id, name=asked.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


SCENARIOS = {
    "single": Scenario(single),
    "several_steps": Scenario(several_steps),
    "side_by_side_tools": Scenario(side_by_side_tools),
    "transfer": Scenario(transfer),
    "transfer_to_line": Scenario(transfer_to_line),
    "line": Scenario(line),
    "rounds": Scenario(rounds),
    "rounds_of_one": Scenario(rounds_of_one),
    "left_loop": Scenario(left_loop),
    "fan": Scenario(fan),
    "fan_in_line_in_rounds": Scenario(fan_in_line_in_rounds),
    "agent_tool": Scenario(agent_tool),
    "agent_tool_over_line": Scenario(agent_tool_over_line),
    "two_turns": Scenario(transfer, "Go", "Again"),
    "confirmed": Scenario(confirmed, "Go", approve),
    "waiting": Scenario(waiting, "Go", tell),
    "waiting_in_line": Scenario(waiting_in_line, "Go", tell),
}


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_crash_at_any_commit_ends_with_the_same_log(
    tmp_path: Path, name: str, resumable: bool
) -> None:
    scenario = SCENARIOS[name]
    whole = Life(scenario, tmp_path / "whole.db", resumable)
    assert await whole.process()
    expected = lines_by_branch(await whole.log())
    assert set(whole.world.effects.values()) <= {1}
    for at in range(1, whole.commits + 1):
        for after in (False, True):
            life = Life(scenario, tmp_path / f"{at}-{after}.db", resumable)
            assert not await life.process(at, after), (at, after)
            assert await life.process(), (at, after)
            log = await life.log()
            assert lines_by_branch(log) == expected, (at, after)
            repeated = {key.rpartition("/")[2] for key, n in life.world.effects.items() if n > 1}
            assert repeated <= flagged(log), (at, after)
            assert set(life.world.effects.values()) <= {1, 2}, (at, after)
            for branch in {e.branch for e in log}:
                check_paired([e.content for e in log if e.content and e.branch == branch])
