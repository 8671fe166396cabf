"""The resume point of a run that was interrupted or waits for answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

from ....context.invocation import InvocationContext
from ....models.llm_response import LlmResponse
from ....sessions.log.event_log import EventRecord
from ....sessions.log.resume import OpenCall, Resume, ResumePoint, callers_of, open_calls
from ... import llm_flows
from ..delegation import find_silent_tasks
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
      groups: events with calls to run, and the ids of these; oldest first.
      pauses: whether the step ends without a model call.
    """

    groups: Sequence[tuple[EventRecord, set[str]]]
    pauses: bool


_NO_CALLS = PendingCalls((), False)


def find_pending_calls(ctx: InvocationContext, resume_point: ResumePoint | None) -> PendingCalls:
    """Return this agent's open calls, and whether the step pauses for them, or for tasks to which
    the user's message says nothing."""
    silent = find_silent_tasks(ctx) if ctx.log.unanswered else set[str]()
    if not ctx.is_resumable and not ctx.run_state.is_resumed:
        return PendingCalls((), bool(silent) or _waits_in_task(ctx))
    waiting = _list_waiting_calls(ctx)
    own = [c for c in waiting if c.record.author == ctx.agent.name]
    left = [c for c in own if c.call_id not in silent and _is_unfinished(ctx, c)]
    if left:
        newest = left[-1].record.id
        records = {
            c.record.id: c.record
            for c in left
            if c.record.id == newest or c.record.invocation_id != ctx.invocation_id
        }
        groups = [(r, {c.call_id for c in left if c.record is r}) for r in records.values()]
        return PendingCalls(sorted(groups, key=lambda one: one[0].timestamp), True)
    if silent:
        return PendingCalls((), True)
    if any(call.long_running for call in waiting):
        is_called = ctx.isolation_scope is not None and ctx.agent.mode != "chat"
        if ctx.is_resumable or is_called or (ctx.node_path and _has_answers(ctx)):
            return PendingCalls((), True)
    # A chat agent of an app that is not resumable calls its model at each answer. An agent that
    # was called would end by that, and no message could resume it for the answers to come.
    resume = ctx.run_state.resume
    if resume_point is None or resume_point.kind != "calls" or resume is None:
        return _NO_CALLS
    if resume_point.record is not None and any(
        ctx.log.is_over(c) for c, _ in resume_point.record.calls
    ):
        return _NO_CALLS  # a resumed task has just finished
    return PendingCalls((), resume.is_newest(resume_point.record))


def _waits_in_task(ctx: InvocationContext) -> bool:
    """Return whether the user says something to a task whose agent waits for answers to earlier
    requests: its own, or those of an agent that it called."""
    if ctx.agent.mode != "task" or ctx.isolation_scope is None or not ctx.log.has_long_running:
        return False
    return any(
        one.long_running and not ctx.log.is_over(one.record.scope)
        for one in _list_calls_of_task(ctx, below=True)
        if one.record.invocation_id != ctx.invocation_id
    )


def _list_calls_of_task(ctx: InvocationContext, *, below: bool = False) -> list[OpenCall]:
    """Return the open calls of a task's agent, each of which may be of another invocation.

    Args:
      ctx: the run of the agent.
      below: whether to return the calls of the agents that it called, too.
    """
    log, found = ctx.log, list[OpenCall]()
    here = (one for one in log.unanswered.values() if one.branch == ctx.branch)
    for invocation_id in dict.fromkeys(one.invocation_id for one in here):
        found += open_calls(log, invocation_id, ctx.branch, below=below)
    return found


def _has_answers(ctx: InvocationContext) -> bool:
    """Return whether the user has answered a call of this invocation. Until then, the agent of a
    node is asked again after its tools, as a chat agent is."""
    return any(r.author == "user" and r.responses for r in ctx.log.invocation(ctx.invocation_id))


def _list_waiting_calls(ctx: InvocationContext) -> list[OpenCall]:
    """Return the open calls on this agent's branch. A message may answer calls of an earlier
    invocation in a later one: one with an idempotency key, or one for several invocations. Then
    those of the called agents that it resumes count, too.
    """
    log, own = ctx.log, open_calls(ctx.log, ctx.invocation_id, ctx.branch)
    if not log.scopes or not ctx.run_state.is_resumed:
        return own
    scope = ctx.isolation_scope
    called = None if scope is None else log.find_call(scope)
    earlier: list[OpenCall] = []
    if called is None:
        earlier = _find_answered_agents(ctx)
    elif ctx.agent.mode == "task":
        earlier = _list_calls_of_task(ctx)
    elif ctx.agent.mode == "single_turn" and called.invocation_id != ctx.invocation_id:
        earlier = open_calls(log, called.invocation_id, ctx.branch)
    known = {call.call_id for call in own}
    return [c for c in earlier if c.call_id not in known] + own


def _find_answered_agents(ctx: InvocationContext) -> list[OpenCall]:
    """Return this agent's calls of agents in other invocations for which, or for agents that they
    called, the user's message has answers; with the tasks beside them, which run after them."""
    found: dict[str, OpenCall] = {}
    for part in (ctx.user_content and ctx.user_content.parts) or ():
        given = part.function_response
        around = [*callers_of(ctx.log, given.id or "")][1:] if given is not None else []
        asked, scope = around[-1] if around else (None, "")
        if asked is None or asked.scope is not None or scope not in ctx.log.unanswered:
            continue
        if asked.invocation_id == ctx.invocation_id:
            continue
        if (asked.author, asked.branch) == (ctx.agent.name, ctx.branch):
            for call, name in asked.calls:
                agent = ctx.agent.delegates.get(name) if call in ctx.log.unanswered else None
                if call and agent is not None and (call == scope or agent.mode == "task"):
                    found[call] = OpenCall(asked, call, name, False)
    return list(found.values())


def _is_unfinished(ctx: InvocationContext, call: OpenCall) -> bool:
    """Return whether a call's tool has not run or not finished yet; a long-running one may wait.

    A call that ended with an interim result counts, because the log does not hold that yet.
    """
    if not call.long_running:
        return True
    row = ctx.run_state.earlier_row(call.call_id)
    return row is not None and (row.status != "finished" or has_response(row))
