"""Graphs are checked when they are built, and the error names the edge or the node."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.agents import BaseAgent
from ostinato.errors import AgentConfigError, GraphError, StateSchemaError
from ostinato.runners import InMemoryRunner
from ostinato.workflow import DEFAULT_ROUTE, START, Edge, FunctionNode, JoinNode, Workflow, node
from tests.unit.workflow.kit import gives

A, B, C = (gives(name) for name in "abc")


def flow(*edges: Any, **options: Any) -> Workflow:
    return Workflow(name="flow", edges=list(edges), **options)


@pytest.mark.spec(217)
@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([(A, B)], "START node .* not found"),
        ([(START, A), (B, C)], r"unreachable from START: \['b', 'c'\]"),
        ([(START, A, B), (B, A)], "Unconditional cycle detected: a -> b -> a"),
        ([(START, A), (A, A)], "Unconditional cycle detected: a -> a"),
        ([(START, A), (START, A)], "Duplicate edge found: from=__START__, to=a"),
        ([(START, A, B), (A, {"x": B})], "Duplicate edge found: from=a, to=b"),
        ([(START, A), (A, START)], "START node must not .* a -> __START__"),
        ([(START, A, gives("a"))], "Duplicate node names found: 'a'"),
        (
            [(START, A), (A, {DEFAULT_ROUTE: B}), (A, {DEFAULT_ROUTE: C})],
            "Multiple DEFAULT_ROUTE edges found: a -> b .* and a -> c",
        ),
        ([(START, A), Edge(from_node=A, to_node=B, route=[])], "a -> b .*empty list of routes"),
        (
            [(START, A), Edge(from_node=A, to_node=B, route=["x", DEFAULT_ROUTE])],
            "a -> b .*DEFAULT_ROUTE beside other routes",
        ),
        ([(START, A, {None: B})], "a -> .*the route None"),
        ([(START, 5)], "In the chain START|__START__ -> 5: 5 is not a node"),
        ([(START, "other")], "'other' is not a node"),
        ([(START,)], "has no edge"),
        ([7], "7 is neither an Edge nor a chain"),
        ([(START, lambda node_input: 1)], "must be a valid Python identifier"),
    ],
)
def test_a_graph_that_cannot_work_is_refused(edges: list[Any], said: str) -> None:
    with pytest.raises(GraphError, match=f"(?s){said}.*'flow'"):
        flow(*edges)


async def test_a_graph_without_edges_does_nothing() -> None:
    empty = flow()
    assert empty.graph is None and empty.to_mermaid() == "flowchart TD\n"
    assert not await InMemoryRunner(node=empty).run_debug("Go", quiet=True)
    outer = Workflow(name="outer", edges=[(START, flow(), A)])
    assert "flow" in outer.to_mermaid()


class Trip(BaseModel):
    days: int


class Bill(BaseModel):
    euros: int


def plan(node_input: Any) -> Trip:
    return Trip(days=1)


def pay(node_input: Bill) -> None: ...


@pytest.mark.spec(217)
def test_types_that_do_not_fit_are_refused_with_the_edge() -> None:
    with pytest.raises(GraphError, match=r"edge plan -> pay\. Output schema Trip .* schema Bill"):
        flow((START, plan, pay))


def test_a_parameter_that_the_state_schema_lacks_is_refused() -> None:
    def needs(euros: int, days: int) -> None: ...

    with pytest.raises(StateSchemaError, match=r"'needs' parameter 'euros'.*'Trip'"):
        flow((START, needs), state_schema=Trip)


def test_one_function_is_one_node_however_often_it_is_named() -> None:
    def f(node_input: Any) -> None: ...

    made = flow((START, f, B), (START, B), (B, {"again": f}))
    assert made.graph is not None
    assert [n.name for n in made.graph.nodes] == ["__START__", "f", "b"]
    assert [str(edge) for edge in made.graph.edges] == [
        "__START__ -> f",
        "f -> b",
        "__START__ -> b",
        "b -> f (route 'again')",
    ]


def test_bad_limits_are_refused() -> None:
    with pytest.raises(GraphError, match="max_concurrency is -1"):
        flow((START, A), max_concurrency=-1)


def test_errors_of_graphs_are_errors_of_the_developer_and_values() -> None:
    assert issubclass(GraphError, AgentConfigError) and issubclass(GraphError, ValueError)


@pytest.mark.spec(217)
def test_node_makes_nodes_and_copies_them_with_options() -> None:
    @node(timeout=3, rerun_on_resume=True, name="other")
    def f(node_input: Any) -> None:
        """Do it."""

    assert isinstance(f, FunctionNode) and (f.name, f.timeout, f.rerun_on_resume) == (
        "other",
        3,
        True,
    )
    assert f.description == "Do it."
    join = JoinNode(name="j")
    assert node(join) is join
    copied = node(join, name="k")
    assert isinstance(copied, JoinNode) and (copied.name, join.name) == ("k", "j")
    agent = BaseAgent(name="a", sub_agents=[BaseAgent(name="b")])
    clone = node(agent, name="c")
    assert clone.name == "c" and clone.sub_agents[0] is not agent.sub_agents[0]
    with pytest.raises(GraphError, match="is not a node"):
        node(5)


def test_long_chains_are_checked_without_recursion() -> None:
    chain = (START, *(gives(f"n{number}") for number in range(3000)))
    made = flow(chain)
    assert made.graph is not None and len(made.graph.nodes) == 3001


@pytest.mark.spec(217)
def test_mermaid_draws_nodes_routes_joins_workers_and_graphs_within() -> None:
    inner = Workflow(name="inner", edges=[(START, gives("x"))])
    first, last = gives("first"), gives("last")
    drawn = flow(
        (START, first, (A, inner), JoinNode(name="join"), node(gives("w"), parallel_worker=True)),
        (first, {"skip": last, 'say "no"': gives("no"), DEFAULT_ROUTE: gives("rest")}),
    ).to_mermaid()
    assert drawn.splitlines() == [
        "flowchart TD",
        "  START([START])",
        '  first["first"]',
        '  a["a"]',
        '  join{{"join"}}',
        '  w[["w"]]',
        '  last["last"]',
        '  no["no"]',
        '  rest["rest"]',
        '  subgraph inner["inner"]',
        "    inner.START([START])",
        '    inner.x["x"]',
        "    inner.START --> inner.x",
        "  end",
        "  START --> first",
        "  first --> a",
        "  first --> inner",
        "  a --> join",
        "  inner --> join",
        "  join --> w",
        '  first -->|"skip"| last',
        '  first -->|"say #quot;no#quot;"| no',
        '  first -->|"otherwise"| rest',
    ]
