"""The offline model in place of models that cannot be built, and what is said about it.

Only the command line does this; the library and the server raise.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent, within
from ..errors import ModelUnavailableError
from ..tools.agent_tool import AgentTool

_OFFLINE = "offline"


def llm_agents(root: BaseAgent) -> list[LlmAgent]:
    """Return the agents of a tree that call a model, those behind agent tools too."""
    return list(dict.fromkeys(_walk(root)))


def _walk(agent: BaseAgent) -> Iterator[LlmAgent]:
    if isinstance(agent, LlmAgent):
        yield agent
        for tool in agent.tools:
            if isinstance(tool, AgentTool) and isinstance(tool.agent, BaseAgent):
                yield from _walk(tool.agent)
    if isinstance(agent, NodeAgent):
        for one in within(agent.root_node):
            if isinstance(one, BaseAgent):
                yield from _walk(one)
    for sub_agent in agent.sub_agents:
        yield from _walk(sub_agent)


def use_model(root: BaseAgent, name: str) -> None:
    """Give every agent whose model is a name this name instead."""
    for agent in [a for a in llm_agents(root) if isinstance(a.named_model, str)]:
        agent.model = name


def stand_in(root: BaseAgent) -> dict[str, str]:
    """Put the offline model in place of every model that cannot be built.

    Returns:
      The models' names, each with the reason in a few words.
    """
    missing: dict[str, str] = {}
    replaced: list[LlmAgent] = []
    for agent in llm_agents(root):
        try:
            _ = agent.canonical_model
        except ModelUnavailableError as error:
            missing.setdefault(str(agent.named_model), error.reason or str(error))
            replaced.append(agent)
    for agent in replaced:
        agent.model = _OFFLINE
    return missing


def stand_in_line(missing: dict[str, str]) -> str:
    """Return the sentence that says so."""
    names = " and ".join(missing)
    reasons = "; ".join(dict.fromkeys(missing.values()))
    be = "is" if len(missing) == 1 else "are"
    return (
        f"{names} {be} not available ({reasons}): using the offline stand-in, a small rule-based "
        "model that is no intelligence."
    )
