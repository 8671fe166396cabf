"""transfer_to_agent: hands the conversation to another agent. The flow offers it with the names."""

from __future__ import annotations

from typing import Any

from .. import types
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from .function_tool import FunctionTool
from .model_mistake import ModelMistake


def transfer_to_agent(agent_name: str, tool_context: ToolContext) -> None:
    """Hand the conversation over to another agent.

    Use it when the description of another agent fits the user's question better than your own
    does. That agent then answers the user.

    Args:
      agent_name: name of the agent to hand over to.
    """
    tool_context.actions.transfer_to_agent = agent_name


class TransferToAgentTool(FunctionTool):
    """`transfer_to_agent` with the names the model may choose from (Spec 2 §8.1, FEATURES row 150).

    Another name is the model's mistake; the answer lists the valid names.

    Args:
      agent_names: names of the agents that a transfer may go to.
    """

    repeatable = True

    def __init__(self, agent_names: list[str]) -> None:
        super().__init__(transfer_to_agent)
        self._agent_names = agent_names

    def _declare(self) -> types.FunctionDeclaration:
        declaration = super()._declare()
        schema: Any = declaration.parameters_json_schema
        schema["properties"]["agent_name"]["enum"] = list(self._agent_names)
        return declaration

    async def _call(self, values: dict[str, Any], ctx: InvocationContext | None) -> Any:
        wanted = values["agent_name"]
        if wanted not in self._agent_names:
            return ModelMistake(
                error=f"Cannot transfer to agent {wanted!r:.100}. You can transfer to: "
                f"{', '.join(self._agent_names)}. Call the tool again with one of these names, or "
                "answer yourself."
            )
        # One assignment needs no worker thread.
        return transfer_to_agent(**values)
