"""Tasks: calls of agents of mode `task`, from the call to its answer, over as many turns of the
user as it takes. The loop runs those of a response, the runner goes on with those that are open.

What is open is read from the log: a call without an answer, made by this agent in this place.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any, cast

from ... import types
from ..._aclosing import Aclosing
from ...context.delegation import delegated, in_scope
from ...context.invocation import InvocationContext
from ...errors import AgentConfigError
from ...events.event import Event, NodeInfo
from ...models.invalid_args import INVALID_ARGS_KEY
from ...models.llm_request import LlmRequest
from ...sessions.event_log import FINISH_TASK, REWIND, EventLog, EventRecord, visible_indexes
from ...tools.model_mistake import ModelMistake
from ...tools.single_turn_tool import SingleTurnTool
from ...tools.task_tool import TaskTool, wrong_input
from ._call_ids import get_long_running_function_calls, populate_client_function_call_id

Run = Callable[[InvocationContext], AsyncGenerator[Event, None]]

_NOT_BEGUN = "The task was not begun, as the run ended in the same response."


def task_calls(
    ctx: InvocationContext, event: Event, ids: set[str] | None = None
) -> list[types.FunctionCall]:
    """Return the calls of an event that hand a task to a sub-agent.

    Args:
      ctx: the run.
      event: the event with the calls.
      ids: of these calls only; of all where None.
    """
    delegates = ctx.agent.delegates
    return [
        call
        for call in event.get_function_calls()
        if (ids is None or call.id in ids)
        and (agent := delegates.get(call.name or "")) is not None
        and agent.mode == "task"
    ]


def others(
    event: Event, tasks: Sequence[types.FunctionCall], ids: set[str] | None = None
) -> set[str]:
    """Return the ids of the calls of an event that are none of these tasks."""
    handed = {call.id for call in tasks}
    return {
        call.id or ""
        for call in event.get_function_calls()
        if call.id not in handed and (ids is None or call.id in ids)
    }


def runs_agent(tool: Any) -> bool:
    """Tell whether a tool runs an agent whose events have to get out of the call."""
    return isinstance(tool, SingleTurnTool | TaskTool)


def open_tasks(ctx: InvocationContext) -> Iterator[tuple[EventRecord, str, str]]:
    """Yield record, id and agent of each task that this agent has given and nobody has answered."""
    delegates = ctx.agent.delegates
    for record, call_id, name in _open_calls(ctx) if delegates else ():
        if delegates[name].mode == "task":
            yield record, call_id, name


def waits(ctx: InvocationContext) -> bool:
    """Tell whether this agent's run can not go on before an agent that it called is done."""
    if not ctx.agent.delegates:
        return False
    for record, _, name in _open_calls(ctx):
        # Whoever runs once is waited for in that very invocation only.
        if ctx.agent.delegates[name].mode == "task" or record.invocation_id == ctx.invocation_id:
            return True
    return False


def is_done(ctx: InvocationContext) -> bool:
    """Tell whether this agent has finished the task that it was given."""
    if ctx.agent.mode != "task":
        return False
    return ctx.log.scopes.get(ctx.isolation_scope or "") is not None


def check_transfer(ctx: InvocationContext, target: Any) -> None:
    """Raise AgentConfigError where control would pass to an agent that is called like a tool."""
    mode = getattr(target, "mode", None)
    if mode in ("task", "single_turn"):
        raise AgentConfigError(
            f"Agent {ctx.agent.name!r} transferred to agent {target.name!r} of mode {mode!r}, that "
            "is called like a tool and gives an answer. Call it, or give it mode='chat'."
        )


def rename_taken_calls(ctx: InvocationContext, event: Event, llm_request: LlmRequest) -> None:
    """Give calls whose id names a scope already an id of their own: models may use one again."""
    taken = ctx.log.scopes
    if all(call.id not in taken for call in event.get_function_calls()):
        return
    populate_client_function_call_id(event, taken)
    event.long_running_tool_ids = get_long_running_function_calls(
        event.get_function_calls(), llm_request.tools_dict
    )


def _open_calls(ctx: InvocationContext) -> list[tuple[EventRecord, str, str]]:
    log, agent = ctx.log, ctx.agent
    return [
        (record, call_id, name)
        for call_id, record in log.unanswered.items()
        if record.author == agent.name
        and record.branch == ctx.branch
        and record.scope == ctx.isolation_scope
        and (not ctx.node_path or record.path == ctx.node_path)
        and call_id is not None
        for name in (next(name for call, name in record.calls if call == call_id),)
        if name in agent.delegates and not is_rewound(log, record)
    ]


