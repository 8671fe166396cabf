"""What a model was given by the app: instructions and tools of each agent."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from .eval_base_model import EvalBaseModel


class AgentDetails(EvalBaseModel):
    """One agent of the app.

    Attributes:
      name: the agent's name.
      instructions: the system instruction of its first request.
      tool_declarations: the tools of its first request, as `types.Tool` or its JSON.
    """

    name: str
    instructions: str = ""
    tool_declarations: list[Any] = Field(default_factory=list[Any])


class AppDetails(EvalBaseModel):
    """The agents that answered in an invocation.

    Attributes:
      agent_details: details by the agent's name.
    """

    agent_details: dict[str, AgentDetails] = Field(default_factory=dict[str, AgentDetails])

    def get_developer_instructions(self, agent_name: str) -> str:
        """Return the instructions of an agent.

        Args:
          agent_name: the agent.

        Raises:
          ValueError: there is no agent of this name.
        """
        if agent_name not in self.agent_details:
            known = ", ".join(map(repr, self.agent_details)) or "none"
            raise ValueError(f"There are no details of agent {agent_name!r}; known: {known}.")
        return self.agent_details[agent_name].instructions

    def get_tools_by_agent_name(self) -> dict[str, list[Any]]:
        """Return the tools of each agent, by the agent's name."""
        return {name: one.tool_declarations for name, one in self.agent_details.items()}
