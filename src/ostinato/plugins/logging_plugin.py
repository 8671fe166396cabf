"""LoggingPlugin: prints what a run does, as it does it. For a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .. import types
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool
from ._content_summary import content_line, shorten_text
from ._redaction import redact_value, redacted_text
from .base_plugin import BasePlugin

if TYPE_CHECKING:
    from ..context._ports import AgentLike

_GREY, _PLAIN = "\033[90m", "\033[0m"
_LONGEST_VALUE = 300


class LoggingPlugin(BasePlugin):
    """Prints a line or a few for every hook of a run (FEATURES row 158).

    Secrets are left out by the names of fields and by their look. Override `_log` to send the lines
    elsewhere.

    Args:
      name: unique among an app's plugins; begins each line.
    """

    def __init__(self, name: str = "logging_plugin") -> None:
        super().__init__(name)

    def _log(self, message: str) -> None:
        """Print one line, grey on a terminal."""
        line = f"[{self.name}] {message}"
        print(f"{_GREY}{line}{_PLAIN}" if sys.stdout.isatty() else line)

    def _say(self, what: str, **details: Any) -> None:
        self._log(what)
        for label, value in details.items():
            if value is not None:
                self._log(f"   {label.replace('_', ' ')}: {value}")

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        ctx = invocation_context
        self._say(
            "USER MESSAGE",
            invocation=ctx.invocation_id,
            session=ctx.session.id,
            user=ctx.user_id,
            app=ctx.app_name,
            content=content_line(user_message),
        )

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        ctx = invocation_context
        self._say("RUN STARTS", invocation=ctx.invocation_id, agent=ctx.agent.name)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        calls = [call.name for call in event.get_function_calls()]
        answers = [answer.name for answer in event.get_function_responses()]
        self._say(
            "EVENT",
            id=event.id,
            author=event.author,
            content=content_line(event.content),
            final=event.is_final_response(),
            partial=event.partial or None,
            calls=calls or None,
            responses=answers or None,
            long_running=sorted(event.long_running_tool_ids or ()) or None,
            error=event.error_code and f"{event.error_code}: {_text(event.error_message)}",
        )

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._say("RUN ENDS", invocation=invocation_context.invocation_id)

    async def before_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        branch = callback_context.get_invocation_context().branch
        self._say("AGENT STARTS", agent=agent.name, branch=branch)

    async def after_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        self._say("AGENT ENDS", agent=agent.name)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        system = llm_request.config.system_instruction
        self._say(
            "MODEL REQUEST",
            model=llm_request.model or "default",
            agent=callback_context.agent_name,
            system=repr(shorten_text(redacted_text(str(system)), 200)) if system else None,
            contents=len(llm_request.contents),
            tools=list(llm_request.tools_dict) or None,
        )

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        usage = llm_response.usage_metadata
        self._say(
            "MODEL RESPONSE",
            agent=callback_context.agent_name,
            content=content_line(llm_response.content),
            partial=llm_response.partial or None,
            error=llm_response.error_code
            and f"{llm_response.error_code}: {_text(llm_response.error_message)}",
            tokens=usage and f"{usage.prompt_token_count} in, {usage.candidates_token_count} out",
        )

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        self._say("MODEL ERROR", agent=callback_context.agent_name, error=_error(error))

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        self._say_tool("TOOL STARTS", tool, tool_context, arguments=_value(tool_args))

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        self._say_tool("TOOL ENDS", tool, tool_context, result=_value(result))

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        self._say_tool(
            "TOOL ERROR", tool, tool_context, arguments=_value(tool_args), error=_error(error)
        )

    def _say_tool(self, what: str, tool: BaseTool, context: ToolContext, **details: Any) -> None:
        self._say(
            what,
            tool=tool.name,
            agent=context.agent_name,
            call=context.function_call_id,
            **details,
        )


def _value(value: Any) -> str:
    return shorten_text(str(redact_value(value)), _LONGEST_VALUE)


def _text(text: str | None) -> str:
    return shorten_text(redacted_text(text or ""), _LONGEST_VALUE)


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {_text(str(error))}"
