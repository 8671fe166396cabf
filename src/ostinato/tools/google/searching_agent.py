"""An agent that only searches with Google, as a tool: what it is told, and the tool. The agent
itself is made on the agents' floor; `google_search_agent_tool` is the public face.
"""

from __future__ import annotations

from typing import Any

from ...context._ports import AgentLike
from ..agent_tool import AgentTool

SEARCHING_AGENT: dict[str, Any] = {
    "name": "google_search_agent",
    "description": "An agent for performing Google search using the `google_search` tool",
    "instruction": (
        "You search with Google for other agents. Answer each query with the `google_search` "
        "tool: find what bears on it and say what you found."
    ),
}


class GoogleSearchAgentTool(AgentTool):
    """An agent that only searches, as a tool (Spec 2 §6.2).

    The grounding metadata of its answer goes into the state of the invocation, as
    `temp:_adk_grounding_metadata`, and onto what its caller's model says from then on, where the
    tool is called `google_search_agent`.

    Args:
      agent: the agent, such as `create_google_search_agent` makes.
    """

    def __init__(self, agent: AgentLike) -> None:
        super().__init__(agent, propagate_grounding_metadata=True)