def is_rewound(log: EventLog, record: EventRecord) -> bool:
    """Tell whether a rewind hides a record."""
    for index in range(len(log.records) - 1, -1, -1):
        if log.records[index] is record:
            return False
        if log.records[index].kinds & REWIND:
            return all(log.records[i] is not record for i in visible_indexes(log))
    return True


async def run_after_tasks(ctx: InvocationContext, run: Run) -> AsyncGenerator[Event, None]:
    """Go on with the tasks that an agent has open, then, if none waits for the user, run it.

    Args:
      ctx: the agent's context.
      run: its run.
    """
    async with Aclosing(go_on(ctx)) as events:
        async for event in events:
            yield event
    if any(True for _ in open_tasks(ctx)):
        return
    async with Aclosing(run(ctx)) as events:
        async for event in events:
            yield event


async def go_on(ctx: InvocationContext) -> AsyncGenerator[Event, None]:
    """Go on with the tasks that this agent has open, in their order, up to one that waits."""
    for record, call_id, _ in list(open_tasks(ctx)):
        if record.invocation_id == ctx.invocation_id and _has_other_open_calls(ctx, record):
            return  # the loop does those first
        call = next(c for c in record.event().get_function_calls() if c.id == call_id)
        async with Aclosing(_run_task(ctx, call)) as events:
            async for event in events:
                yield event
        if call_id in ctx.log.unanswered:
            return


def _has_other_open_calls(ctx: InvocationContext, record: EventRecord) -> bool:
    delegates = ctx.agent.delegates
    return any(
        call in ctx.log.unanswered
        and call not in record.long_running
        and not (name in delegates and delegates[name].mode == "task")
        for call, name in record.calls
    )


async def run_tasks(
    ctx: InvocationContext, calls: Sequence[types.FunctionCall], response: Event | None
) -> AsyncGenerator[Event, None]:
    """Run the tasks of a response one after the other, up to one that waits for the user.

    Args:
      ctx: the run.
      calls: the calls that hand over the tasks.
      response: what came of the other calls of the response; where the run ends with it, or waits,
        no task begins.
    """
    if response is not None:
        actions = response.actions
        if actions.requested_tool_confirmations or actions.requested_auth_configs:
            return
        if response.output is not None or actions.transfer_to_agent:
            for call in calls:
                yield answer(ctx, call, {"error": _NOT_BEGUN})
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
    """Run a task until it is done or waits for the user; a task that is done is answered."""
    log, call_id, args = ctx.log, call.id or "", call.args or {}
    agent = ctx.agent.delegates[call.name or ""]
    mistake = wrong_input(agent, args)
    if mistake is not None:
        ctx.count_mistake(agent.name, mistake.message)
        yield answer(ctx, call, {**mistake})
        return
    if log.scopes.get(call_id) is None or ctx.ports.resume is not None:
        text = json.dumps(args, ensure_ascii=False)
        told = types.Content(role="user", parts=[types.Part(text=text)])
        inner = delegated(ctx, agent, call_id, told)
        if ctx.node_path:
            inner.node_path = f"{ctx.node_path}/{agent.name}@{call_id}"
        run = in_scope(run_after_tasks(inner, agent.run_async), call_id, inner.node_path)
        async with Aclosing(run) as events:
            async for event in events:
                yield event
    end = log.scopes.get(call_id)
    if end is not None:
        ctx.ports.mistakes.pop(agent.name, None)
        output: Any = end.event().output
        given = cast("dict[str, Any]", output) if isinstance(output, dict) else {"output": output}
        yield answer(ctx, call, given)


def answer(ctx: InvocationContext, call: types.FunctionCall, response: dict[str, Any]) -> Event:
    """Return the event that answers the call of a task: it has no tool that would (FEATURES row
    73).
    """
    given = types.FunctionResponse(id=call.id, name=call.name, response=response)
    return Event(
        invocation_id=ctx.invocation_id,
        author="user",
        branch=ctx.branch,
        # The path tells it from an answer of the user's.
        node_info=NodeInfo(path=ctx.node_path or f"{ctx.agent.name}@1"),
        content=types.Content(role="user", parts=[types.Part(function_response=given)]),
    )


def note_output(ctx: InvocationContext, call_event: Event, response: Event) -> None:
    """Put the output of a task into the event that says that it is done."""
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
        if ctx.agent.output_key:
            response.actions.state_delta[ctx.agent.output_key] = output
