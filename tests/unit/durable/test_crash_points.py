"""A process that dies at any commit: the next one ends with the same log, and no tool has run twice
but where nobody could know, and then the log says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.agents.base_agent import BaseAgentState
from ostinato.auth import AuthConfig
from ostinato.code_executors.base_code_executor import BaseCodeExecutor
from ostinato.code_executors.code_execution_utils import CodeExecutionResult
from ostinato.planners import PlanReActPlanner
from ostinato.testing import FunctionModel, call
from ostinato.tools import AgentTool, LongRunningFunctionTool, exit_loop
from tests.unit.durable.crash import (
    Life,
    Scenario,
    World,
    calls_named,
    flagged,
    lines_by_branch,
    unanswered,
)

pytestmark = pytest.mark.long


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


def own_clerk(world: World, name: str, **options: Any) -> LlmAgent:
    """A clerk whose tool writes a key of its own.

    Of one key, only the later of two parallel writes is in its event.
    """
    tool = f"book_{name}"
    return clerk(world, name, call(tool), "Done.", tools=[booking(world, tool)], **options)


def fan(world: World) -> BaseAgent:
    agents = [own_clerk(world, n) for n in ("left", "right")]
    return ParallelAgent(name="fan", sub_agents=list(agents))


def fan_in_line_in_rounds(world: World) -> BaseAgent:
    agents = [own_clerk(world, n, include_contents="none") for n in ("left", "right")]
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


def waiting(world: World) -> BaseAgent:
    def ask(tool_context: Any) -> None:
        world.effect(tool_context, "ask")

    return clerk(world, "clerk", call("ask"), "Done.", tools=[LongRunningFunctionTool(ask)])


def waiting_in_line(world: World) -> BaseAgent:
    first = LlmAgent(name="first", model=FunctionModel(lambda _: "First."))
    return SequentialAgent(name="line", sub_agents=[first, waiting(world)])


def transfer_and_back(world: World) -> BaseAgent:
    def root_turn(request: Any) -> Any:
        seen = str(request.contents)
        return "Done." if "Over to you" in seen else call("transfer_to_agent", agent_name="child")

    def child_turn(request: Any) -> Any:
        if "book done" not in str(request.contents):
            return call("book")
        return ["Over to you", call("transfer_to_agent", agent_name="root")]

    child = LlmAgent(name="child", model=FunctionModel(child_turn), tools=[booking(world)])
    return LlmAgent(name="root", model=FunctionModel(root_turn), sub_agents=[child])


def transfer_in_line(world: World) -> BaseAgent:
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    return SequentialAgent(name="line", sub_agents=[transfer(world), last])


class Trip(BaseModel):
    city: str


def structured(world: World) -> BaseAgent:
    turns = (call("book"), call("set_model_response", city="Rome"))
    first = clerk(world, "first", *turns, output_schema=Trip, output_key="trip")
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    return SequentialAgent(name="line", sub_agents=[first, last])


def corrected(world: World) -> BaseAgent:
    def turn(request: Any) -> Any:
        seen = str(request.contents)
        if "book done" not in seen:
            return call("book")
        return '{"city": "Rome"}' if "does not match the schema" in seen else "Rome"

    first = LlmAgent(
        name="first",
        model=Native(turn),  # pyright: ignore[reportCallIssue]
        tools=[booking(world)],
        output_schema=Trip,
        output_key="trip",
    )
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    return SequentialAgent(name="line", sub_agents=[first, last])


class Native(FunctionModel):
    """Answers by a schema beside tools."""

    @property
    def supports_output_schema_with_tools(self) -> bool:
        return True


class Counts(BaseCodeExecutor):
    """Runs no code; its answer is always the same."""

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        return CodeExecutionResult(stdout="5", stderr="", output_files=[])


def coded(world: World) -> BaseAgent:
    def turn(request: Any) -> Any:
        return "It is 5." if "tool_output" in str(request.contents) else "```python\nprint(5)\n```"

    coder = LlmAgent(
        name="coder", model=FunctionModel(turn), code_executor=Counts(), output_key="said"
    )
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    return SequentialAgent(name="line", sub_agents=[coder, last])


def planned(world: World) -> BaseAgent:
    turns = (["/*PLANNING*/ Book.", call("book")], "/*FINAL_ANSWER*/ Done.")
    return clerk(world, "clerk", *turns, planner=PlanReActPlanner())


KEY = AuthConfig.model_validate(
    {
        "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "rawAuthCredential": {"authType": "apiKey", "apiKey": "none"},
        "credentialKey": "crash_key",
    }
)


def credential(world: World) -> BaseAgent:
    def fetch(tool_context: Any) -> str:
        given = tool_context.get_auth_response(KEY)
        if given is None:
            tool_context.request_credential(KEY)
            return "needs a key"
        return "fetched"

    return clerk(world, "clerk", call("fetch"), "Done.", tools=[fetch])


def give_key(log: Any) -> types.Content:
    asked = calls_named(log, "adk_request_credential")[-1]
    given = {**(asked.args or {})["authConfig"]}
    given["exchangedAuthCredential"] = {"authType": "apiKey", "apiKey": "k1"}
    return answer(asked, given)


def note(key: str, content: str | None = None) -> Any:
    def hook(callback_context: Any) -> types.Content | None:
        callback_context.state[key] = True
        return types.Content(role="model", parts=[types.Part(text=content)]) if content else None

    return hook


def hooked_agents(world: World) -> BaseAgent:
    first = clerk(
        world,
        "first",
        include_contents="none",
        before_agent_callback=note("begun"),
        after_agent_callback=note("over", "First is over."),
    )
    second = clerk(world, "second", include_contents="none", before_agent_callback=note("two"))
    return SequentialAgent(name="line", sub_agents=[first, second])


def hooked_tools(world: World) -> BaseAgent:
    def before(tool: Any, args: Any, tool_context: Any) -> Any:
        return {"result": "not needed"} if tool.name == "post" else None

    tools = [booking(world), booking(world, "post")]
    return clerk(
        world,
        "clerk",
        call("book"),
        call("post"),
        "Done.",
        tools=tools,
        before_tool_callback=before,
    )


class Steps(BaseAgentState):
    step: int = 0


class Custom(BaseAgent):
    """Runs its sub-agents twice each, and notes how far it is."""

    async def _run_async_impl(self, ctx: Any) -> Any:
        state = self._load_agent_state(ctx, Steps)
        first, resuming = (state.step, True) if state is not None else (0, False)
        for step in range(first, 2 * len(self.sub_agents)):
            if not resuming:
                ctx.set_agent_state(self.name, agent_state=Steps(step=step))
                if ctx.is_resumable:
                    yield self._create_agent_state_event(ctx)
            resuming = False
            async for event in self.sub_agents[step // 2].run_async(ctx):
                yield event
        ctx.set_agent_state(self.name, end_of_agent=True)
        if ctx.is_resumable:
            yield self._create_agent_state_event(ctx)


def custom(world: World) -> BaseAgent:
    agents = [clerk(world, "one", include_contents="none")]
    agents.append(LlmAgent(name="two", model=FunctionModel(lambda _: "Two.")))
    return SequentialAgent(
        name="line",
        sub_agents=[
            Custom(name="custom", sub_agents=list(agents)),
            LlmAgent(name="last", model=FunctionModel(lambda _: "Last.")),
        ],
    )


def nested_agent_tools(world: World) -> BaseAgent:
    inner = clerk(world, "inner", call("book"), "Inner.")
    tools = [AgentTool(inner), booking(world, "pay")]
    outer = clerk(world, "outer", call("inner", request="x"), call("pay"), "Outer.", tools=tools)
    turns = (call("outer", request="Help"), "Done.")
    return clerk(world, "root", *turns, tools=[AgentTool(outer)])


def asking(world: World, result: Any = None) -> LongRunningFunctionTool:
    def ask(tool_context: Any) -> Any:
        world.effect(tool_context, "ask")
        return result

    return LongRunningFunctionTool(ask)


def waiting_beside_quick(world: World) -> BaseAgent:
    tools = [asking(world), booking(world)]
    turns = ([call("ask"), call("book")], "Done.")
    return SequentialAgent(name="line", sub_agents=[clerk(world, "clerk", *turns, tools=tools)])


def waiting_with_first_result(world: World) -> BaseAgent:
    tools = [asking(world, {"ticket": 7})]
    return clerk(world, "clerk", call("ask"), "Noted.", tools=tools)


def waiting_behind_hook(world: World) -> BaseAgent:
    tools = [asking(world)]
    hook = {"before_tool_callback": lambda tool, args, tool_context: None}
    return clerk(world, "clerk", call("ask"), "Done.", tools=tools, **hook)


def raising(world: World) -> BaseAgent:
    def fail(tool_context: Any) -> str:
        world.effect(tool_context, "fail")
        raise ValueError("no")

    turns = ([call("fail"), call("book")], "Done.")
    hook = {"on_tool_error_callback": lambda **_: {"error": "it failed"}}
    return clerk(world, "clerk", *turns, tools=[fail, booking(world)], **hook)


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
    "transfer_and_back": Scenario(transfer_and_back),
    "transfer_in_line": Scenario(transfer_in_line),
    "structured": Scenario(structured),
    "corrected": Scenario(corrected),
    "coded": Scenario(coded),
    "planned": Scenario(planned),
    "credential": Scenario(credential, "Go", give_key),
    "hooked_agents": Scenario(hooked_agents),
    "hooked_tools": Scenario(hooked_tools),
    "custom": Scenario(custom),
    "nested_agent_tools": Scenario(nested_agent_tools),
    "waiting_beside_quick": Scenario(waiting_beside_quick, "Go", tell),
    "waiting_with_first_result": Scenario(waiting_with_first_result, "Go", tell),
    "waiting_behind_hook": Scenario(waiting_behind_hook, "Go", tell),
    "raising": Scenario(raising),
    "waiting": Scenario(waiting, "Go", tell),
    "waiting_in_line": Scenario(waiting_in_line, "Go", tell),
}


BOTH = ("single", "side_by_side_tools", "waiting", "hooked_tools", "coded")


# Half of them for `make test`, for their time: all run in `make check`.
@pytest.mark.parametrize("resumable", [False, pytest.param(True, marks=pytest.mark.service)])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_crash_at_any_commit_ends_with_the_same_log(
    quick_path: Path, name: str, resumable: bool
) -> None:
    scenario = SCENARIOS[name]
    whole = Life(scenario, quick_path / "whole.db", resumable)
    assert await whole.process()
    expected = lines_by_branch(await whole.log())
    assert set(whole.world.effects.values()) <= {1}
    for at in range(1, whole.commits + 1):
        # What is stored after a commit is what is stored before the next; what was done meanwhile
        # is not.
        for after in (False, True) if name in BOTH or at == whole.commits else (False,):
            life = Life(scenario, quick_path / f"{at}-{after}.db", resumable)
            assert not await life.process(at, after), (at, after)
            assert await life.process(), (at, after)
            log = await life.log()
            assert lines_by_branch(log) == expected, (at, after)
            repeated = {key.rpartition("/")[2] for key, n in life.world.effects.items() if n > 1}
            assert repeated <= flagged(log), (at, after)
            assert set(life.world.effects.values()) <= {1, 2}, (at, after)
            assert unanswered(log) == [], (at, after)
