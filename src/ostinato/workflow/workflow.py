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
from .mermaid import to_mermaid
from .nodes import START
from .run import GraphRun


class Workflow(BaseNode):
    """A graph of nodes that runs as one (FEATURES A.25).

    It can be the root of an app, a node of another workflow, and a sub-agent of a shell agent.

    Attributes:
      edges: edges, and chains of nodes such as `(START, a, (b, c), join)` and `(a, {"yes": b})`.
      max_concurrency: how many of its nodes run at once; any number where None.
      graph: the graph that the edges make.

    Raises:
      GraphError: the graph cannot work; the message names the edge or the node.
      StateSchemaError: a function's parameter is not in the state schema.
    """

    runs_graph: ClassVar[bool] = True

    rerun_on_resume: bool = True
    edges: SkipValidation[list[Any]] = []
    max_concurrency: int | None = None
    graph: SkipValidation[Graph | None] = None

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)
        if self.graph is None:
            if not self.edges:
                raise GraphError(
                    f"Workflow {self.name!r} has no edges: give it a chain that begins with START."
                )
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
        assert self.graph is not None
        graph_run = GraphRun(self.graph, run, self.max_concurrency)
        async with Aclosing(graph_run.events(node_input)) as events:
            async for event in events:
                yield event


def edges_within(node: BaseNode) -> list[Edge]:
    """Return the edges of a node's graph; none where it has no graph."""
    return node.graph.edges if isinstance(node, Workflow) and node.graph is not None else []
