"""The confirmation processor: runs or rejects calls as the user has answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from ... import types
from ..._aclosing import Aclosing
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...events.event import Event
from ...events.request_input import TOOL_QUESTION
from ...models.llm_request import LlmRequest
from ...sessions.log.confirmation_answers import read_confirmation
from ...tools.base_tool import BaseTool
from ...tools.base_toolset import BaseToolset
from ...tools.function_tool import make_rejection
from ._base_llm_processor import BaseLlmRequestProcessor
from .resume.user_answers import has_call_answers, is_answered, read_user_answers
from .tool_calls.answered_calls import execute_answered_calls
from .tool_calls.framework_calls import (
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    REQUEST_INPUT_FUNCTION_CALL_NAME,
    read_question_answer,
)

if TYPE_CHECKING:
    from ...auth.tool_confirmation import ToolConfirmation


class _RemovedTool(BaseTool):
    """Stands for a tool that the agent no longer has, in a call that the user has decided.

    Args:
      name: the tool's name.
    """

    in_doubt = "at_most_once"  # nothing can run the call again

    def __init__(self, name: str) -> None:
        super().__init__(name=name, description="")

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> dict[str, Any]:
        """Return the error of the call."""
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return make_rejection(confirmation)
        return {"error": f"Tool {self.name!r} is no longer available; the call did not run."}


class _RequestConfirmationLlmRequestProcessor(BaseLlmRequestProcessor):
    """Processes the user's answers to `adk_request_confirmation` (FEATURES row 147), and to
    questions that tools asked by `adk_request_input`."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Return whether the user's message answers a call."""
        return has_call_answers(invocation_context)

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Run the answered calls and yield their response event."""
        ctx = invocation_context
        calls: list[types.FunctionCall] = []
        confirmations: dict[str, ToolConfirmation] = {}
        for answer in read_user_answers(ctx, REQUEST_CONFIRMATION_FUNCTION_CALL_NAME):
            call = answer.original
            if call is None or not call.id or is_answered(call.id, answer.after):
                continue
            confirmations[call.id], edited = read_confirmation(answer.response)
            if edited is not None:
                call.args = edited
            calls.append(call)
        for answer in read_user_answers(ctx, REQUEST_INPUT_FUNCTION_CALL_NAME):
            call = answer.original
            # A model may ask the user, too; only what the runtime asked for a tool runs the tool.
            if call is None or not call.id or not answer.request.has_metadata(TOOL_QUESTION):
                continue
            if not is_answered(call.id, answer.after):
                confirmations[call.id] = read_question_answer(answer.response)
                calls.append(call)
        if not calls:
            return
        tools = await ctx.agent.canonical_tools(ReadonlyContext(ctx))
        by_name = {tool.name: tool for tool in tools}
        for one in calls:
            if not one.id or one.name in by_name:
                continue
            past = None if ctx.run_state.journal is None else ctx.run_state.journal.row(one.id)
            has_begun = past is not None and past.status != "state"
            if confirmations[one.id].confirmed and not has_begun:
                await _list_toolsets(ctx)
            by_name[one.name or ""] = _RemovedTool(one.name or "")
        async with Aclosing(
            execute_answered_calls(ctx, calls, by_name, confirmations, {})
        ) as events:
            async for response in events:
                yield response


async def _list_toolsets(ctx: InvocationContext) -> None:
    """List all toolsets, so that one that is down fails the run and the approval is not lost.

    Raises:
      Exception: a toolset cannot list its tools.
    """
    for toolset in ctx.agent.tools:
        if isinstance(toolset, BaseToolset):
            await toolset.get_tools_with_prefix(ReadonlyContext(ctx))


request_processor = _RequestConfirmationLlmRequestProcessor()
