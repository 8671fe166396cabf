"""BasePlugin: hooks around everything a run does. Users derive from it; PluginManager calls it."""

from __future__ import annotations

from typing import Any

from .. import types
from ..context._ports import AgentLike
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool


class BasePlugin:
    """A plugin of an app (Spec 1 §14, FEATURES rows 157 to 161).

    Every hook may be a plain function or a coroutine function. None continues the run with the
    next plugin; any other answer replaces what comes next, and later plugins and the
    agent's own callbacks are not asked. Hooks run before the agent's callbacks of the same place.

    Args:
      name: unique among an app's plugins.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """See the user's message before it is stored; return another to replace it."""

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Prepare for a run; return content to answer with it and to run no agent."""

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """See an event before it is stored and yielded; return another to replace it."""

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Clean up after a run; the answer does not matter."""

    async def close(self) -> None:
        """Release what the plugin holds; called once, when the runner closes."""

    async def before_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        """Act before an agent runs; return content to answer with it instead of the agent."""

    async def after_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        """Act after an agent has run; return content to add it as another answer."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """See, or change in place, a request; return a response to answer without the model."""

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """See a response of the model; return another to replace it."""

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """See a model call fail; return a response to continue with it."""

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """See, or change in place, a tool's arguments; return a result to not run the tool."""

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """See a tool's result; return another to replace it."""

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        """See a tool fail; return a result to continue with it."""

    async def on_agent_error_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext, error: Exception
    ) -> None:
        """See an agent fail; the caller gets the error anyway."""

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """See a run fail; the caller gets the error anyway."""
