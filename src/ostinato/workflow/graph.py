"""Graph: nodes and edges, checked when it is built, and laid out for running."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, PrivateAttr, SkipValidation

from ..context.node import BaseNode
from ..errors import GraphError
from .edge import Edge, Route, edges_of
from .nodes import DEFAULT_ROUTE, START, JoinNode, as_node


@dataclass(slots=True)
class Stop:
    """A node as the run of a graph sees it.

    Attributes:
      node: the node.
      joins: whether it waits for all nodes before it.
      before: names of the nodes before it, for a join.
      always: where an end of it leads, whatever its route.
      by_route: where it leads by route.
      default: where it leads where no route fits.
      last: whether nothing comes after it, so that its output is the graph's.
    """

    node: BaseNode
    joins: bool = False
    before: list[str] = field(default_factory=list[str])
    always: list[Stop] = field(default_factory=list["Stop"])
    by_route: dict[Route, list[Stop]] = field(default_factory=dict[Route, "list[Stop]"])
    default: list[Stop] = field(default_factory=list["Stop"])

    @property
    def last(self) -> bool:
        return not (self.always or self.by_route or self.default)

    def find_targets(self, route: Any) -> list[Stop] | None:
        """Return where an end with a route leads, or None if the route leads nowhere."""
        if not self.by_route and not self.default:
            return self.always
        routes = cast("list[Any]", route) if isinstance(route, list) else [route]
        chosen = [stop for one in routes for stop in self.by_route.get(one, ())]
        chosen = list({stop.node.name: stop for stop in chosen}.values())
        if not chosen:
            if not self.default and route not in (None, []):
                return None
            chosen = self.default
        return [*chosen, *self.always]


class Graph(BaseModel):
    """Nodes and the edges between them (FEATURES A.25).

    Attributes:
      nodes: all nodes, START first, in the order in which the edges name them.
      edges: the edges.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    nodes: SkipValidation[list[BaseNode]]
    edges: SkipValidation[list[Edge]]

    _start: Stop = PrivateAttr(default_factory=lambda: Stop(START))

    @classmethod
    def of(cls, workflow: str, edges: Iterable[Any]) -> Graph:
        """Build and check a graph.

        Args:
          workflow: name of what it is the graph of, for errors.
          edges: edges, and chains of nodes.

        Raises:
          GraphError: it cannot work; the message names the edge or the node.
        """
        made: dict[int, BaseNode] = {}
        kept: list[Any] = []

        def make_node(node_like: Any) -> BaseNode:
            if id(node_like) not in made:
                made[id(node_like)] = as_node(node_like)
                kept.append(node_like)  # so that no other object gets its id
            return made[id(node_like)]

        found: list[Edge] = []
        try:
            for element in edges:
                if isinstance(element, Edge):
                    found.append(element)
                elif isinstance(element, (tuple, list)):
                    found.extend(edges_of(cast(Sequence[Any], element), make_node))
                else:
                    raise GraphError(f"{element!r:.80} is neither an Edge nor a chain of nodes.")
            nodes: dict[int, BaseNode] = {}
            for edge in found:
                for one in (edge.from_node, edge.to_node):
                    nodes.setdefault(id(one), one)
            graph = cls(nodes=list(nodes.values()), edges=found)
            check_graph(graph)
        except GraphError as error:
            raise GraphError(f"Graph validation failed. {error} Workflow: {workflow!r}.") from None
        return graph

    @property
    def start(self) -> Stop:
        """Where a run of the graph begins."""
        if not self._start.always and not self._start.by_route:
            self._lay_out()
        return self._start

    def _lay_out(self) -> None:
        stops = {n.name: Stop(n, isinstance(n, JoinNode)) for n in self.nodes}
        stops[START.name] = self._start
        for edge in self.edges:
            source, target = stops[edge.from_node.name], stops[edge.to_node.name]
            if source.node.name not in target.before:
                target.before.append(source.node.name)
            routes = None if source is self._start else edge.routes
            if routes is None:
                source.always.append(target)
            for route in routes or ():
                if route == DEFAULT_ROUTE:
                    source.default.append(target)
                else:
                    source.by_route.setdefault(route, []).append(target)


