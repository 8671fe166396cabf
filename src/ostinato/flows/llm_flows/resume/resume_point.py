"""The resume point of a run that was interrupted or waits for answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple

from ....context.invocation import InvocationContext
from ....models.llm_response import LlmResponse
from ....sessions.log.event_log import EventRecord
from ....sessions.log.resume import OpenCall, Resume, ResumePoint, open_calls
from ... import llm_flows
from ..tool_calls.call_journal import has_response


def consume_resume_point(ctx: InvocationContext, resume: Resume) -> ResumePoint:
    """Return the resume point of this agent and mark it as used."""
    resume_point = resume.take(ctx.agent.name, ctx.branch)
    if resume_point.kind == "code" and resume_point.record is not None:
        # Only the agent's executor knows whether it has to run this code.
        return resume_point._replace(
            kind=llm_flows.find_code_state(ctx, resume_point.record.event())
        )
    return resume_point


async def replay_response(record: EventRecord) -> AsyncGenerator[LlmResponse, None]:
    """Yield the model response that a stored event was made from."""
    yield LlmResponse(content=record.event().content)


class PendingCalls(NamedTuple):
    """The open calls of this agent, and what the next step does about them.

    Attributes:
      record: event with the calls to run; None if there are none.
      ids: ids of the calls to run.
      pauses: whether the step ends without a model call.
    """

    record: EventRecord | None
    ids: set[str]
    pauses: bool


_NO_CALLS = PendingCalls(None, set(), False)


def find_pending_calls(ctx: InvocationContext, resume_point: ResumePoint | None) -> PendingCalls:
    """Return this agent's open calls, and whether the step pauses for them."""
    if not ctx.is_resumable and not ctx.run_state.is_resumed:
        return _NO_CALLS
    waiting = open_calls(ctx.log, ctx.invocation_id, ctx.branch)
    left = [c for c in waiting if c.record.author == ctx.agent.name and _is_unfinished(ctx, c)]
    if left:
        record = left[-1].record
        return PendingCalls(record, {c.call_id for c in left if c.record is record}, True)
    if ctx.is_resumable and any(call.long_running for call in waiting):
        return PendingCalls(None, set(), True)
    # A run that is not resumable ends at a long-running call, and calls the model at its answer.
    resume = ctx.run_state.resume
    if resume_point is None or resume_point.kind != "calls" or resume is None:
        return _NO_CALLS
    if resume_point.record is not None and any(
        ctx.log.is_over(c) for c, _ in resume_point.record.calls
    ):
        return _NO_CALLS  # a resumed task has just finished
    return PendingCalls(None, set(), resume.is_newest(resume_point.record))


def _is_unfinished(ctx: InvocationContext, call: OpenCall) -> bool:
    """Return whether a call's tool has not run or not finished yet; a long-running one may wait.

    A call that ended with an interim result counts, because the log does not hold that yet.
    """
    if not call.long_running:
        return True
    row = None if ctx.run_state.journal is None else ctx.run_state.journal.row(call.call_id)
    return row is not None and (row.status != "finished" or has_response(row))
