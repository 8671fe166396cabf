"""ClientTools: tools of the client's page, offered to the agents of one run.

A call of such a tool ends the run; the client sends the result with its next request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import types
from ...agents.llm_agent import LlmAgent
from ...context.context import Context
from ...events.pending import Pending
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...plugins.base_plugin import BasePlugin
from ...tools.base_tool import BaseTool
from .input import Tool


class ClientTool(BaseTool):
    """A tool that the client runs.

    Args:
      declared: the client's declaration.
      called: the list to which the ids of calls are added.
    """

    repeatable = True

    def __init__(self, declared: Tool, called: list[str]) -> None:
        super().__init__(name=declared.name, description=declared.description, is_long_running=True)
        self._parameters = declared.parameters
        self._called = called

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._parameters or {"type": "object", "properties": {}},
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> None:
        """Record the call, which the client runs."""
        self._called.append(tool_context.function_call_id or "")


class ClientTools(BasePlugin):
    """Offers a client's tools to the agents that talk with the user.

    An agent's own tool takes precedence over one of the same name. Agents that run as tools or
    single-turn agents get none.

    Attributes:
      called: ids of the calls that the client has to run, in their order.
    """

    def __init__(self, declared: Sequence[Tool], session: str) -> None:
        super().__init__("ostinato_client_tools")
        self.called: list[str] = []
        self._tools = [ClientTool(one, self.called) for one in declared]
        self._session = session
        self._offered: set[str] = set()

    async def before_model_callback(
        self, *, callback_context: Context, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Add the tools to a request."""
        agent = callback_context.get_invocation_context().agent
        talks = isinstance(agent, LlmAgent) and agent.mode in (None, "chat")
        if talks and not callback_context.isolation_scope and self._is_here(callback_context):
            offered = [one for one in self._tools if one.name not in llm_request.tools_dict]
            llm_request.append_tools(offered)
            self._offered.update(one.name for one in offered)
        return None

    def is_client_call(self, pending: Pending) -> bool:
        """Return whether the client has to run a pending call, of this run or an earlier one."""
        return pending.kind == "result" and pending.tool in self._offered

    def _is_here(self, context: Context) -> bool:
        return context.session.id == self._session