def check_graph(graph: Graph) -> None:
    """Raise GraphError where a graph cannot work."""
    _check_names(graph)
    _check_edges(graph)
    _check_reach(graph)
    _check_cycles(graph)
    _check_types(graph)


def _check_names(graph: Graph) -> None:
    seen: dict[str, BaseNode] = {}
    for one in graph.nodes:
        if seen.setdefault(one.name, one) is not one:
            raise GraphError(
                f"Duplicate node names found: {one.name!r}. Two distinct nodes have this name: use "
                "the same object for one node, and other names for others."
            )
    if START.name not in seen:
        raise GraphError(
            f"START node (name: {START.name!r}) not found in graph nodes. No edge begins at it, so "
            "that nothing would ever run; let a chain begin with START."
        )


def _check_edges(graph: Graph) -> None:
    pairs: set[tuple[str, str]] = set()
    defaults: dict[str, Edge] = {}
    for edge in graph.edges:
        if edge.to_node.name == START.name:
            raise GraphError(f"START node must not have incoming edges. Edge {edge} is one.")
        pair = (edge.from_node.name, edge.to_node.name)
        if pair in pairs:
            raise GraphError(
                f"Duplicate edge found: from={pair[0]}, to={pair[1]}. Give one Edge a list of "
                "routes instead."
            )
        pairs.add(pair)
        routes = edge.routes
        if routes is None:
            continue
        if not routes:
            raise GraphError(f"Edge {edge} has an empty list of routes: it is never taken.")
        if DEFAULT_ROUTE in routes:
            if len(routes) > 1:
                raise GraphError(
                    f"Edge {edge} has DEFAULT_ROUTE beside other routes; it counts by itself only."
                )
            other = defaults.setdefault(edge.from_node.name, edge)
            if other is not edge:
                raise GraphError(f"Multiple DEFAULT_ROUTE edges found: {other} and {edge}.")


def _check_reach(graph: Graph) -> None:
    after: dict[str, list[str]] = {}
    for edge in graph.edges:
        after.setdefault(edge.from_node.name, []).append(edge.to_node.name)
    reached, left = {START.name}, [START.name]
    while left:
        for name in after.get(left.pop(), ()):
            if name not in reached:
                reached.add(name)
                left.append(name)
    lost = [one.name for one in graph.nodes if one.name not in reached]
    if lost:
        raise GraphError(
            f"The following nodes are unreachable from START: {lost}. Add an edge that leads to "
            "them, or leave them out."
        )


def _check_cycles(graph: Graph) -> None:
    """Look for cycles of edges that are always taken, without going down recursively."""
    after: dict[str, list[str]] = {}
    for edge in graph.edges:
        if edge.route is None:
            after.setdefault(edge.from_node.name, []).append(edge.to_node.name)
    done: set[str] = set()
    for first in after:
        way: list[str] = []
        on_way: set[str] = set()
        left = [(first, False)]
        while left:
            name, leaving = left.pop()
            if leaving:
                way.pop()
                on_way.discard(name)
                done.add(name)
                continue
            if name in on_way:
                cycle = " -> ".join([*way[way.index(name) :], name])
                raise GraphError(
                    f"Unconditional cycle detected: {cycle}. Cycles must include at least one "
                    "edge with a route, so that there is a way out."
                )
            if name in done:
                continue
            way.append(name)
            on_way.add(name)
            left.append((name, True))
            left.extend((target, False) for target in after.get(name, ()))


def _check_types(graph: Graph) -> None:
    for edge in graph.edges:
        given, wanted = edge.from_node.output_schema, edge.to_node.input_schema
        if isinstance(edge.to_node, JoinNode) or not _are_models(given, wanted):
            continue
        if not (issubclass(given, wanted) or issubclass(wanted, given)):
            raise GraphError(
                f"Schema mismatch on edge {edge}. Output schema {given.__name__} does not match "
                f"input schema {wanted.__name__}."
            )


def _are_models(*schemas: Any) -> bool:
    return all(isinstance(one, type) and issubclass(one, BaseModel) for one in schemas)
