"""AgentConfig: what any agent's file may say. Its JSON schema is the one that editors take."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import Discriminator, RootModel, Tag

from .base_agent_config import BaseAgentConfig
from .llm_agent_config import LlmAgentConfig
from .loop_agent_config import LoopAgentConfig
from .parallel_agent_config import ParallelAgentConfig
from .sequential_agent_config import SequentialAgentConfig

_KNOWN = ("LlmAgent", "LoopAgent", "ParallelAgent", "SequentialAgent")


def agent_config_discriminator(v: Any) -> str:
    """Return which kind of settings a file holds.

    Args:
      v: the file's fields.

    Raises:
      ValueError: it holds no fields.
    """
    if isinstance(v, BaseAgentConfig):
        said = v.agent_class
    elif isinstance(v, dict):
        said = str(cast("dict[str, Any]", v).get("agent_class") or "LlmAgent")
    else:
        raise ValueError(f"Invalid agent config: {v!r:.80}")
    return said if said in _KNOWN else "BaseAgent"


ConfigsUnion = Annotated[
    Annotated[LlmAgentConfig, Tag("LlmAgent")]
    | Annotated[LoopAgentConfig, Tag("LoopAgent")]
    | Annotated[ParallelAgentConfig, Tag("ParallelAgent")]
    | Annotated[SequentialAgentConfig, Tag("SequentialAgent")]
    | Annotated[BaseAgentConfig, Tag("BaseAgent")],
    Discriminator(agent_config_discriminator),
]


class AgentConfig(RootModel[ConfigsUnion]):
    """The settings of any kind of agent in a file."""
