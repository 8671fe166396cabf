"""Tasks: calls of agents in mode `task`, from the call to its answer, over several user turns.

The loop runs the tasks of a response; the runner resumes open ones. A task is open while the log
holds a call of this agent without an answer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, cast

from ... import types
from ..._aclosing import Aclosing
from ...context.context import Context
from ...context.delegation import in_scope, make_delegated_context
from ...context.invocation import InvocationContext
from ...errors import AgentConfigError
from ...events.event import Event, NodeInfo
from ...models.invalid_args import INVALID_ARGS_KEY
from ...sessions.log.call_requests import find_asking_call, unfinished_decisions
from ...sessions.log.event_log import (
    FINISH_TASK,
    REWIND,
    TASK_ANSWER,
    EventLog,
    EventRecord,
    visible_indexes,
)
from ...sessions.log.resume import callers_of
from ...sessions.log.word_readers import read_word_scopes
from ...tools.model_mistake import ModelMistake
from ...tools.task_tool import TaskTool, wrong_input
from .tool_calls.call_decisions import note_decisions
from .tool_calls.call_policies import find_gate, find_restricting

Run = Callable[[InvocationContext], AsyncGenerator[Event, None]]

_NOT_STARTED = "The task was not started because the run ended in the same response."


def find_task_calls(
    ctx: InvocationContext, event: Event, ids: set[str] | None = None
) -> list[types.FunctionCall]:
    """Return the calls of an event that hand a task to a sub-agent.

    Args:
      ctx: the run.
      event: the event with the calls.
      ids: ids of the calls to consider; None for all.
    """
    delegates = ctx.agent.delegates
    return [
        call
        for call in event.get_function_calls()
        if (ids is None or call.id in ids)
        and (agent := delegates.get(call.name or "")) is not None
        and agent.mode == "task"
    ]


def find_other_calls(
    event: Event, tasks: Sequence[types.FunctionCall], ids: set[str] | None = None
) -> set[str]:
    """Return the ids of the calls of an event that are not among these tasks."""
    handed = {call.id for call in tasks}
    return {
        call.id or ""
        for call in event.get_function_calls()
        if call.id not in handed and (ids is None or call.id in ids)
    }


def find_open_tasks(ctx: InvocationContext) -> Iterator[tuple[EventRecord, str, str]]:
    """Yield record, call id and agent name of each open task of this agent."""
    delegates = ctx.agent.delegates
    for record, call_id, name in _find_open_calls(ctx) if delegates else ():
        if delegates[name].mode == "task":
            yield record, call_id, name


def is_waiting(ctx: InvocationContext) -> bool:
    """Return whether this agent's run has to wait for an agent that it called."""
    if not ctx.agent.delegates:
        return False
    for record, _, name in _find_open_calls(ctx):
        # A single-turn agent blocks only the invocation that called it.
        if ctx.agent.delegates[name].mode == "task" or record.invocation_id == ctx.invocation_id:
            return True
    return False


def find_silent_tasks(ctx: InvocationContext) -> set[str]:
    """Return the calls of this agent's open tasks to which the user's message says nothing, because
    it answers other calls of the agent. They wait, and so does the agent's model."""
    return {call for record, call, _ in find_open_tasks(ctx) if _is_passed_over(ctx, record)}


def is_done(ctx: InvocationContext) -> bool:
    """Return whether this agent has finished its task."""
    if ctx.agent.mode != "task":
        return False
    return ctx.log.scopes.get(ctx.isolation_scope or "") is not None


def check_transfer(ctx: InvocationContext, target: Any) -> None:
    """Raise AgentConfigError if a transfer leads to an agent that is called like a tool."""
    mode = getattr(target, "mode", None)
    if mode in ("task", "single_turn"):
        raise AgentConfigError(
            f"Agent {ctx.agent.name!r} transferred to agent {target.name!r} of mode {mode!r}, "
            "which is called like a tool. Call it instead, or set its mode to 'chat'."
        )


def _find_open_calls(ctx: InvocationContext) -> list[tuple[EventRecord, str, str]]:
    log, agent = ctx.log, ctx.agent
    return [
        (record, call_id, name)
        for call_id, record in log.unanswered.items()
        if _is_own_record(ctx, record) and call_id is not None
        for name in (next(name for call, name in record.calls if call == call_id),)
        if name in agent.delegates and not is_rewound(log, record)
    ]


def _is_own_record(ctx: InvocationContext, record: EventRecord) -> bool:
    """Return whether a record is of the agent of a run, in its place."""
    if record.author != ctx.agent.name or record.branch != ctx.branch:
        return False
    if record.scope != ctx.isolation_scope:
        return False
    return not ctx.node_path or record.path == ctx.node_path


