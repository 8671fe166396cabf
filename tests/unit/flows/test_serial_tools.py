"""Plain functions that receive the context: one at a time within an invocation."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from ostinato.agents import LlmAgent, ParallelAgent, RunConfig
from ostinato.errors import ToolTimeoutError
from ostinato.testing import ScriptedModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool, ToolContext

from .kit import Store, Talk


class Watch:
    """Notes which functions run, and how many at a time."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.now = 0
        self.most = 0
        self._lock = threading.Lock()

    def enter(self, number: int) -> None:
        with self._lock:
            self.order.append(number)
            self.now += 1
            self.most = max(self.most, self.now)

    def leave(self) -> None:
        with self._lock:
            self.now -= 1


def let_others_run() -> None:
    """Hand the interpreter to other threads, as any blocking call does."""
    threading.Event().wait(0.001)


def counting(watch: Watch) -> Any:
    def add(number: int, tool_context: ToolContext) -> None:
        watch.enter(number)
        count = tool_context.state.get("count", 0)
        let_others_run()
        tool_context.state["count"] = count + 1
        watch.leave()

    return add


async def test_no_update_of_parallel_plain_functions_is_lost(store: Store) -> None:
    watch = Watch()
    calls = [call("add", number=n) for n in range(12)]
    agent = LlmAgent(name="clerk", model=ScriptedModel([calls, "Done."]), tools=[counting(watch)])
    talk = Talk(agent, store)
    await talk.say()
    assert (await talk.state())["count"] == 12
    assert watch.order == list(range(12))
    assert watch.most == 1


async def test_agents_that_run_side_by_side_take_turns_too(memory: Store) -> None:
    watch = Watch()
    calls = [call("add", number=n) for n in range(4)]
    agents = [
        LlmAgent(name=name, model=ScriptedModel([calls, "Done."]), tools=[counting(watch)])
        for name in ("left", "right")
    ]
    await Talk(ParallelAgent(name="fan", sub_agents=list(agents)), memory).say()
    assert (len(watch.order), watch.most) == (8, 1)


async def test_another_invocation_does_not_wait(memory: Store) -> None:
    both = threading.Barrier(2, timeout=30)

    def meet(tool_context: ToolContext) -> None:
        both.wait()

    def talk(store: Store) -> Talk:
        model = ScriptedModel([call("meet"), "Done."])
        return Talk(LlmAgent(name="clerk", model=model, tools=[meet]), store)

    await asyncio.gather(talk(memory).say(), talk(Store(None)).say())
    assert both.n_waiting == 0 and not both.broken


@pytest.mark.parametrize("kind", ["parallel", "long-running", "without context"])
async def test_what_opts_out_or_has_no_context_runs_side_by_side(memory: Store, kind: str) -> None:
    both = threading.Barrier(2, timeout=30)

    def meet(tool_context: ToolContext) -> str:
        both.wait()
        return "met"

    def meet_plain() -> str:
        both.wait()
        return "met"

    meet_plain.__name__ = "meet"
    tools: dict[str, Any] = {
        "parallel": FunctionTool(meet, parallel=True),
        "long-running": LongRunningFunctionTool(meet, parallel=True),
        "without context": meet_plain,
    }
    model = ScriptedModel([[call("meet"), call("meet")], "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[tools[kind]]), memory)
    events = await talk.say()
    answers = [r.response for e in events for r in e.get_function_responses()]
    assert answers == [{"result": "met"}] * 2


async def test_the_event_loop_stays_free_meanwhile(memory: Store) -> None:
    said = threading.Event()

    def wait(tool_context: ToolContext) -> bool:
        return said.wait(30)

    async def say() -> None:
        said.set()

    model = ScriptedModel([[call("wait"), call("say")], "Done."])
    events = await Talk(LlmAgent(name="clerk", model=model, tools=[wait, say]), memory).say()
    answers = {r.name: r.response for e in events for r in e.get_function_responses()}
    assert answers["wait"] == {"result": True}


async def test_a_function_that_was_given_up_ends_its_turn(memory: Store) -> None:
    release, ran = threading.Event(), list[str]()

    def hang(tool_context: ToolContext) -> None:
        release.wait(60)

    def after(tool_context: ToolContext) -> None:
        ran.append("after")

    model = ScriptedModel([[call("hang"), call("after")], "Done."])
    tools = [FunctionTool(hang, timeout=0.01), after]
    try:
        events = await Talk(LlmAgent(name="clerk", model=model, tools=tools), memory).say()
    finally:
        release.set()
    answers = {r.name: r.response or {} for e in events for r in e.get_function_responses()}
    assert ToolTimeoutError.__name__ in answers["hang"]["error"]
    assert ran == ["after"]


async def test_functions_with_a_timeout_take_turns_where_tools_run_inline(memory: Store) -> None:
    calls = [call("add", number=n) for n in range(6)]
    watch = Watch()
    tool = FunctionTool(counting(watch), timeout=30)
    agent = LlmAgent(name="clerk", model=ScriptedModel([calls, "Done."]), tools=[tool])
    talk = Talk(agent, memory)
    await talk.say(run_config=RunConfig(sync_tools="inline"))
    assert (await talk.state())["count"] == 6
    assert watch.most == 1


async def test_a_function_may_call_another_from_its_thread_and_wait_for_it(memory: Store) -> None:
    loop = asyncio.get_running_loop()

    def inner(tool_context: ToolContext) -> str:
        tool_context.state["inner"] = True
        return "inner"

    inner_tool = FunctionTool(inner)

    def outer(tool_context: ToolContext) -> Any:
        work = inner_tool.run_async(args={}, tool_context=tool_context)
        return asyncio.run_coroutine_threadsafe(work, loop).result(30)

    model = ScriptedModel([[call("outer"), call("outer")], "Done."])
    talk = Talk(LlmAgent(name="clerk", model=model, tools=[outer]), memory)
    events = await talk.say()
    answers = [r.response for e in events for r in e.get_function_responses()]
    assert answers == [{"result": "inner"}] * 2
    assert await talk.state() == {"inner": True}
