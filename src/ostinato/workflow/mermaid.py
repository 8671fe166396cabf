"""A graph as text in Mermaid's language, which many viewers draw."""

from __future__ import annotations

from typing import Any

from ..context.node import BaseNode
from .edge import Edge
from .join_node import JoinNode
from .nodes import DEFAULT_ROUTE, START
from .parallel_worker import ParallelWorker


def to_mermaid(workflow: Any) -> str:
    """Return a workflow's graph as a Mermaid flowchart; graphs within it are boxes.

    Args:
      workflow: a node with a graph.
    """
    lines = ["flowchart TD", *_graph(workflow, "", "  ")]
    return "\n".join(lines) + "\n"


def _graph(workflow: Any, prefix: str, indent: str) -> list[str]:
    lines = [indent + _shape(one, prefix) for one in workflow.graph.nodes if not one.runs_graph]
    for one in workflow.nodes_within:
        if one.runs_graph:
            lines.append(f'{indent}subgraph {prefix}{one.name}["{one.name}"]')
            lines += _graph(one, f"{prefix}{one.name}.", indent + "  ")
            lines.append(f"{indent}end")
    lines += [indent + _arrow(edge, prefix) for edge in workflow.graph.edges]
    return lines


def _shape(one: BaseNode, prefix: str) -> str:
    name = _id(one, prefix)
    if one is START:
        return f"{name}([START])"
    if isinstance(one, JoinNode):
        return f'{name}{{{{"{one.name}"}}}}'
    if isinstance(one, ParallelWorker) or getattr(one, "parallel_worker", False):
        return f'{name}[["{one.name}"]]'
    return f'{name}["{one.name}"]'


def _arrow(edge: Edge, prefix: str) -> str:
    source, target = _id(edge.from_node, prefix), _id(edge.to_node, prefix)
    if edge.routes is None or edge.from_node is START:
        return f"{source} --> {target}"
    label = ", ".join("otherwise" if r == DEFAULT_ROUTE else _text(r) for r in edge.routes)
    return f'{source} -->|"{label}"| {target}'


def _id(one: BaseNode, prefix: str) -> str:
    return f"{prefix}{one.name}" if one is not START else f"{prefix}START"


def _text(route: object) -> str:
    return str(route).replace('"', "#quot;").replace("|", "#124;")
