"""Nodes that run other nodes, and what they may not do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ostinato import Context
from ostinato.agents import LlmAgent
from ostinato.apps import App
from ostinato.errors import NodeError
from ostinato.events.request_input import RequestInput
from ostinato.testing import ScriptedModel, call
from ostinato.workflow import START, NodeTimeoutError, RetryConfig, Workflow, node
from tests.support.loop_time import time_passes
from tests.unit.flows.kit import Store, Talk
from tests.unit.workflow.kit import gives, lines, shows


def talk(store: Store, *edges: Any) -> Talk:
    return Talk(App(name="talk", root_agent=Workflow(name="flow", edges=list(edges))), store)


@pytest.mark.spec(217)
async def test_run_ids_are_names_or_numbers_in_order(store: Store) -> None:
    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        child = gives("child")
        await ctx.run_node(child, run_id="mine")
        await asyncio.gather(ctx.run_node(child), ctx.run_node(child, use_sub_branch=True))
        await ctx.run_node(child, override_branch="other")
        return await ctx.run_node(child, run_id="mine")

    one = talk(store, (START, parent))
    assert lines(await one.say()) == [
        'flow@1/parent@1/child@mine = "child"',
        'flow@1/parent@1/child@1 = "child"',
        'flow@1/parent@1/child@2 [child@2] = "child"',
        'flow@1/parent@1/child@3 [other] = "child"',
        'flow@1/parent@1 = "child"',
    ]


@pytest.mark.spec(217)
@pytest.mark.parametrize(
    ("rerun", "run_id", "said"),
    [
        (False, None, "flow@1/parent@1 runs node 'child' and must have rerun_on_resume=True"),
        (True, "7", "run_id '7' of node 'child' in flow@1/parent@1"),
        (True, "a/b", "neither '@' nor '/'"),
    ],
)
async def test_what_a_parent_may_not(rerun: bool, run_id: Any, said: str, memory: Store) -> None:
    @node(rerun_on_resume=rerun)
    async def parent(ctx: Any, node_input: Any) -> Any:
        return await ctx.run_node(gives("child"), run_id=run_id)

    error = await talk(memory, (START, parent)).fails()
    assert isinstance(error, NodeError) and said in str(error)


@pytest.mark.spec(217)
async def test_a_retried_parent_does_not_run_again_what_had_finished(store: Store) -> None:
    worked: list[Any] = []

    def work(node_input: Any) -> Any:
        worked.append(node_input)
        return node_input

    @node(rerun_on_resume=True, retry_config=RetryConfig(initial_delay=0))
    async def parent(ctx: Any, node_input: Any) -> Any:
        first = await ctx.run_node(work, 1)
        if ctx.attempt_count == 1:
            raise ValueError("boom")
        return [first, await ctx.run_node(work, 2)]

    assert (await talk(store, (START, parent)).say())[-1].output == [1, 2] and worked == [1, 2]


@pytest.mark.spec(217)
async def test_children_of_a_parent_that_fails_are_cancelled(memory: Store) -> None:
    ended: list[str] = []
    begun = asyncio.Event()

    async def wait(node_input: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        task = asyncio.create_task(ctx.run_node(wait))
        await begun.wait()
        assert not task.done()
        raise ValueError("boom")

    error = await talk(memory, (START, parent)).fails()
    assert isinstance(error, ValueError) and ended == ["cancelled"]


@pytest.mark.spec(217)
async def test_an_output_of_a_child_stands_for_the_parent_s(store: Store) -> None:
    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> str:
        await ctx.run_node(gives("child"), use_as_output=True)
        return "not told"

    events = await talk(store, (START, parent, shows())).say()
    assert lines(events) == [
        'flow@1/parent@1/child@1 = "child"',
        "flow@1/show@1 = \"show got 'child'\"",
    ]
    assert events[0].node_info.output_for == ["flow@1/parent@1/child@1", "flow@1/parent@1"]

    @node(rerun_on_resume=True)
    async def both(ctx: Any, node_input: Any) -> None:
        await ctx.run_node(gives("a"), use_as_output=True)
        await ctx.run_node(gives("b"), use_as_output=True)

    error = await talk(Store(None), (START, both)).fails()
    assert isinstance(error, NodeError) and "flow@1/both@1 already has a use_as_output" in str(
        error
    )


@pytest.mark.spec(217)
async def test_a_tool_may_run_a_node(store: Store) -> None:
    async def look_up(tool_context: Any) -> dict[str, Any]:
        return {"found": await tool_context.run_node(gives("child"))}

    model = ScriptedModel([call("look_up"), "Done."])
    agent = LlmAgent(name="clerk", model=model, tools=[look_up])
    one = Talk(App(name="talk", root_agent=agent), store)
    await one.say()
    assert model.requests[-1].function_responses[-1].response == {"found": "child"}
    assert 'child@1 = "child"' in lines(await one.stored())


async def test_a_time_limit_counts_for_the_nodes_that_are_left(store: Store) -> None:
    cut: list[str] = []

    async def hang(node_input: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cut.append("hang")

    def question(node_input: Any) -> RequestInput:
        return RequestInput(message="Is it right?")

    async def run_both(ctx: Context, node_input: Any) -> Any:
        return await asyncio.gather(ctx.run_node(node(hang)), ctx.run_node(node(question)))

    both = node(run_both, rerun_on_resume=True, timeout=60.0)
    run = asyncio.create_task(talk(store, (START, both)).fails())
    await time_passes(run.done)
    assert isinstance(await run, NodeTimeoutError) and cut == ["hang"]
