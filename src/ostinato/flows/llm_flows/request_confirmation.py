"""The confirmation processor: runs or rejects calls as the user has answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from ... import types
from ..._aclosing import Aclosing
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...events.event import Event
from ...events.request_input import TOOL_QUESTION
from ...models.llm_request import LlmRequest
from ...sessions.log.call_requests import answers_about, call_of, unfinished_decisions
from ...sessions.log.confirmation_answers import read_confirmation
from ...sessions.log.resume import OpenCall
from ...tools.base_toolset import BaseToolset
from ._base_llm_processor import BaseLlmRequestProcessor
from .resume.user_answers import has_call_answers, is_answered, read_user_answers
from .tool_calls.answered_calls import execute_answered_calls, find_confirmation
from .tool_calls.call_origins import RemovedTool, find_removed
from .tool_calls.framework_calls import (
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    REQUEST_INPUT_FUNCTION_CALL_NAME,
    read_question_answer,
)
from .tool_calls.request_tools import find_answered_tools

if TYPE_CHECKING:
    from ...auth.tool_confirmation import ToolConfirmation


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
        calls, confirmations = _find_decided_calls(ctx)
        if not calls:
            return
        wanted = {one.name or "" for one in calls if one.id and confirmations[one.id].confirmed}
        by_name = await find_answered_tools(ctx, wanted)
        removed = find_removed(ctx, calls, by_name)
        for one in calls:
            if not one.id or (one.name in by_name and one.id not in removed):
                continue
            past = ctx.run_state.earlier_row(one.id)
            has_begun = past is not None and past.status != "state"
            if confirmations[one.id].confirmed and not has_begun:
                await _list_toolsets(ctx)
            by_name.setdefault(one.name or "", RemovedTool(one.name or ""))
        async with Aclosing(
            execute_answered_calls(ctx, calls, by_name, confirmations, {})
        ) as events:
            async for response in events:
                yield response


def _find_decided_calls(
    ctx: InvocationContext,
) -> tuple[list[types.FunctionCall], dict[str, ToolConfirmation]]:
    """Return the calls of this agent that the user has decided, and the decisions by call id."""
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
    for call, confirmation in _find_earlier_decisions(ctx):
        if call.id and call.id not in confirmations:
            confirmations[call.id] = confirmation
            calls.append(call)
    silent = ctx.run_state.silent_call_ids
    return [call for call in calls if call.id not in silent], confirmations


def _find_earlier_decisions(
    ctx: InvocationContext,
) -> list[tuple[types.FunctionCall, ToolConfirmation]]:
    """Return the calls of this agent that earlier messages decided and that have not run: at those
    messages the agent was not resumed, or an error ended its run."""
    found: list[tuple[types.FunctionCall, ToolConfirmation]] = []
    for one in unfinished_decisions(ctx.log, ctx.invocation_id):
        record = one.record
        if (record.author, record.branch) != (ctx.agent.name, ctx.branch):
            continue
        if record.invocation_id != ctx.invocation_id or _may_have_begun(ctx, one):
            continue
        call = call_of(record, one.call_id)
        confirmation = find_confirmation(ctx, one.call_id, record)
        if call is not None and confirmation is not None:
            found.append((call, confirmation))
    return found


def _may_have_begun(ctx: InvocationContext, call: OpenCall) -> bool:
    """Return whether the tool of a decided call without a response may have begun: a long-running
    tool may return nothing.

    A message with an idempotency key runs the call in an invocation of its own, whose journal this
    run does not see.
    """
    if not call.long_running:
        return False
    journal = ctx.run_state.journal
    if journal is None or journal.earlier_row(call.call_id) is not None:
        return True
    newest = next(answers_about(ctx.log, call.call_id), None)
    return newest is not None and newest.invocation_id != ctx.invocation_id


async def _list_toolsets(ctx: InvocationContext) -> None:
    """List all toolsets, so that one that is down fails the run and the approval is not lost.

    Raises:
      Exception: a toolset cannot list its tools.
    """
    for toolset in ctx.agent.tools:
        if isinstance(toolset, BaseToolset):
            await toolset.get_tools_with_prefix(ReadonlyContext(ctx))


request_processor = _RequestConfirmationLlmRequestProcessor()
