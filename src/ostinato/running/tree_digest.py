"""Digest of an agent tree: what has to be the same for an invocation to go on where it stopped."""

from __future__ import annotations

import hashlib
import json

from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..tools.base_tool import BaseTool
from .agent_choice import agents_below


def tree_digest(root: BaseAgent) -> str:
    """Return a digest of names, kinds and parents of all agents, and names of their tools.

    Prompts, models and the tools that toolsets list do not count: they may change in between.
    """
    described = [
        [
            agent.name,
            type(agent).__name__,
            agent.parent_agent.name if agent.parent_agent is not None else None,
            sorted(_tool_names(agent)),
        ]
        for agent in agents_below(root)
    ]
    text = json.dumps(described, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _tool_names(agent: BaseAgent) -> list[str]:
    if not isinstance(agent, LlmAgent):
        return []
    return [
        tool.name if isinstance(tool, BaseTool) else getattr(tool, "__name__", "")
        for tool in agent.tools
    ]
