"""Digest of an agent tree; an invocation resumes only under the same digest."""

from __future__ import annotations

import hashlib
import json

from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent, iterate_nodes
from ..tools.base_tool import BaseTool
from ..workflow.workflow import edges_within
from .routing.agent_choice import agents_below


def tree_digest(root: BaseAgent) -> str:
    """Return a digest of names, kinds and parents of all agents, and names of their tools.

    Prompts, models and the tools of toolsets do not count: they may change.
    """
    described = [
        [
            agent.name,
            type(agent).__name__,
            agent.parent_agent.name if agent.parent_agent is not None else None,
            sorted(_tool_names(agent)),
            *_describe_graph(agent),
        ]
        for agent in agents_below(root)
    ]
    text = json.dumps(described, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _describe_graph(agent: BaseAgent) -> list[list[str]]:
    """Describe the graphs that an agent runs: their nodes and edges."""
    if not isinstance(agent, NodeAgent):
        return []
    return [
        [one.name, type(one).__name__, *(str(edge) for edge in edges_within(one))]
        for one in iterate_nodes(agent.root_node)
    ]


def _tool_names(agent: BaseAgent) -> list[str]:
    if not isinstance(agent, LlmAgent):
        return []
    called = [f"{name} ({called.mode})" for name, called in agent.delegates.items()]
    return called + [
        tool.name if isinstance(tool, BaseTool) else getattr(tool, "__name__", "")
        for tool in agent.tools
    ]
