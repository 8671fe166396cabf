"""Workflow: a graph of nodes that is itself a node."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from pydantic import SkipValidation

from .._aclosing import Aclosing
from ..context.node import BaseNode
from ..errors import GraphError
from .edge import Edge
from .function_node import FunctionNode
from .graph import Graph
from .graph_run import GraphRun
from .nodes import DEFAULT_ROUTE, START, JoinNode, ParallelWorker


class Workflow(BaseNode):
    """A graph of nodes that runs as one (FEATURES A.25).

    It can be the root of an app, a node of another workflow, and a sub-agent of a shell agent.

    Attributes:
      edges: edges, and chains of nodes such as `(START, a, (b, c), join)` and `(a, {"yes": b})`.
      max_concurrency: how many of its nodes run at once; any number where None.
      graph: the graph that the edges make; None without edges, and the workflow does nothing.

    Raises:
      GraphError: the graph cannot work; the message names the edge or the node.
      StateSchemaError: a function's parameter is not in the state schema.
    """

    runs_graph: ClassVar[bool] = True
    kind_name: ClassVar[str] = "Workflow"

    rerun_on_resume: bool = True
    edges: SkipValidation[list[Any]] = []
    max_concurrency: int | None = None
    graph: SkipValidation[Graph | None] = None

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)
        if self.graph is None and self.edges:
            self.graph = Graph.of(self.name, self.edges)
        if self.max_concurrency is not None and self.max_concurrency < 0:
            raise GraphError(
                f"Workflow {self.name!r}: max_concurrency is {self.max_concurrency}; give the "
                "number of nodes that may run at once, or None."
            )
        if self.state_schema is not None:
            for one in self.nodes_within:
                if isinstance(one, FunctionNode) and one.state_schema is None:
                    one.check_state(self.state_schema)

    @property
    def nodes_within(self) -> list[BaseNode]:
        """The nodes of the graph, without START."""
        return [one for one in self.graph.nodes if one is not START] if self.graph else []

    def to_mermaid(self) -> str:
        """Return the graph as text in Mermaid's language, for diagrams."""
        return to_mermaid(self)

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        run = ctx.node_run
        run.author = ctx.event_author = self.name
        if self.graph is None:
            return
        graph_run = GraphRun(self.graph, run, self.max_concurrency)
        async with Aclosing(graph_run.run_events(node_input)) as events:
            async for event in events:
                yield event


def edges_within(node: BaseNode) -> list[Edge]:
    """Return the edges of a node's graph, or an empty list if it has no graph."""
    return node.graph.edges if isinstance(node, Workflow) and node.graph is not None else []


def to_mermaid(workflow: Any) -> str:
    """Return a workflow's graph as a Mermaid flowchart; graphs within it are boxes.

    Args:
      workflow: a node with a graph.
    """
    lines = ["flowchart TD", *_draw_graph(workflow, "", "  ")]
    return "\n".join(lines) + "\n"


def _draw_graph(workflow: Any, prefix: str, indent: str) -> list[str]:
    if workflow.graph is None:
        return []
    lines = [indent + _draw_node(one, prefix) for one in workflow.graph.nodes if not one.runs_graph]
    for one in workflow.nodes_within:
        if one.runs_graph:
            lines.append(f'{indent}subgraph {prefix}{one.name}["{one.name}"]')
            lines += _draw_graph(one, f"{prefix}{one.name}.", indent + "  ")
            lines.append(f"{indent}end")
    lines += [indent + _draw_edge(edge, prefix) for edge in workflow.graph.edges]
    return lines


def _draw_node(one: BaseNode, prefix: str) -> str:
    name = _node_id(one, prefix)
    if one is START:
        return f"{name}([START])"
    if isinstance(one, JoinNode):
        return f'{name}{{{{"{one.name}"}}}}'
    if isinstance(one, ParallelWorker) or getattr(one, "parallel_worker", False):
        return f'{name}[["{one.name}"]]'
    return f'{name}["{one.name}"]'


def _draw_edge(edge: Edge, prefix: str) -> str:
    source, target = _node_id(edge.from_node, prefix), _node_id(edge.to_node, prefix)
    if edge.routes is None or edge.from_node is START:
        return f"{source} --> {target}"
    label = ", ".join("otherwise" if r == DEFAULT_ROUTE else _escape_label(r) for r in edge.routes)
    return f'{source} -->|"{label}"| {target}'


def _node_id(one: BaseNode, prefix: str) -> str:
    return f"{prefix}{one.name}" if one is not START else f"{prefix}START"


def _escape_label(route: object) -> str:
    return str(route).replace('"', "#quot;").replace("|", "#124;")
