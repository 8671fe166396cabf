"""A process that dies at any commit within a graph: the next one ends with the same log; a node
whose end was stored is not run again."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ostinato.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from ostinato.events import Event
from ostinato.events.request_input import RequestInput
from ostinato.testing import FunctionModel, call
from ostinato.workflow import START, FunctionNode, JoinNode, Workflow, node
from tests.unit.durable.crash import Life, Scenario, World, flagged, unanswered
from tests.unit.durable.test_crash_points import answer, asking, booking, clerk, own_clerk, tell
from tests.unit.durable.test_crashes_in_tasks import desk, root, task
from tests.unit.workflow.kit import asked, lines


def works(world: World, name: str, output: Any = None, route: Any = None, **options: Any) -> Any:
    """A node that does something outside once, and counts in the state."""

    def work(ctx: Any, node_input: Any) -> Any:
        world.effects[ctx.node_path] += 1
        ctx.state[name] = ctx.state.get(name, 0) + 1
        value = name if output is None else output
        return value if route is None else Event(output=value, route=route)

    return FunctionNode(func=work, name=name, **options)


def silent(world: World, name: str) -> Any:
    """A node that says nothing at all."""

    def work(ctx: Any, node_input: Any) -> None:
        world.effects[ctx.node_path] += 1

    return FunctionNode(func=work, name=name)


def sequence(world: World) -> Workflow:
    nodes = [works(world, n) for n in ("a", "b", "c", "d")]
    return Workflow(name="flow", edges=[(START, *nodes)])


def quiet(world: World) -> Workflow:
    nodes = [silent(world, "one"), works(world, "a"), silent(world, "two"), works(world, "b")]
    return Workflow(name="flow", edges=[(START, *nodes, silent(world, "three"))])


def fan(world: World) -> Workflow:
    wings = tuple(works(world, n) for n in ("a", "b", "c", "d"))
    return Workflow(name="flow", edges=[(START, wings, JoinNode(name="join"), works(world, "z"))])


def uneven_fan(world: World) -> Workflow:
    join = JoinNode(name="join")
    return Workflow(
        name="flow",
        edges=[
            (START, works(world, "a"), works(world, "b"), works(world, "c"), join),
            (START, silent(world, "d"), works(world, "e"), join),
            (START, works(world, "f"), join, works(world, "z")),
        ],
    )


def rounds(world: World) -> Workflow:
    def again(ctx: Any, node_input: Any) -> Event:
        world.effects[ctx.node_path] += 1
        count = ctx.state.get("count", 0) + 1
        return Event(output=count, route="again" if count < 3 else "done", state={"count": count})

    decide = FunctionNode(func=again, name="decide")
    wings = (works(world, "a"), works(world, "b"))
    return Workflow(
        name="flow",
        edges=[
            (START, wings, JoinNode(name="join"), decide),
            (decide, {"again": wings, "done": works(world, "z")}),
        ],
    )


def nested(world: World) -> Workflow:
    inner = Workflow(name="inner", edges=[(START, works(world, "a"), works(world, "b"))])
    beside = Workflow(name="beside", edges=[(START, silent(world, "c"), works(world, "d"))])
    return Workflow(
        name="flow", edges=[(START, (inner, beside), JoinNode(name="join"), works(world, "z"))]
    )


def dynamic(world: World) -> Workflow:
    child = works(world, "child")

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        first = await ctx.run_node(child, 1)
        second = await ctx.run_node(child, 2)
        return [first, second]

    return Workflow(name="flow", edges=[(START, parent, works(world, "z"))])


def workers(world: World) -> Workflow:
    worker = node(works(world, "worker"), parallel_worker=True)
    return Workflow(name="flow", edges=[(START, works(world, "list", [1, 2, 3]), worker)])


def people(world: World) -> Workflow:
    async def ask(node_input: Any) -> Any:
        yield RequestInput(interrupt_id="q", message="Sure?", response_schema={"type": "boolean"})

    join = JoinNode(name="join")
    return Workflow(
        name="flow",
        edges=[
            (START, works(world, "a"), ask, works(world, "b"), join),
            (START, works(world, "c"), silent(world, "d"), join, works(world, "z")),
        ],
    )


def agents(world: World) -> Workflow:
    one = clerk(world, "one")
    two = SequentialAgent(
        name="two",
        sub_agents=[clerk(world, "three"), clerk(world, "four", include_contents="none")],
    )
    return Workflow(name="flow", edges=[(START, works(world, "a"), one, two, works(world, "z"))])


def agents_side_by_side(world: World) -> Workflow:
    wings = tuple(own_clerk(world, name) for name in ("one", "two"))
    return Workflow(name="flow", edges=[(START, wings, JoinNode(name="join"), works(world, "z"))])


def agent_again_and_again(world: World) -> Workflow:
    one = clerk(world, "one", include_contents="none")
    line = SequentialAgent(name="line", sub_agents=[one])

    def again(ctx: Any, node_input: Any) -> Event:
        count = ctx.state.get("count", 0) + 1
        return Event(output=count, route="again" if count < 2 else "done", state={"count": count})

    decide = FunctionNode(func=again, name="decide")
    return Workflow(
        name="flow",
        edges=[(START, line, decide), (decide, {"again": line, "done": works(world, "z")})],
    )


def graph_in_line(world: World) -> SequentialAgent:
    last = LlmAgent(name="last", model=FunctionModel(lambda _: "Last."))
    return SequentialAgent(name="line", sub_agents=[fan(world), last])  # type: ignore[list-item]


def graph_in_loop(world: World) -> SequentialAgent:
    flow = Workflow(name="flow", edges=[(START, works(world, "a"), silent(world, "b"))])
    loop = LoopAgent(name="loop", sub_agents=[flow], max_iterations=3)  # type: ignore[list-item]
    return SequentialAgent(name="line", sub_agents=[loop])


def graphs_side_by_side(world: World) -> ParallelAgent:
    flows = [
        Workflow(name=f"flow_{n}", edges=[(START, works(world, f"a{n}"), works(world, f"b{n}"))])
        for n in (1, 2)
    ]
    return ParallelAgent(name="both", sub_agents=[*flows])  # type: ignore[list-item]


def waits_beside_a_tool(world: World) -> Workflow:
    tools = [asking(world), booking(world)]
    both = clerk(world, "one", [call("ask"), call("book")], "Done.", tools=tools)
    other = own_clerk(world, "two")
    join = JoinNode(name="join")
    return Workflow(name="flow", edges=[(START, (both, other), join, works(world, "z"))])


def task_as_node(world: World) -> Workflow:
    return Workflow(name="flow", edges=[(START, works(world, "a"), desk(world), works(world, "z"))])


def tasks_side_by_side(world: World) -> Workflow:
    wings = (desk(world, "one"), task(world), works(world, "c"))
    return Workflow(name="flow", edges=[(START, wings, JoinNode(name="join"), works(world, "z"))])


def task_by_run_node(world: World) -> Workflow:
    child, giver = desk(world), root(world, call("inner", request="i"), "Done.")
    giver.sub_agents = [desk(world, "inner")]

    @node(rerun_on_resume=True)
    async def parent(ctx: Any, node_input: Any) -> Any:
        return [await ctx.run_node(child, "x"), await ctx.run_node(giver, "y")]

    return Workflow(name="flow", edges=[(START, works(world, "a"), parent, works(world, "z"))])


def say_yes(log: Any) -> Any:
    return answer(asked(log)[0], {"result": True})


SCENARIOS = {
    "sequence": Scenario(sequence),
    "quiet": Scenario(quiet),
    "fan": Scenario(fan),
    "uneven_fan": Scenario(uneven_fan),
    "rounds": Scenario(rounds),
    "nested": Scenario(nested),
    "dynamic": Scenario(dynamic),
    "workers": Scenario(workers),
    "people": Scenario(people, "Go", say_yes),
    "agents": Scenario(agents),
    "agents_side_by_side": Scenario(agents_side_by_side),
    "agent_again_and_again": Scenario(agent_again_and_again),
    "waits_beside_a_tool": Scenario(waits_beside_a_tool, "Go", tell),
    "task_as_node": Scenario(task_as_node, "Go", "Yes"),
    "tasks_side_by_side": Scenario(tasks_side_by_side, "Go", "Yes", "Yes"),
    "task_by_run_node": Scenario(task_by_run_node, "Go", "Yes", "Yes"),
    "graph_in_line": Scenario(graph_in_line),
    "graph_in_loop": Scenario(graph_in_loop),
    "graphs_side_by_side": Scenario(graphs_side_by_side),
}


_ID = re.compile(r"adk-[0-9a-f]{8}-[0-9a-f-]{27}")


def by_place(log: list[Event]) -> dict[str, list[str]]:
    """The lines of each path and branch; what runs side by side may come in any order."""
    found: dict[str, list[str]] = {}
    for event in log:
        place = _ID.sub("id", f"{event.node_info.path} {event.branch}")
        found.setdefault(place, []).extend(_ID.sub("id", line) for line in lines([event]))
    return found


QUICK = ("quiet", "people")  # the others are told of by `make check`
CASES = [
    pytest.param(
        name,
        resumable,
        id=name + ("+resumable" if resumable else ""),
        marks=() if name in QUICK and not resumable else pytest.mark.service,
    )
    for name in sorted(SCENARIOS)
    for resumable in (False, True)
]


@pytest.mark.spec(217, 218)
@pytest.mark.parametrize(("name", "resumable"), CASES)
async def test_a_process_may_die_at_any_commit(name: str, resumable: bool, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    whole = Life(scenario, tmp_path / "whole.db", resumable)
    assert await whole.process()
    wanted, commits = by_place(await whole.log()), whole.commits
    assert set(whole.world.effects.values()) == {1}
    for at in range(1, commits + 1):
        for after in (False, True):
            life = Life(scenario, tmp_path / f"{at}{after}.db", resumable)
            died = not await life.process(at, after)
            while not await life.process():
                pass
            log = await life.log()
            assert by_place(log) == wanted, (at, after)
            assert unanswered(log) == []
            again = Counter({k: n for k, n in life.world.effects.items() if n > 1})
            assert died or not again
            assert max(life.world.effects.values()) <= 2, (at, after, again)
            assert life.rows() == []
            ended = [e.node_info.path for e in log if e.output is not None]
            if after and not flagged(log):  # what was stored is not done again
                stored = {e.node_info.path for e in log[: at + 1] if e.output is not None}
                assert stored <= set(ended)
