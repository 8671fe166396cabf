"""LoggingPlugin: prints what a run does, as it does it. For a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .. import types
from .._adk_mode import follows_adk
from ..context.context import Context as CallbackContext
from ..context.context import Context as ToolContext
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..tools.base_tool import BaseTool
from ._content_summary import shorten_text
from ._redaction import redact_value, redacted_text
from .base_plugin import BasePlugin

if TYPE_CHECKING:
    from ..context._ports import AgentLike

_GREY, _PLAIN = "\033[90m", "\033[0m"
_LONGEST_VALUE = 300


class LoggingPlugin(BasePlugin):
    """Prints a few lines for every hook of a run, with google-adk's labels (FEATURES row 158).

    Secrets are left out by the names of fields and by their look. Override `_log` to send the lines
    elsewhere.

    Args:
      name: unique among an app's plugins; begins each line.
    """

    def __init__(self, name: str = "logging_plugin") -> None:
        super().__init__(name)

    def _log(self, message: str) -> None:
        """Print one line, grey on a terminal and in programs for google-adk."""
        line = f"[{self.name}] {message}"
        print(f"{_GREY}{line}{_PLAIN}" if follows_adk() or sys.stdout.isatty() else line)

    def _say(self, what: str, details: dict[str, Any]) -> None:
        """Print a title and a line for each detail that is not None."""
        self._log(what)
        for label, value in details.items():
            if value is not None:
                self._log(f"   {label}: {value}")

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        ctx = invocation_context
        self._say(
            "🚀 USER MESSAGE RECEIVED",
            {
                "Invocation ID": ctx.invocation_id,
                "Session ID": ctx.session.id,
                "User ID": ctx.user_id,
                "App Name": ctx.app_name,
                "Root Agent": _agent_name(ctx),
                "User Content": _content(user_message),
                "Branch": ctx.branch or None,
            },
        )

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        ctx = invocation_context
        self._say(
            "🏃 INVOCATION STARTING",
            {"Invocation ID": ctx.invocation_id, "Starting Agent": _agent_name(ctx)},
        )

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        calls = [call.name for call in event.get_function_calls()]
        answers = [answer.name for answer in event.get_function_responses()]
        code = event.error_code
        self._say(
            "📢 EVENT YIELDED",
            {
                "Event ID": event.id,
                "Author": event.author,
                "Content": _content(event.content),
                "Final Response": event.is_final_response(),
                "Function Calls": calls or None,
                "Function Responses": answers or None,
                "Long Running Tools": sorted(event.long_running_tool_ids or ()) or None,
                "Error": f"{code}: {_text(event.error_message)}" if code else None,
            },
        )

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        ctx = invocation_context
        self._say(
            "✅ INVOCATION COMPLETED",
            {"Invocation ID": ctx.invocation_id, "Final Agent": _agent_name(ctx)},
        )

    async def before_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        branch = callback_context.get_invocation_context().branch
        self._say_agent("🤖 AGENT STARTING", callback_context, {"Branch": branch or None})

    async def after_agent_callback(
        self, *, agent: AgentLike, callback_context: CallbackContext
    ) -> types.Content | None:
        self._say_agent("🤖 AGENT COMPLETED", callback_context, {})

    def _say_agent(self, what: str, context: CallbackContext, details: dict[str, Any]) -> None:
        names = {"Agent Name": context.agent_name, "Invocation ID": context.invocation_id}
        self._say(what, {**names, **details})

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        system = llm_request.config.system_instruction
        shown = shorten_text(redacted_text(str(system)), 200) if system else None
        self._say(
            "🧠 LLM REQUEST",
            {
                "Model": llm_request.model or "default",
                "Agent": callback_context.agent_name,
                "System Instruction": shown and f"'{shown}'",
                "Available Tools": list(llm_request.tools_dict) or None,
            },
        )

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        self._say("🧠 LLM RESPONSE", {"Agent": callback_context.agent_name})
        if llm_response.error_code:
            self._log(f"   ❌ ERROR - Code: {llm_response.error_code}")
            self._log(f"   Error Message: {_text(llm_response.error_message)}")
        else:
            self._log(f"   Content: {_content(llm_response.content)}")
            if llm_response.partial:
                self._log(f"   Partial: {llm_response.partial}")
            if llm_response.turn_complete is not None:
                self._log(f"   Turn Complete: {llm_response.turn_complete}")
        usage = llm_response.usage_metadata
        if usage:
            self._log(
                f"   Token Usage - Input: {usage.prompt_token_count}, Output: "
                f"{usage.candidates_token_count}"
            )

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        self._say(
            "🧠 LLM ERROR", {"Agent": callback_context.agent_name, "Error": _text(str(error))}
        )

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        self._say_tool("🔧 TOOL STARTING", tool, tool_context, {"Arguments": _value(tool_args)})

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        self._say_tool("🔧 TOOL COMPLETED", tool, tool_context, {"Result": _value(result)})

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: Exception,
    ) -> dict[str, Any] | None:
        details = {"Arguments": _value(tool_args), "Error": _text(str(error))}
        self._say_tool("🔧 TOOL ERROR", tool, tool_context, details)

    def _say_tool(
        self, what: str, tool: BaseTool, context: ToolContext, details: dict[str, Any]
    ) -> None:
        names = {
            "Tool Name": tool.name,
            "Agent": context.agent_name,
            "Function Call ID": str(context.function_call_id),
        }
        self._say(what, {**names, **details})


def _agent_name(ctx: InvocationContext) -> str:
    return getattr(ctx.agent, "name", "Unknown")


def _content(content: types.Content | None) -> str:
    parts = (content.parts if content else None) or []
    return " | ".join(map(_part, parts)) or "None"


def _part(part: types.Part) -> str:
    if part.text:
        return f"text: '{shorten_text(redacted_text(part.text.strip()), 200)}'"
    if part.function_call:
        return f"function_call: {part.function_call.name}"
    if part.function_response:
        return f"function_response: {part.function_response.name}"
    return "code_execution_result" if part.code_execution_result else "other_part"


def _value(value: Any) -> str:
    """Return a dict in one line; a dict that is cut still ends with a brace."""
    text = str(redact_value(value)) if value else "{}"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}...}}"


def _text(text: str | None) -> str:
    return shorten_text(redacted_text(text or ""), _LONGEST_VALUE)
