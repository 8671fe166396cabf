"""Tasks in graphs: agents that give tasks, and task agents, as nodes. A node waits for its task
over as many messages as it takes; nothing else of the graph runs again meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.agents import LlmAgent, ParallelAgent, SequentialAgent
from ostinato.apps import ResumabilityConfig
from ostinato.errors import RunCancelledError
from ostinato.events.request_input import RequestInput
from ostinato.testing import FunctionModel, ScriptedModel, call
from ostinato.tools import FunctionTool, LongRunningFunctionTool
from ostinato.workflow import START, JoinNode, Workflow, node
from tests.support.optionals import present
from tests.unit.flows.kit import SESSION, USER, Store, Talk, check_paired
from tests.unit.workflow.kit import asked, gives, lines, shows

pytestmark = pytest.mark.spec(70, 72, 217)


class Report(BaseModel):
    summary: str
    sources: int


def agent(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(replies)), **fields)


def task(name: str, *replies: Any, **fields: Any) -> LlmAgent:
    return agent(name, *replies, mode="task", **fields)


def desk(name: str, *works: LlmAgent, **fields: Any) -> LlmAgent:
    """An agent that gives each of its agents a task, all in one response."""
    calls = [call(work.name, request=f"for {work.name}") for work in works]
    return agent(name, calls, f"{name} is over.", sub_agents=list(works), **fields)


def done(result: Any = "Done.") -> Any:
    return call("finish_task", result=result)


def texts(one: LlmAgent) -> list[list[str]]:
    assert isinstance(one.model, ScriptedModel)
    return [request.texts for request in one.model.requests]


class Asking:
    """Says things in one session of a store, with a runner of its own for each message."""

    def __init__(self, root: Any, store: Store, resumable: bool = False) -> None:
        self.root, self.store = root, store
        self.config = ResumabilityConfig(is_resumable=resumable)

    def talk(self) -> Talk:
        return Talk(self.root, self.store, resumability_config=self.config)

    async def say(self, text: Any) -> list[str]:
        return [line for line in lines(await self.talk().say(text)) if line[-2:] != "@1"]


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_task_agent_as_a_node_talks_with_the_user_until_it_is_done(
    store: Store, resumable: bool
) -> None:
    before = gives("before", {"sea": "Baltic"})
    work = task("work", "Which?", "Sure?", done("This."))
    flow = Workflow(name="flow", edges=[(START, before, work, shows())])
    asking = Asking(flow, store, resumable)
    assert await asking.say("Go") == [
        'flow@1/before@1 = {"sea": "Baltic"}',
        "flow@1/work@1 says 'Which?'",
    ]
    assert await asking.say("That") == ["flow@1/work@1 says 'Sure?'"]
    said = [line for line in await asking.say("Yes") if "?" not in line and "work@1" not in line]
    assert said == ["flow@1/show@1 = \"show got {'result': 'This.'}\""]
    assert texts(work)[-1] == ['{"sea": "Baltic"}', "Which?", "That", "Sure?", "Yes"]
    log = await asking.talk().stored()
    assert len({event.invocation_id for event in log}) == 1
    (end,) = [e for e in log if e.node_info.path == "flow@1/work@1" and e.output is not None]
    assert end.output == {"result": "This."}
    assert end.node_info.output_for == ["flow@1/work@1"]


async def test_what_a_task_is_finished_with_is_the_output_of_its_node(store: Store) -> None:
    work = task("work", "Which?", call("finish_task", summary="Wet.", sources=2))
    work.output_schema = Report
    flow = Workflow(name="flow", edges=[(START, work, shows())])
    asking = Asking(flow, store)
    await asking.say("Go")
    assert "show got {'summary': 'Wet.', 'sources': 2}" in (await asking.say("That"))[-1]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("mode", [None, "chat"])
async def test_an_agent_that_gives_a_task_waits_for_it_as_a_node(
    store: Store, mode: Any, resumable: bool
) -> None:
    work = task("work", "Which?", "Sure?", done("This."))
    giver = desk("giver", work, mode=mode)
    flow = Workflow(name="flow", edges=[(START, giver, shows())])
    asking = Asking(flow, store, resumable)
    assert (await asking.say("Go"))[-1] == (
        "flow@1/giver@1/work@{0} [work@{0}] says 'Which?'".format(
            asked_task(await asking.talk().stored(), "work")
        )
    )
    assert (await asking.say("That"))[-1].endswith("says 'Sure?'")
    said = [one for one in await asking.say("Yes") if one.startswith(("flow@1/g", "flow@1/s"))]
    assert said[-1] == "flow@1/show@1 = \"show got 'giver is over.'\""
    assert texts(work)[-1] == ['{"request": "for work"}', "Which?", "That", "Sure?", "Yes"]
    assert texts(giver) == [["Go"], ["Go"]]
    await asking.talk().check_sound()


async def test_one_node_s_tasks_are_done_one_after_another(store: Store) -> None:
    left, right = task("left", "Left?", done("L")), task("right", "Right?", done("R"))
    flow = Workflow(name="flow", edges=[(START, desk("giver", left, right), shows())])
    asking = Asking(flow, store)
    assert (await asking.say("Go"))[-1].endswith("says 'Left?'")
    assert (await asking.say("l"))[-1].endswith("says 'Right?'")
    assert (await asking.say("r"))[-1].endswith("\"show got 'giver is over.'\"")
    assert texts(left)[-1] == ['{"request": "for left"}', "Left?", "l"]
    assert texts(right)[-1] == ['{"request": "for right"}', "Right?", "r"]


@pytest.mark.parametrize("resumable", [False, True])
async def test_tasks_of_nodes_side_by_side_are_asked_in_their_order(
    store: Store, resumable: bool
) -> None:
    one, two = task("one", "One?", done("1")), task("two", "Two?", done("2"))
    three = task("three", "Three?", done("3"))
    works = (one, desk("giver", two), three)
    join = JoinNode(name="join")
    flow = Workflow(name="flow", edges=[(START, works, join, shows())])
    asking = Asking(flow, store, resumable)
    first = await asking.say("Go")
    order = [word for one in first for word in ("One?", "Two?", "Three?") if word in one]
    assert sorted(order) == ["One?", "Three?", "Two?"]
    for word in order:
        last = (await asking.say(f"to {word}"))[-1]
    assert "'one': {'result': '1'}" in last and "'three': {'result': '3'}" in last
    assert "'giver': 'giver is over.'" in last
    for work, word in ((one, "One?"), (two, "Two?"), (three, "Three?")):
        assert texts(work)[-1][-2:] == [word, f"to {word}"]
        assert len(texts(work)) == 2


async def test_a_task_and_a_request_wait_side_by_side(store: Store) -> None:
    def ask(node_input: Any) -> RequestInput:
        return RequestInput(message="Sure?", response_schema={"type": "boolean"})

    work = task("work", "Which?", "Really?", done("This."))
    join = JoinNode(name="join")
    flow = Workflow(name="flow", edges=[(START, (work, ask), join, shows())])
    asking = Asking(flow, store)
    await asking.say("Go")
    await asking.say("That")
    (request,) = asked(await asking.talk().stored())
    assert lines(await asking.talk().answer(request, {"result": True})) == []
    last = (await asking.say("Yes"))[-1]
    assert "'ask': True" in last and "'work': {'result': 'This.'}" in last
    assert len(texts(work)) == 3


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_node_runs_tasks_by_itself_and_goes_on_with_their_outputs(
    store: Store, resumable: bool
) -> None:
    work, inner = task("work", "Which?", done("This.")), task("inner", "Inner?", done("I"))
    giver = desk("giver", inner)
    begun: list[str] = []

    @node(rerun_on_resume=True)
    async def both(ctx: Any, node_input: Any) -> Any:
        begun.append("both")
        first = await ctx.run_node(work, "the input")
        second = await ctx.run_node(giver, "more")
        return [first, second]

    flow = Workflow(name="flow", edges=[(START, both, shows())])
    asking = Asking(flow, store, resumable)
    assert (await asking.say("Go"))[-1] == "flow@1/both@1/work@1 says 'Which?'"
    assert (await asking.say("That"))[-1].endswith("says 'Inner?'")
    assert (await asking.say("Yes"))[-1] == (
        "flow@1/show@1 = \"show got [{'result': 'This.'}, 'giver is over.']\""
    )
    assert texts(work) == [["the input"], ["the input", "Which?", "That"]]
    assert len(texts(giver)) == 2
    assert len(begun) == 3


async def test_tasks_within_tasks_of_a_node(store: Store) -> None:
    inner = task("inner", "Inner?", done("I"))
    outer = task("outer", call("inner", request="i"), "Outer?", done("O"), sub_agents=[inner])
    flow = Workflow(name="flow", edges=[(START, outer, shows())])
    asking = Asking(flow, store)
    assert (await asking.say("Go"))[-1].endswith("says 'Inner?'")
    assert (await asking.say("one"))[-1].endswith("says 'Outer?'")
    assert (await asking.say("two"))[-1] == "flow@1/show@1 = \"show got {'result': 'O'}\""
    assert texts(inner)[-1] == ['{"request": "i"}', "Inner?", "one"]
    assert texts(outer)[-1] == ["Go", "Outer?", "two"]


@pytest.mark.parametrize("resumable", [False, True])
@pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent])
async def test_a_shell_of_agents_that_give_tasks_as_a_node(
    store: Store, kind: Any, resumable: bool
) -> None:
    one, two = task("one", "One?", done("1")), task("two", "Two?", done("2"))
    shell = kind(name="shell", sub_agents=[desk("first", one), desk("second", two)])
    flow = Workflow(name="flow", edges=[(START, shell, gives("last"))])
    asking = Asking(flow, store, resumable)
    await asking.say("Go")
    await asking.say("1")
    assert (await asking.say("2"))[-1] == 'flow@1/last@1 = "last"'
    assert len(texts(one)) == len(texts(two)) == 2


@pytest.mark.parametrize("resumable", [False, True])
async def test_a_graph_below_a_shell_goes_on_with_its_task(store: Store, resumable: bool) -> None:
    work = task("work", "Which?", done("This."))
    flow = Workflow(name="flow", edges=[(START, work, shows())])
    last = agent("last", "Last.")
    line = SequentialAgent(name="line", sub_agents=[flow, last])  # type: ignore[list-item]
    asking = Asking(line, store, resumable)
    assert (await asking.say("Go"))[-1] == "flow@1/work@1 says 'Which?'"
    said = await asking.say("That")
    assert "flow@1/show@1 = \"show got {'result': 'This.'}\"" in said
    # In an app that is not resumable an answer goes to who asked, and no further.
    assert ("last says 'Last.'" in said) == resumable


async def test_a_tool_of_a_task_in_a_graph_asks_for_leave(store: Store) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    tools = [FunctionTool(pay, require_confirmation=True)]
    work = task("work", call("pay", amount=3), "Paid. More?", done(), tools=tools)
    flow = Workflow(name="flow", edges=[(START, desk("giver", work), shows())])
    asking = Asking(flow, store)
    events = await asking.talk().say("Go")
    confirm = next(
        c for e in events for c in e.get_function_calls() if present(c.name)[:4] == "adk_"
    )
    said = lines(await asking.talk().answer(confirm, {"confirmed": True}))
    assert said[-1].endswith("says 'Paid. More?'")
    assert (await asking.say("No"))[-1] == "flow@1/show@1 = \"show got 'giver is over.'\""
    assert paid == [3]


async def test_an_error_leaves_the_task_of_a_node_open(store: Store) -> None:
    def fail() -> str:
        raise RuntimeError("broken")

    work = task("work", "Which?", call("fail"), done(), tools=[fail])
    before = gives("before", "x")
    flow = Workflow(name="flow", edges=[(START, before, work, shows())])
    asking = Asking(flow, store)
    await asking.say("Go")
    assert "broken" in str(await asking.talk().fails("That"))
    said = await asking.say("Again")
    assert said[-1] == "flow@1/show@1 = \"show got {'result': 'Done.'}\""
    assert not any("before" in one for one in said)


async def test_a_message_after_the_graph_s_end_begins_it_anew(store: Store) -> None:
    work = LlmAgent(name="work", model=FunctionModel(lambda _: done("x")), mode="task")
    flow = Workflow(name="flow", edges=[(START, work, shows())])
    asking = Asking(flow, store)
    first, second = await asking.say("Go"), await asking.say("Again")
    assert first[-1] == second[-1] == "flow@1/show@1 = \"show got {'result': 'x'}\""
    assert len({e.invocation_id for e in await asking.talk().stored()}) == 2


async def test_a_rewind_takes_a_waiting_task_back(store: Store) -> None:
    work = task("work", "Which?", "Which, again?")
    flow = Workflow(name="flow", edges=[(START, work, shows())])
    talk = Talk(flow, store)
    events = await talk.say("Go")
    await talk.runner.rewind_async(
        user_id=USER, session_id=SESSION, rewind_before_invocation_id=events[0].invocation_id
    )
    assert lines(await talk.say("Other")) == ["flow@1/work@1 says 'Which, again?'"]
    assert texts(work)[-1] == ["Other"]


def asked_task(log: list[Any], name: str) -> str:
    return next(c.id for e in log for c in e.get_function_calls() if c.name == name)


async def test_a_call_that_was_cancelled_is_seen_as_answered_by_its_node(store: Store) -> None:
    def order(what: str) -> None:
        return None

    async def stuck() -> str:
        await talk.runner.cancel(user_id=USER, session_id=SESSION)
        return "never"

    calls = [call("order", what="a"), call("stuck")]
    one = agent("one", calls, "Done.", tools=[LongRunningFunctionTool(order), stuck])
    talk = Talk(Workflow(name="flow", edges=[(START, one, shows())]), store)  # type: ignore[arg-type]
    assert isinstance(await talk.fails("Go"), RunCancelledError)
    ordered = next(c for e in talk.seen for c in e.get_function_calls() if c.name == "order")
    events = await talk.answer(ordered, {"box": 1})
    assert lines(events)[-1] == "flow@1/show@1 = \"show got 'Done.'\""
    assert isinstance(one.model, ScriptedModel)
    check_paired(one.model.requests[1].contents)
