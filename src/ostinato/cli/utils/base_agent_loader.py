"""Port through which a server finds its agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ...apps.app import App
from ...context.node import BaseNode


class BaseAgentLoader(ABC):
    """Finds agents by name."""

    @abstractmethod
    def load_agent(self, agent_name: str) -> BaseNode | App:
        """Return an agent, a workflow or an App.

        Args:
          agent_name: the name under which the agent is served.

        Raises:
          ValueError: there is no such agent.
        """

    @abstractmethod
    def list_agents(self) -> list[str]:
        """Return the names of the agents, sorted."""

    def list_agents_detailed(self) -> list[dict[str, Any]]:
        """Return a dict for each agent; without an override, all but its name is None."""
        return [
            {"name": name, "display_name": None, "description": None, "type": None}
            for name in self.list_agents()
        ]