def is_rewound(log: EventLog, record: EventRecord) -> bool:
    """Return whether a rewind hides a record."""
    for index in range(len(log.records) - 1, -1, -1):
        if log.records[index] is record:
            return False
        if log.records[index].kinds & REWIND:
            return all(log.records[i] is not record for i in visible_indexes(log))
    return True


async def run_after_tasks(ctx: InvocationContext, run: Run) -> AsyncGenerator[Event, None]:
    """Resume an agent's open tasks; if none waits for the user, run the agent.

    Args:
      ctx: the agent's context.
      run: starts the agent.
    """
    async with Aclosing(resume_tasks(ctx)) as events:
        async for event in events:
            yield event
    first = next(find_open_tasks(ctx), None)
    if first is not None and not _is_resumed_by_loop(ctx, first[0]):
        return
    async with Aclosing(run(ctx)) as events:
        async for event in events:
            yield event


async def resume_tasks(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Resume this agent's open tasks in order, up to one that waits for the user."""
    for record, call_id, _ in list(find_open_tasks(ctx)):
        if _is_resumed_by_loop(ctx, record):
            return
        call = next(c for c in record.event().get_function_calls() if c.id == call_id)
        async with Aclosing(_run_task(ctx, call)) as events:
            async for event in events:
                yield event
        if call_id in ctx.log.unanswered:
            return


def _is_resumed_by_loop(ctx: InvocationContext, record: EventRecord) -> bool:
    """Return whether the agent's loop resumes the record's calls, because its tools run first:
    those without a response, and those that the user has just decided."""
    delegates = ctx.agent.delegates
    if _is_passed_over(ctx, record):
        return True
    if record.invocation_id != ctx.invocation_id:
        if not _has_answers(ctx, record):
            return False  # the message is for the task
    for one in unfinished_decisions(ctx.log, ctx.invocation_id):
        if one.record is not record:
            if _is_own_record(ctx, one.record):
                return True  # before the task, whose model may fail
        elif record.invocation_id == ctx.invocation_id:
            return True
    return any(
        call in ctx.log.unanswered
        and call not in record.long_running
        and not (name in delegates and delegates[name].mode == "task")
        for call, name in record.calls
    )


def _is_passed_over(ctx: InvocationContext, record: EventRecord) -> bool:
    """Return whether the user's newest message in this run's invocation answers calls of this
    agent, or of agents that it called, and says nothing to the tasks of an earlier record."""
    log, handed = ctx.log, {call for call, _ in record.calls}
    for one in reversed(log.records):
        if one is record:
            return False
        if one.author != "user" or one.kinds & TASK_ANSWER:
            continue
        if one.invocation_id == ctx.invocation_id:
            given = [call or "" for call, _ in one.responses]
            ids = [find_asking_call(log, call) or call for call in given]
            asked = [found for call in ids for found, _ in callers_of(log, call)]
            if handed & read_word_scopes(one) or any(found is record for found in asked):
                return False
            return any(_is_own_record(ctx, found) for found in asked)
    return False


def _has_answers(ctx: InvocationContext, record: EventRecord) -> bool:
    """Return whether the user answers, in this run's invocation, a call of a record or of an agent
    that it calls."""
    return any(
        found is record
        for one in ctx.log.invocation(ctx.invocation_id)
        if one.author == "user" and not one.kinds & TASK_ANSWER
        for call_id, _ in one.responses
        for found, _ in callers_of(ctx.log, call_id or "")
    )


async def run_tasks(
    ctx: InvocationContext, calls: Sequence[types.FunctionCall], response: Event | None
) -> AsyncGenerator[Event, None]:
    """Run the tasks of a response one after the other, up to one that waits for the user.

    Args:
      ctx: the run.
      calls: the calls of the tasks.
      response: the response event of the other calls; no task starts if it ends or pauses the run.
    """
    if response is not None:
        actions, is_over = response.actions, response.output is not None
        waits = bool(actions.requested_tool_confirmations or actions.requested_auth_configs)
        if waits and not is_over:
            return
        if is_over or actions.transfer_to_agent:
            for call in calls:
                yield make_answer_event(ctx, call, {"error": _NOT_STARTED})
            return
    for call in calls:
        async with Aclosing(_run_task(ctx, call)) as events:
            async for event in events:
                yield event
        if call.id in ctx.log.unanswered:
            return


async def _run_task(
    ctx: InvocationContext, call: types.FunctionCall
) -> AsyncGenerator[Event, None]:
    """Run a task until it is done or waits for the user; answer the call of a finished task."""
    log, call_id, args = ctx.log, call.id or "", call.args or {}
    agent = ctx.agent.delegates[call.name or ""]
    mistake = wrong_input(agent, args)
    if mistake is not None:
        ctx.count_mistake(agent.name, mistake.message)
        yield make_answer_event(ctx, call, {**mistake})
        return
    if call_id not in log.scopes:
        refusal = await _check_policy(ctx, call, agent)
        if refusal is not None:
            yield make_answer_event(ctx, call, refusal)
            return
    if log.scopes.get(call_id) is None or ctx.run_state.resume is not None:
        inner = _make_inner_context(ctx, agent, call)
        run = in_scope(run_after_tasks(inner, agent.run_async), call_id, inner.node_path)
        async with Aclosing(run) as events:
            async for event in events:
                yield event
    result = read_task_result(log, call_id)
    if result is not None:
        inner = _make_inner_context(ctx, agent, call)
        async with Aclosing(in_scope(_close_tasks(inner), call_id, inner.node_path)) as events:
            async for event in events:
                yield event
        ctx.run_state.mistakes.pop(agent.name, None)
        yield make_answer_event(ctx, call, result)


def read_task_result(log: EventLog, call_id: str) -> dict[str, Any] | None:
    """Return the response to the call of a finished task, or None."""
    end = log.scopes.get(call_id)
    output: Any = None if end is None else end.event().output
    if end is None or isinstance(output, dict):
        return cast("dict[str, Any] | None", output)
    return {"output": output}


def _make_inner_context(
    ctx: InvocationContext, agent: Any, call: types.FunctionCall
) -> InvocationContext:
    """Return the context of a task's agent."""
    text = json.dumps(call.args or {}, ensure_ascii=False)
    prompt = types.Content(role="user", parts=[types.Part(text=text)])
    inner = make_delegated_context(ctx, agent, call.id or "", prompt)
    if ctx.node_path:
        inner.node_path = f"{ctx.node_path}/{agent.name}@{call.id}"
    elif ctx.run_path:
        inner.run_path = f"{ctx.run_path}/{agent.name}@{call.id}"
    return inner


async def _close_tasks(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Answer the tasks that a finished agent called in its last response, whose tool failed."""
    for record, call_id, _ in list(find_open_tasks(ctx)):
        call = next(c for c in record.event().get_function_calls() if c.id == call_id)
        yield make_answer_event(ctx, call, {"error": _NOT_STARTED})


async def _check_policy(
    ctx: InvocationContext, call: types.FunctionCall, agent: Any
) -> dict[str, Any] | None:
    """Return the response of a task that the policy denies; a person cannot be asked from here."""
    policy, context = (
        await find_gate(ctx, find_restricting(ctx)),
        Context(ctx, function_call_id=call.id),
    )
    if policy is None:
        return None
    args = dict(call.args or {})
    return await policy.check(ctx, call, TaskTool(agent), args, context, can_ask=False)


def make_answer_event(
    ctx: InvocationContext, call: types.FunctionCall, response: dict[str, Any]
) -> Event:
    """Return the event that answers a task's call, which no tool does (FEATURES row 73)."""
    given = types.FunctionResponse(id=call.id, name=call.name, response=response)
    event = Event(
        invocation_id=ctx.invocation_id,
        author="user",
        branch=ctx.branch,
        # The path distinguishes it from an answer of the user.
        node_info=NodeInfo(path=ctx.node_path or ctx.run_path or f"{ctx.agent.name}@1"),
        content=types.Content(role="user", parts=[types.Part(function_response=given)]),
    )
    if ctx.run_state.policy_decisions:
        note_decisions(ctx, event)
    return event


def set_task_output(ctx: InvocationContext, call_event: Event, response: Event) -> None:
    """Put the output of a task into the event that finishes it."""
    for part in response.get_function_responses():
        if part.name != FINISH_TASK or "error" in (part.response or {}):
            continue
        call = next((c for c in call_event.get_function_calls() if c.id == part.id), None)
        args = (call.args if call is not None else None) or {}
        if call is None or INVALID_ARGS_KEY in args:
            continue
        output = ctx.agent.finish_tool.output_of(args)
        if isinstance(output, ModelMistake):
            continue
        response.output = {"output": None} if output is None else output
        if ctx.run_path:
            response.node_info.output_for = [ctx.run_path]
        if ctx.agent.output_key:
            response.actions.state_delta[ctx.agent.output_key] = output
