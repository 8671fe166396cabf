"""The offline model as a stand-in for models whose key is missing, and the notice about it.

`ostinato run` and `ostinato web` use it; the library and `ostinato serve` raise an error instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent, iterate_nodes
from ..errors import ModelUnavailableError
from ..models.providers import provider_of
from ..models.registry import LLMRegistry, check_model
from ..tools.agent_tool import AgentTool
from .setup_error import SetupError

_OFFLINE = "offline"


def llm_agents(root: BaseAgent) -> list[LlmAgent]:
    """Return the agents of a tree that call a model, including those behind agent tools."""
    return list(dict.fromkeys(_walk_agents(root)))


def _walk_agents(agent: BaseAgent) -> Iterator[LlmAgent]:
    if isinstance(agent, LlmAgent):
        yield agent
        for tool in agent.tools:
            if isinstance(tool, AgentTool) and isinstance(tool.agent, BaseAgent):
                yield from _walk_agents(tool.agent)
    if isinstance(agent, NodeAgent):
        for one in iterate_nodes(agent.root_node):
            if isinstance(one, BaseAgent):
                yield from _walk_agents(one)
    for sub_agent in agent.sub_agents:
        yield from _walk_agents(sub_agent)


def use_model(root: BaseAgent, name: str) -> None:
    """Replace the model of every agent that names its model by a string."""
    for agent in [a for a in llm_agents(root) if isinstance(a.named_model, str)]:
        agent.model = name


def check_agent_model(agent: LlmAgent) -> None:
    """Raise ModelUnavailableError if an agent's model cannot be used here."""
    _ = agent.canonical_model
    if isinstance(agent.named_model, str):
        check_model(agent.named_model)


def require_known_model(name: str, where: str) -> None:
    """Check that a provider or a class serves a model's name, whether or not its key is there.

    Args:
      name: the model's name.
      where: who names it, for the error.

    Raises:
      SetupError: nothing serves the name.
    """
    try:
        LLMRegistry.resolve(name)
    except ModelUnavailableError as error:
        raise SetupError(f"{where}: {error}", missing=True) from error


def stand_in(root: BaseAgent) -> dict[str, str]:
    """Replace every model whose provider lacks its key or SDK by the offline model.

    Returns:
      The reason by name of the replaced model.

    Raises:
      SetupError: an agent names a model that nothing serves.
    """
    missing: dict[str, str] = {}
    replaced: list[LlmAgent] = []
    for agent in llm_agents(root):
        try:
            check_agent_model(agent)
        except ModelUnavailableError as error:
            if isinstance(agent.named_model, str):
                require_known_model(agent.named_model, f"Agent {agent.name!r}")
            missing.setdefault(str(agent.named_model), error.reason or str(error))
            replaced.append(agent)
    for agent in replaced:
        agent.model = _OFFLINE
    return missing


def stand_in_notice(missing: dict[str, str]) -> str:
    """Return the notice about the stand-in, and what to set to use the real models."""
    found = [known[0] for known in map(provider_of, missing) if known is not None]
    keys = dict.fromkeys(" or ".join(one.keys) for one in found if not one.has_login)
    remedy = (
        f"To use the model, set {' and '.join(keys)} in the agent's .env file, or in the "
        "environment before the start."
        if keys
        else "`ostinato doctor` says what is missing."
    )
    return f"{stand_in_line(missing)} {remedy}"


def stand_in_line(missing: dict[str, str]) -> str:
    """Return the sentence that names the replaced models and the reasons."""
    names = " and ".join(missing)
    reasons = "; ".join(dict.fromkeys(missing.values()))
    be = "is" if len(missing) == 1 else "are"
    return (
        f"{names} {be} not available ({reasons}): using the offline stand-in, a small rule-based "
        "program, not a language model."
    )
