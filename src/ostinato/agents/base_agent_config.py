"""BaseAgentConfig: the settings of every agent's file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from ..agent_files.references import AgentRefConfig, CodeConfig


class BaseAgentConfig(BaseModel):
    """The settings of an agent in a file; a user's own class may have more fields.

    Attributes:
      agent_class: `LlmAgent`, another short name, or the dotted name of a class.
      name, description: see BaseAgent.
      sub_agents: the children, by file or dotted name.
      before_agent_callbacks, after_agent_callbacks: dotted names of functions.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    agent_class: str = Field(
        default="BaseAgent",
        description="LlmAgent, LoopAgent, ParallelAgent, SequentialAgent, or the dotted name of a "
        "class. LlmAgent by default.",
    )
    name: str = Field(description="Name of the agent, an identifier, unique in the tree.")
    description: str = Field(default="", description="What the agent can do.")
    sub_agents: list[AgentRefConfig] | None = Field(default=None, description="Its children.")
    before_agent_callbacks: list[CodeConfig] | None = Field(
        default=None, description="Functions that run before the agent."
    )
    after_agent_callbacks: list[CodeConfig] | None = Field(
        default=None, description="Functions that run after the agent."
    )
