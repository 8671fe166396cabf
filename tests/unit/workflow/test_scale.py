"""The cost of a node does not depend on how many there are: function calls are counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from ostinato.apps import App
from ostinato.workflow import START, FunctionNode, JoinNode, Workflow
from tests.support.optionals import present
from tests.unit.flows.kit import Store, Talk


def counts(number: int) -> FunctionNode:
    def count(node_input: Any) -> int:
        return number

    return FunctionNode(func=count, name=f"n{number}")


def sequence(size: int) -> Workflow:
    return Workflow(name="flow", edges=[(START, *(counts(n) for n in range(size)))])


def fan(size: int) -> Workflow:
    wings = tuple(counts(n) for n in range(size))
    return Workflow(name="flow", edges=[(START, wings, JoinNode(name="join"))])


async def calls_of(flow: Workflow) -> int:
    """Return how many calls of Python functions a run of the workflow makes.

    The least of three runs: threads that answer late add rounds of the event loop.
    """
    return min([await count_calls(flow) for _ in range(3)])


async def count_calls(flow: Workflow) -> int:
    """Count the calls of one run."""
    talk = Talk(App(name="talk", root_agent=flow), Store(None))
    assert flow.graph is not None and flow.graph.start  # laid out before it is counted
    count = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        await talk.say()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.spec(217)
@pytest.mark.parametrize("shape", [sequence, pytest.param(fan, marks=pytest.mark.long)])
async def test_a_node_costs_the_same_in_a_graph_of_any_size(
    shape: Callable[[int], Workflow],
) -> None:
    await calls_of(shape(20))  # what is loaded and compiled once
    small, large, larger = [await calls_of(shape(size)) for size in (20, 120, 220)]
    per_node = (large - small) / 100
    assert abs((larger - large) / 100 - per_node) < 0.02 * per_node
    assert per_node < 250


@pytest.mark.service
async def test_ten_thousand_nodes_in_a_row_and_a_thousand_side_by_side() -> None:
    talk = Talk(App(name="talk", root_agent=sequence(10_000)), Store(None))
    assert len(await talk.say()) == 10_000
    last = (await Talk(App(name="talk", root_agent=fan(1_000)), Store(None)).say())[-1]
    assert len(present(last.output)) == 1_000
