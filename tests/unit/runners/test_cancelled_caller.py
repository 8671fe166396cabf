"""A caller that stops in the middle: at each event, inside a tool, a model, a hook or the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ostinato.agents import (
    BaseAgent,
    LlmAgent,
    LoopAgent,
    ParallelAgent,
    RunConfig,
    SequentialAgent,
)
from ostinato.agents.run_config import StreamingMode
from ostinato.apps import App
from ostinato.models import BaseLlm
from ostinato.testing import ScriptedModel, call, chunks
from ostinato.tools import AgentTool, FunctionTool, LongRunningFunctionTool
from tests.unit.flows.kit import Store, Talk, check_paired

pytestmark = pytest.mark.long

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


def book(tool_context: Any) -> str:
    """Book a seat."""
    tool_context.state["booked"] = True
    return "booked"


def plain(model: ScriptedModel) -> BaseAgent:
    model.add([call("book"), call("book")], chunks("It is ", "done."))
    return LlmAgent(name="root", model=model, tools=[book], output_key="said")


def with_transfer(model: ScriptedModel) -> BaseAgent:
    model.add(call("transfer_to_agent", agent_name="child"), call("book"), "Done.")
    child = LlmAgent(name="child", model=model, tools=[book])
    return LlmAgent(name="root", model=model, sub_agents=[child])


def in_line(model: ScriptedModel) -> BaseAgent:
    model.add(call("book"), "One.", call("book"), "Two.")
    children = [LlmAgent(name=n, model=model, tools=[book]) for n in ("one", "two")]
    return SequentialAgent(name="root", sub_agents=list(children))


def in_rounds(model: ScriptedModel) -> BaseAgent:
    model.add(call("book"), "One.", "Two.")
    child = LlmAgent(name="one", model=model, tools=[book])
    return LoopAgent(name="root", sub_agents=[child], max_iterations=2)


def side_by_side(model: ScriptedModel) -> BaseAgent:
    models = [ScriptedModel([call("book"), "Done."]) for _ in range(2)]
    children = [
        LlmAgent(name=n, model=m, tools=[book]) for n, m in zip(("l", "r"), models, strict=True)
    ]
    return ParallelAgent(name="root", sub_agents=list(children))


def with_agent_tool(model: ScriptedModel) -> BaseAgent:
    helper = LlmAgent(name="helper", model=ScriptedModel([call("book"), "Help."]), tools=[book])
    model.add(call("helper", request="Help me"), "Done.")
    return LlmAgent(name="root", model=model, tools=[AgentTool(helper)])


def waiting_for_approval(model: ScriptedModel) -> BaseAgent:
    model.add([call("book"), call("pay")], "Done.")
    pay = FunctionTool(lambda: "paid", require_confirmation=True)
    pay.name = "pay"
    return LlmAgent(name="root", model=model, tools=[book, pay])


def long_running(model: ScriptedModel) -> BaseAgent:
    def ask() -> dict[str, str]:
        return {"status": "pending"}

    model.add([call("ask"), call("book")], "Done.")
    return LlmAgent(name="root", model=model, tools=[book, LongRunningFunctionTool(ask)])


TREES: list[Callable[[ScriptedModel], BaseAgent]] = [
    plain,
    with_transfer,
    in_line,
    in_rounds,
    side_by_side,
    with_agent_tool,
    waiting_for_approval,
    long_running,
]


def fresh_ending(talk: Talk) -> ScriptedModel:
    """Give the root, or a new root in its place, a model that only waits for the next turn."""
    model = ScriptedModel()
    talk.runner.agent = LlmAgent(name="after", model=model)
    return model


async def count_events(tree: Any, resumable: bool) -> int:
    talk = Talk(app_of(tree(ScriptedModel()), resumable), Store(None))
    return len(await talk.say(run_config=SSE))


def app_of(root: BaseAgent, resumable: bool) -> App:
    from ostinato.apps import ResumabilityConfig

    config = ResumabilityConfig(is_resumable=True) if resumable else None
    return App(name="talk", root_agent=root, resumability_config=config)


async def settle() -> None:
    """Wait until generators that were dropped have closed, and what they had begun has ended."""
    for _ in range(50):
        await asyncio.sleep(0)
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)


def note(talk: Talk, event: Any) -> None:
    if not event.partial:
        talk.seen.append(event)


@pytest.mark.spec(22, 20)
@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("tree", TREES)
async def test_a_caller_that_closes_the_run_at_any_event_leaves_a_valid_session(
    memory: Store, tree: Any, resumable: bool
) -> None:
    for stop_at in range(1, await count_events(tree, resumable) + 1):
        talk = Talk(app_of(tree(ScriptedModel()), resumable), Store(None))
        run = talk.run(run_config=SSE)
        for _ in range(stop_at):
            note(talk, await anext(run))
        await run.aclose()
        await talk.check_goes_on(fresh_ending(talk))


@pytest.mark.spec(22, 20)
@pytest.mark.parametrize("tree", [plain, with_transfer, side_by_side])
async def test_what_was_handed_on_is_on_disk_when_the_caller_stops(store: Store, tree: Any) -> None:
    run = (talk := Talk(tree(ScriptedModel()), store)).run()
    note(talk, await anext(run))
    note(talk, await anext(run))
    await run.aclose()
    await talk.check_goes_on(fresh_ending(talk))


@pytest.mark.parametrize("tree", TREES)
async def test_a_task_cancelled_at_any_event_leaves_a_valid_session(
    memory: Store, tree: Any
) -> None:
    for stop_at in range(1, await count_events(tree, False) + 1):
        talk = Talk(tree(ScriptedModel()), Store(None))
        reached = asyncio.Event()

        async def consume(talk: Talk = talk, at: int = stop_at, go: Any = reached) -> None:
            count = 0
            async for event in talk.run(run_config=SSE):
                note(talk, event)
                count += 1
                if count == at:
                    go.set()
                    await asyncio.Event().wait()

        task = asyncio.create_task(consume())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        await settle()
        await talk.check_goes_on(fresh_ending(talk))


@pytest.mark.parametrize("tree", [plain, waiting_for_approval])
async def test_a_caller_that_breaks_out_of_the_loop_may_go_on_at_once(
    memory: Store, tree: Any
) -> None:
    """No aclose: the generator is dropped, and the next turn comes from the same task. Its request
    has to be one that a provider takes: no call without a response."""
    for stop_at in range(1, await count_events(tree, False) + 1):
        talk = Talk(tree(ScriptedModel()), Store(None))
        count = 0
        async for event in talk.run(run_config=SSE):
            note(talk, event)
            count += 1
            if count == stop_at:
                break
        talk.runner.agent.model = model = ScriptedModel(["Already."])
        async with asyncio.timeout(60):
            await talk.say("Next")
        check_paired(model.requests[0].contents)
        await settle()
        await talk.check_goes_on(model)


@pytest.mark.parametrize("tree", TREES)
async def test_a_generator_that_was_dropped_is_sealed_soon(memory: Store, tree: Any) -> None:
    for stop_at in range(1, await count_events(tree, False) + 1):
        talk = Talk(tree(ScriptedModel()), Store(None))
        count = 0
        async for event in talk.run(run_config=SSE):
            note(talk, event)
            count += 1
            if count == stop_at:
                break
        await settle()
        await talk.check_goes_on(fresh_ending(talk))


class Hanging(BaseLlm):
    """Says that it was asked, and never answers."""

    model: str = "hanging"
    asked: Any = None
    first: Any = None

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        if self.first is not None:
            for response in self.first:
                yield response
        self.asked.set()
        await asyncio.Event().wait()
        yield


async def cancel_when(reached: asyncio.Event, talk: Talk, how: str) -> None:
    """Start a run, and stop it when it has got somewhere."""
    if how == "timeout":
        scope = asyncio.timeout(None)

        async def expire() -> None:
            await reached.wait()
            scope.reschedule(asyncio.get_running_loop().time())

        waiting = asyncio.create_task(expire())
        with pytest.raises(TimeoutError):
            async with scope:
                await talk.say()
        await waiting
        return
    task = asyncio.create_task(talk.say())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_a_task_cancelled_inside_the_model_leaves_a_valid_session(
    store: Store, how: str
) -> None:
    reached = asyncio.Event()
    talk = Talk(LlmAgent(name="root", model=Hanging(asked=reached)), store)
    await cancel_when(reached, talk, how)
    assert [e.author for e in await talk.stored()] == ["user"]
    await talk.check_goes_on(fresh_ending(talk))


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_a_task_cancelled_inside_a_tool_seals_its_call(store: Store, how: str) -> None:
    reached, closed = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    model = ScriptedModel([[call("hang"), call("book")]])
    talk = Talk(LlmAgent(name="root", model=model, tools=[hang, book]), store)
    await cancel_when(reached, talk, how)
    assert closed.is_set()
    log = await talk.check_sound()
    answers = {r.name: r.response for e in log for r in e.get_function_responses()}
    assert "cancelled" in str(answers["hang"])
    await talk.check_goes_on(model)


async def test_a_tool_that_had_finished_beside_a_cancelled_one_keeps_its_result(
    store: Store,
) -> None:
    """Its effects happened; the log may not say that it was cancelled."""
    reached = asyncio.Event()
    done: list[str] = []

    async def quick() -> str:
        done.append("quick")
        return "paid 100"

    async def hang() -> None:
        await asyncio.sleep(0)
        reached.set()
        await asyncio.Event().wait()

    model = ScriptedModel([[call("quick"), call("hang")]])
    talk = Talk(LlmAgent(name="root", model=model, tools=[quick, hang]), store)
    await cancel_when(reached, talk, "cancel")
    log = await talk.check_sound()
    answers = {r.name: r.response for e in log for r in e.get_function_responses()}
    assert done == ["quick"]
    assert answers["quick"] == {"result": "paid 100"}
    await talk.check_goes_on(model)


async def test_a_plain_tool_cancelled_in_its_thread_seals_its_call(store: Store) -> None:
    import threading

    loop = asyncio.get_running_loop()
    reached, release = asyncio.Event(), threading.Event()

    def hang() -> None:
        loop.call_soon_threadsafe(reached.set)
        release.wait(60)

    model = ScriptedModel([call("hang")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[hang]), store)
    task = asyncio.create_task(talk.say())
    await reached.wait()
    task.cancel()
    loop.call_soon(release.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    await talk.check_goes_on(model)


@pytest.mark.parametrize(
    "hook",
    [
        "before_agent_callback",
        "after_agent_callback",
        "before_model_callback",
        "after_model_callback",
        "before_tool_callback",
        "after_tool_callback",
    ],
)
async def test_a_task_cancelled_inside_a_hook_leaves_a_valid_session(
    store: Store, hook: str
) -> None:
    reached = asyncio.Event()

    async def hang(*_: Any, **__: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    model = ScriptedModel([call("book"), "Done."])
    hooks: dict[str, Any] = {hook: hang}
    talk = Talk(LlmAgent(name="root", model=model, tools=[book], **hooks), store)
    await cancel_when(reached, talk, "cancel")
    await talk.check_goes_on(fresh_ending(talk))


@pytest.mark.parametrize("at", range(1, 5))
async def test_a_task_cancelled_while_an_event_is_being_stored_loses_nothing(
    store: Store, at: int
) -> None:
    """The commit either happened or did not; in both cases the log is whole."""
    reached = asyncio.Event()
    service, count = store.service, [0]
    original = service.append

    async def slow(*append: Any) -> Any:
        count[0] += 1
        if count[0] == at:
            reached.set()
            await asyncio.sleep(0)
        return await original(*append)

    service.append = slow
    model = ScriptedModel([call("book"), "Done."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[book]), store)
    task = asyncio.create_task(talk.say())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await talk.check_goes_on(fresh_ending(talk))


async def test_a_task_cancelled_while_it_waits_for_the_session_lets_the_next_one_in(
    memory: Store,
) -> None:
    reached, release = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        reached.set()
        await release.wait()
        return "waited"

    model = ScriptedModel([call("wait"), "One.", "Two."])
    talk = Talk(LlmAgent(name="root", model=model, tools=[wait]), memory)
    first = asyncio.create_task(talk.say("First"))
    await reached.wait()
    second = asyncio.create_task(talk.say("Second"))
    third = asyncio.create_task(talk.say("Third"))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    release.set()
    await asyncio.gather(first, third)
    texts = [
        p.text
        for e in await talk.stored()
        if e.author == "user" and e.content
        for p in e.content.parts or ()
    ]
    assert texts == ["First", "Third"]
    await talk.check_goes_on(model)


async def test_cancelling_twice_does_not_leave_the_session_locked(memory: Store) -> None:
    reached = asyncio.Event()

    async def stubborn() -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)

    model = ScriptedModel([call("stubborn")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[stubborn]), memory)
    task = asyncio.create_task(talk.say())
    await reached.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(60):
        await talk.check_goes_on(model)


async def test_a_caller_that_throws_into_the_run_gets_its_error_and_a_valid_session(
    memory: Store,
) -> None:
    model = ScriptedModel([call("book")])
    talk = Talk(LlmAgent(name="root", model=model, tools=[book]), memory)
    run = talk.run()
    note(talk, await anext(run))
    with pytest.raises(LookupError):
        await run.athrow(LookupError("mine"))
    await talk.check_goes_on(model)


async def test_a_run_that_was_never_iterated_holds_nothing(memory: Store) -> None:
    model = ScriptedModel()
    talk = Talk(LlmAgent(name="root", model=model), memory)
    await talk.run().aclose()
    model.add("Hello.")
    await talk.say()
    await talk.check_goes_on(model)
