"""Graphs at work: order, branches, inputs and outputs, errors that name the place, nesting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import BaseAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.apps import App
from ostinato.errors import NodeError, NodeSchemaError, RunCancelledError
from ostinato.events import Event
from ostinato.events.event_actions import EventActions
from ostinato.runners import InMemoryRunner
from ostinato.workflow import (
    START,
    BaseNode,
    FunctionNode,
    JoinNode,
    NodeTimeoutError,
    RetryConfig,
    Workflow,
    node,
)
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import adk_ways, gives, lines, shows


def flow(*edges: Any, **options: Any) -> Workflow:
    return Workflow(name="flow", edges=list(edges), **options)


def talk(root: Any, store: Store, **app: Any) -> Talk:
    return Talk(App(name="talk", root_agent=root, **app), store)


@pytest.mark.spec(217, 218)
async def test_a_sequence_hands_outputs_on_and_the_last_is_the_workflow_s(store: Store) -> None:
    one = talk(flow((START, gives("a"), shows("b"), shows("c"))), store)
    events = await one.say()
    assert lines(events) == [
        'flow@1/a@1 = "a"',
        "flow@1/b@1 = \"b got 'a'\"",
        'flow@1/c@1 = "c got \\"b got \'a\'\\""',
    ]
    assert [e.node_info.output_for for e in events] == [
        ["flow@1/a@1"],
        ["flow@1/b@1"],
        ["flow@1/c@1", "flow@1"],
    ]
    assert {e.author for e in events} == {"flow"} and events[-1].is_final_response()
    assert lines(await one.check_sound())[1:] == lines(events)


@pytest.mark.spec(217)
async def test_an_output_is_stored_before_the_next_node_begins(store: Store) -> None:
    async def look(node_input: Any) -> list[str]:
        return lines(await one.stored())

    one = talk(flow((START, gives("a"), FunctionNode(func=look))), store)
    assert (await one.say())[-1].output == ["user says 'Go'", 'flow@1/a@1 = "a"']


@pytest.mark.spec(217)
async def test_sides_of_a_fan_run_at_once_and_each_waits_for_its_own_commit(store: Store) -> None:
    met = asyncio.Barrier(3)

    async def meet(node_input: Any) -> str:
        await met.wait()
        return "met"

    wings = tuple(FunctionNode(func=meet, name=name) for name in "abc")
    one = talk(flow((START, wings, JoinNode(name="join"))), store)
    events = await one.say()
    assert sorted(lines(events[:3])) == [f'flow@1/{n}@1 [{n}@1] = "met"' for n in "abc"]
    assert lines(events[3:]) == ['flow@1/join@1 = {"a": "met", "b": "met", "c": "met"}']


@pytest.mark.spec(217)
async def test_no_more_nodes_run_at_once_than_are_allowed(memory: Store) -> None:
    running, most = 0, 0

    async def work(node_input: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    wings = tuple(FunctionNode(func=work, name=f"n{i}") for i in range(7))
    await talk(flow((START, wings), max_concurrency=2), memory).say()
    assert most == 2


@pytest.mark.spec(217)
async def test_a_route_to_nowhere_is_an_error_with_the_place(store: Store) -> None:
    first = gives("first", route="left")
    one = talk(flow((START, first), (first, {"right": gives("z"), 3: gives("y")})), store)
    error = await one.fails()
    assert isinstance(error, NodeError)
    assert "flow@1/first@1 gave the route 'left'" in str(error) and "['right', 3]" in str(error)
    assert lines(await one.check_sound())[1:] == [
        "flow@1/first@1 = \"first\" -> 'left'",
        "flow@1 ! NodeError",
    ]


@pytest.mark.spec(217)
async def test_a_route_to_nowhere_ends_the_graph_of_a_program_of_google_adk(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    def check(ctx: Any, node_input: Any) -> Event:
        ctx.state["rounds"] = rounds = ctx.state.get("rounds", 0) + 1
        return Event(output=rounds, route="again" if rounds < 3 else "done")

    work, checks = gives("work"), FunctionNode(func=check)
    one = talk(flow((START, work, checks), (checks, {"again": work})), store)
    with adk_ways():
        events = await one.say()
    assert [event.output for event in events] == ["work", 1, "work", 2, "work", 3]
    assert "flow@1/check@3 gave the route 'done', and no edge takes it" in caplog.text
    assert lines(await one.check_sound())[1:] == lines(events)


@pytest.mark.spec(217)
async def test_siblings_of_a_node_that_raises_are_cancelled_and_nothing_is_lost(
    store: Store,
) -> None:
    calm = asyncio.Event()
    ended: list[str] = []

    async def wait(node_input: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def quick(node_input: Any) -> str:
        calm.set()
        return "quick"

    async def fail(node_input: Any) -> str:
        await calm.wait()
        if not ended:
            raise ValueError("boom")
        return "well"

    wings = tuple(FunctionNode(func=f) for f in (quick, fail))
    waiting = FunctionNode(func=wait, timeout=None)
    one = talk(flow((START, (*wings, waiting), JoinNode(name="join"))), store)
    error = await one.fails()
    assert isinstance(error, ValueError) and ended == ["cancelled"]
    assert error.__notes__ == ["Raised by workflow node flow@1/fail@1 (attempt 1)."]
    log = lines(await one.check_sound())
    assert sorted(log[1:]) == [
        "flow@1/fail@1 [fail@1] ! ValueError",
        'flow@1/quick@1 [quick@1] = "quick"',
    ]


@pytest.mark.spec(217)
async def test_a_failed_run_goes_on_where_it_failed(store: Store) -> None:
    calls: list[str] = []

    def count(name: str, bad: bool = False) -> FunctionNode:
        def work(node_input: Any) -> str:
            calls.append(name)
            if bad and calls.count(name) == 1:
                raise ValueError("boom")
            return name

        return FunctionNode(func=work, name=name)

    one = talk(flow((START, count("a"), count("b", bad=True), count("c"))), store)
    assert isinstance(await one.fails(), ValueError)
    invocation = one.seen[0].invocation_id
    assert lines(await one.say(None, invocation_id=invocation)) == [
        'flow@1/b@1 = "b"',
        'flow@1/c@1 = "c"',
    ]
    assert calls == ["a", "b", "b", "c"]
    assert await one.say(None, invocation_id=invocation) == []  # it has ended


@pytest.mark.spec(217)
async def test_retries_pause_and_end(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("ostinato.workflow.schedule.asyncio.sleep", sleep)

    def fail(ctx: Any, node_input: Any) -> None:
        raise KeyError(ctx.attempt_count)

    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [1, 2, 4, 8]),
        ({"max_attempts": 3, "initial_delay": 5}, [5, 10]),
        ({"max_delay": 3, "backoff_factor": 3}, [1, 3, 3, 3]),
        ({"exceptions": [LookupError]}, [1, 2, 4, 8]),
        ({"exceptions": ["ValueError"]}, []),
        ({"max_attempts": 1}, []),
    ]
    for config, expected in cases:
        pauses.clear()
        retry = RetryConfig(jitter=0, **config)
        one = talk(flow((START, FunctionNode(func=fail, retry_config=retry))), Store(None))
        error = await one.fails()
        assert isinstance(error, KeyError) and error.args == (len(expected) + 1,)
        assert pauses == expected
        assert lines(one.seen) == ["flow@1/fail@1 ! KeyError"] * (len(expected) + 1)


def test_jitter_changes_a_pause_by_its_share() -> None:
    config = RetryConfig(initial_delay=10, jitter=0.5)
    pauses = [config.pause_after(1, ValueError()) or 0 for _ in range(50)]
    assert min(pauses) >= 5 and max(pauses) <= 15 and len(set(pauses)) > 10
    assert (
        RetryConfig(backoff_factor=1e300, max_attempts=9).pause_after(8, ValueError()) is not None
    )


@pytest.mark.spec(217)
async def test_a_node_that_takes_too_long_is_stopped(store: Store) -> None:
    async def slow(node_input: Any) -> None:
        await asyncio.Event().wait()

    one = talk(flow((START, FunctionNode(func=slow, timeout=0.01))), store)
    error = await one.fails()
    assert isinstance(error, NodeTimeoutError) and error.node_name == "slow"
    assert lines(await one.check_sound())[1:] == ["flow@1/slow@1 ! NodeTimeoutError"]


@pytest.mark.spec(217)
async def test_a_timeout_of_the_node_s_own_is_its_own(memory: Store) -> None:
    def slow(node_input: Any) -> None:
        raise TimeoutError("mine")

    error = await talk(flow((START, FunctionNode(func=slow, timeout=9))), memory).fails()
    assert type(error) is TimeoutError and str(error) == "mine"


class Trip(BaseModel):
    days: int


def wants(node_input: Trip) -> int:
    return node_input.days


@pytest.mark.spec(217)
@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((gives("a", {"days": "many"}), wants), "The input of node flow@1/wants@1 is not Trip"),
        ((gives("a", {"x": {1, object}}), shows()), "output of node flow@1/a@1 .* JSON cannot"),
    ],
)
async def test_a_value_of_the_wrong_type_is_an_error_with_the_place(
    nodes: Any, said: str, store: Store
) -> None:
    one = talk(flow((START, *nodes)), store)
    error = await one.fails()
    assert isinstance(error, NodeSchemaError)
    with pytest.raises(NodeSchemaError, match=said):
        raise error
    await one.check_sound()


@pytest.mark.spec(217)
async def test_an_output_that_breaks_the_schema_is_refused(memory: Store) -> None:
    def gives_wrong(node_input: Any) -> Trip:
        return {"hours": 3}  # type: ignore[return-value]

    error = await talk(flow((START, gives_wrong)), memory).fails()
    assert isinstance(error, NodeSchemaError)
    assert "The output of node flow@1/gives_wrong@1 is not Trip" in str(error)


@pytest.mark.spec(217)
async def test_a_second_output_is_an_error(memory: Store) -> None:
    async def two(node_input: Any) -> Any:
        yield 1
        yield 2

    error = await talk(flow((START, two)), memory).fails()
    assert isinstance(error, NodeError) and "flow@1/two@1 gave a second output" in str(error)


@pytest.mark.spec(218)
async def test_two_last_nodes_that_give_outputs_are_an_error(memory: Store) -> None:
    error = await talk(flow((START, (gives("a"), gives("b")))), memory).fails()
    assert isinstance(error, NodeError) and "terminal nodes produced output (2): a, b" in str(error)


@pytest.mark.spec(217)
async def test_values_are_the_same_whether_read_from_the_log_or_not(memory: Store) -> None:
    first = gives("first", ({1}, Trip(days=2), (3,)))
    events = await talk(flow((START, first, shows())), memory).say()
    assert events[-1].output == "show got [[1], {'days': 2}, [3]]"


@pytest.mark.spec(217)
async def test_a_missing_parameter_is_an_error_with_the_place(memory: Store) -> None:
    def needs(city: str) -> None: ...

    error = await talk(flow((START, needs)), memory).fails()
    assert isinstance(error, NodeError)
    assert '"city" of function "needs" in node flow@1/needs@1' in str(error)
    bound = FunctionNode(func=lambda a: a, name="bound", parameter_binding="node_input")
    error = await talk(flow((START, gives("x", "text"), bound)), Store(None)).fails()
    assert isinstance(error, NodeError) and "flow@1/bound@1" in str(error)


@pytest.mark.spec(217)
async def test_node_kinds_that_wait_for_output(memory: Store) -> None:
    class Third(BaseNode):
        async def _run_impl(self, *, ctx: Any, node_input: Any) -> Any:
            count = ctx.state.get("count", 0) + 1
            ctx.state["count"] = count
            if count == 3:
                yield "third"

    third = Third(name="third", wait_for_output=True)
    wings = tuple(gives(name) for name in "abc")
    events = await talk(flow((START, wings, third, shows())), memory).say()
    assert [e.output for e in events if e.output][-1] == "show got 'third'"
    assert len([e for e in events if e.node_info.name == "show"]) == 1


@pytest.mark.spec(217)
async def test_tool_nodes_take_their_input_as_arguments(memory: Store) -> None:
    from ostinato.tools import FunctionTool

    def add(a: int, b: int) -> int:
        return a + b

    chain = (START, gives("first", {"a": 1, "b": 2}), FunctionTool(add), shows())
    assert (await talk(flow(chain), memory).say())[-1].output == "show got 3"
    error = await talk(flow((START, gives("x", "text"), FunctionTool(add))), Store(None)).fails()
    assert isinstance(error, NodeError) and "flow@1/add@1 calls tool 'add'" in str(error)


@pytest.mark.spec(217)
async def test_any_node_may_be_the_root(store: Store) -> None:
    one = talk(gives("lone"), store)
    assert lines(await one.say()) == ['lone@1 = "lone"']
    runner = InMemoryRunner(node=flow((START, gives("a"))))
    events = await runner.run_debug("Go", quiet=True)
    assert lines(events) == ['flow@1/a@1 = "a"'] and runner.app_name == "InMemoryRunner"


@pytest.mark.spec(74, 217)
async def test_shell_agents_take_graphs_and_graphs_take_shell_agents(store: Store) -> None:
    class Says(BaseAgent):
        async def _run_async_impl(self, ctx: Any) -> Any:
            said = types.Content(role="model", parts=[types.Part(text=self.name)])
            yield Event(author=self.name, branch=ctx.branch, content=said)

    inner = Workflow(name="inner", edges=[(START, gives("a"))])
    both = ParallelAgent(name="both", sub_agents=[Says(name="left"), Says(name="right")])
    outer = flow((START, SequentialAgent(name="line", sub_agents=[inner, both]), gives("z")))  # type: ignore[list-item]
    loop = LoopAgent(name="loop", sub_agents=[outer], max_iterations=2)  # type: ignore[list-item]
    events = await talk(loop, store).say()
    each = [
        line
        for n in (1, 2)
        for line in (
            f'flow@{n}/line@1/inner@1/a@1 = "a"',
            f"flow@{n}/line@1 [both.left] says 'left'",
            f"flow@{n}/line@1 [both.right] says 'right'",
            f'flow@{n}/z@1 = "z"',
        )
    ]
    assert lines(events) == each


@pytest.mark.spec(217)
async def test_a_run_can_be_cancelled_within_a_fan(store: Store) -> None:
    begun = asyncio.Barrier(3)

    async def wait(node_input: Any) -> None:
        await begun.wait()
        await asyncio.Event().wait()

    wings = tuple(FunctionNode(func=wait, name=name) for name in "ab")
    one = talk(flow((START, gives("first"), wings)), store)
    service = one.runner.session_service
    await service.create_session(app_name="talk", user_id="ann", session_id="one")
    run = one.runner.start(user_id="ann", session_id="one", new_message="Go")

    async def follow() -> None:
        async for _ in run:
            pass

    following = asyncio.create_task(follow())
    await begun.wait()
    assert await run.cancel()
    with pytest.raises(RunCancelledError):
        await following
    assert lines(await one.check_sound())[1:] == ['flow@1/first@1 = "first"']


@pytest.mark.spec(217)
async def test_state_and_output_of_a_function_go_with_one_event(store: Store) -> None:
    def work(ctx: Any, node_input: Any) -> Event:
        ctx.state["a"] = 1
        return Event(output="o", actions=EventActions(state_delta={"b": 2}))

    one = talk(flow((START, work, shows())), store)
    assert lines(await one.say())[0] == 'flow@1/work@1 = "o" state {"a": 1, "b": 2}'
    assert await one.state() == {"a": 1, "b": 2}


def test_worker_of_a_parallel_worker_is_within_it() -> None:
    inner = gives("w")
    assert node(inner, parallel_worker=True).nodes_within == [inner]
