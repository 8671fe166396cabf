"""Calls that the user has decided and whose agent's loop does not run: it ended, or is skipped."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from .... import types
from ...._aclosing import Aclosing
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....models.llm_request import LlmRequest
from ....sessions.log.call_requests import find_decision, kind_of, unfinished_decisions
from ....sessions.log.resume import SEALED, OpenCall, open_calls
from ....tools.function_tool import make_rejection
from .. import auth_preprocessor, request_confirmation


def has_calls_to_finish(ctx: InvocationContext) -> bool:
    """Return whether calls of this agent are left to run: the user has decided them, or an agent
    that it called has not ended."""
    here = (ctx.agent.name, ctx.branch)
    waiting = open_calls(ctx.log, ctx.invocation_id, ctx.branch)
    if any(not one.long_running and one.record.author == ctx.agent.name for one in waiting):
        return True
    decided = unfinished_decisions(ctx.log, ctx.invocation_id)
    return any((one.record.author, one.record.branch) == here for one in decided)


def note_silent_calls(ctx: InvocationContext) -> None:
    """Note the decided long-running calls without a response, which do not run again.

    Without a journal it is not known that they have begun: such a tool may return nothing.

    Args:
      ctx: a run that resumes an invocation without a new message.
    """
    if ctx.run_state.journal is None:
        decided = unfinished_decisions(ctx.log, ctx.invocation_id)
        silent = (one.call_id for one in decided if one.long_running)
        ctx.run_state.silent_call_ids.update(silent)


async def run_decided_calls(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Run the calls of an agent that the user's message decides, and call no model.

    Args:
      ctx: a run of the agent that made the calls.

    Yields:
      As the processors of the agent's loop.
    """
    for processor in (request_confirmation.request_processor, auth_preprocessor.request_processor):
        async with Aclosing(processor.run_async(ctx, LlmRequest())) as events:
            async for event in events:
                yield event


def close_decided_calls(ctx: InvocationContext, reason: str) -> list[Event]:
    """Return responses to the calls, on a run's branch and below, that the user has decided and
    that will not run.

    Args:
      ctx: the run.
      reason: why they do not run.
    """
    return [
        _close_call(ctx, call, reason)
        for call in unfinished_decisions(ctx.log, ctx.invocation_id)
        if kind_of(call.name) == "result" and _is_below(call.record.branch, ctx.branch)
    ]


def _is_below(own: str | None, branch: str | None) -> bool:
    return branch is None or own == branch or (own or "").startswith(f"{branch}.")


def _close_call(ctx: InvocationContext, call: OpenCall, reason: str) -> Event:
    record, decision = call.record, find_decision(ctx.log, call.call_id)
    response = {"error": reason}
    if decision is not None and not decision[0].confirmed:
        response = make_rejection(decision[0])
    given = types.FunctionResponse(id=call.call_id, name=call.name, response=response)
    return Event(
        invocation_id=ctx.invocation_id,
        author=record.author,
        branch=record.branch,
        isolation_scope=record.scope,
        node_info=record.place(),
        content=types.Content(role="user", parts=[types.Part(function_response=given)]),
        custom_metadata={SEALED: True} if call.long_running else None,
    )
