"""Runs of single nodes: checks, time limit, retries, earlier results, and nested `ctx.run_node`.

`execute` yields the events of a run; a graph, a node and an agent that holds a graph call it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from .._aclosing import Aclosing
from ..context.context import Context
from ..context.invocation import InvocationContext
from ..errors import CallerError, NodeError
from ..events.event import Event, NodeInfo
from .lanes import Lanes
from .node_errors import (
    DynamicNodeFailError,
    NodeInterruptedError,
    ToolNotRunError,
    limit_time,
)
from .node_run import Child, NodeRun, plain_model
from .nodes import ToolNode, as_node
from .past import read_past, reread_past
from .rehydrate import PastRun
from .values import check_value

_MAIN = ""  # the lane of the node itself, beside those of the nodes that it runs


async def execute_node(run: NodeRun) -> AsyncGenerator[Event, None]:
    """Run a node to its end or to where it waits, and yield its events.

    A run that had finished, or waits for an answer that is not there, yields nothing.

    Raises:
      Exception: what the node raised in its last attempt; the log says where.
    """
    inputs = _take_over(run)
    if inputs is None:
        return
    while True:
        try:
            async with Aclosing(_run_attempt(run, inputs)) as events:
                async for event in events:
                    yield event
            _keep_output(run)
            return
        except CallerError:
            raise  # of the run itself: cancelled, taken over, an answer that no node waits for
        except DynamicNodeFailError as raised:
            error, raised_from = raised.error, raised
        except Exception as raised:  # boundary: on record with its place, and retried if so asked
            error, raised_from = raised, None
        state = run.invocation.run_state
        if state.recorded_error is not error:
            state.recorded_error = error
            if not hasattr(error, "__notes__"):
                error.add_note(f"Raised by workflow node {run.path} (attempt {run.attempt}).")
            yield _error_event(run, error)
        for event in _close_cut_calls(run, error):
            yield event
        config = run.node.retry_config
        is_final = config is None or isinstance(error, ToolNotRunError)
        pause = None if config is None or is_final else config.pause_after(run.attempt, error)
        if pause is None:
            raise error from raised_from
        await asyncio.sleep(pause)
        run.attempt += 1
        past = reread_past(run.invocation).runs.get(run.path)
        inputs = past.answers if past is not None else {}


def _take_over(run: NodeRun) -> dict[str, Any] | None:
    """Take over what the log says about a run.

    Returns:
      The answers to what it asked for, where it is to be run, or None if it has ended or waits.
    """
    past = run.past
    if past is None:
        return {}
    waiting = past.waiting
    if run.is_over():
        run.output, run.has_output, run.route = past.output, past.has_output, past.route
        run.interrupts = waiting
        return None
    reruns = run.node.rerun_on_resume or isinstance(run.node, ToolNode)
    if not reruns and past.requests:
        own = [r for r in past.requests.values() if r.own and r.path == run.path]
        own = [r for r in own if not r.withdrawn]
        if own and waiting:
            run.interrupts = waiting
            return None
        if own:
            answers = {r.call_id: r.answer for r in own}
            run.output = next(iter(answers.values())) if len(answers) == 1 else answers
            run.has_output, run.route = True, past.route
            return None
        if waiting and not _goes_on(run, past):
            run.interrupts = waiting
            return None
    if waiting and _stays_waiting(run, past):
        run.interrupts = waiting
        return None
    config = run.node.retry_config
    run.attempt = past.errors % (config.attempts if config is not None else 1) + 1
    return past.answers


def _stays_waiting(run: NodeRun, past: PastRun) -> bool:
    """Return whether a node that is run again for each answer has got none since it ran.

    A graph runs in any case: it looks at each of its nodes by itself. A tool's question is the end
    of its call, so that it never runs before the answer.
    """
    if isinstance(run.node, ToolNode):
        return True
    if not run.node.rerun_on_resume or run.node.runs_graph:
        return False
    return not _goes_on(run, past)


def _goes_on(run: NodeRun, past: PastRun) -> bool:
    """Return whether there is something to do in a run that waits: it has an answer or failed."""
    return bool(past.has_turn or past.has_new_answer or past.errors or _broke_off(run))


def _broke_off(run: NodeRun) -> bool:
    """Return whether a process died while a node's agents were at work."""
    state, past = run.invocation.run_state, run.past
    if state.resume is None or past is None or not past.records:
        return False
    if past.records[-1] >= read_past(run.invocation).leg:
        return True
    # Or before that: a call of another node was answered, and this one was not resumed.
    log = run.invocation.log
    made = (log.records[index] for index in past.records)
    return any(
        call in log.unanswered and call not in record.long_running and call not in log.scopes
        for record in made
        for call, _ in record.calls
    )


def _keep_output(run: NodeRun) -> None:
    """Take the output that the log tells, of an agent that had nothing but its end left to say."""
    past = run.past
    if past is not None and past.said and not run.has_output:
        run.output, run.has_output = past.output, True


async def _run_attempt(run: NodeRun, inputs: dict[str, Any]) -> AsyncGenerator[Event, None]:
    ctx, node = run.begin_attempt(inputs), run.node
    events = _run_events(run, ctx)
    if node.rerun_on_resume and not (node.runs_graph or isinstance(node, ToolNode)):
        events = _with_children(run, events)
    if node.timeout is not None and not isinstance(node, ToolNode):  # it limits its call itself
        events = limit_time(events, node.timeout, node.name)
    async with Aclosing(events):
        async for event in events:
            yield event


async def _run_events(run: NodeRun, ctx: Context) -> AsyncGenerator[Event, None]:
    """Yield the events of the node itself."""
    node, node_input = run.node, run.node_input
    if node.input_schema is not None:
        fitted = check_value(node_input, node.input_schema, f"The input of node {run.path}")
        node_input = plain_model(fitted) if isinstance(node_input, dict) else fitted
    items = node.run(ctx=ctx, node_input=node_input)
    asked = run.past.requests if run.past is not None else {}
    try:
        async with Aclosing(items):
            async for item in items:
                event = run.take_item(item)
                if event is None:
                    continue
                ids = event.long_running_tool_ids
                if ids and ids <= asked.keys() and not _asks_anew(ids, asked):
                    continue  # it asked before, and has no answer yet
                yield event
    except NodeInterruptedError:
        return
    except (asyncio.CancelledError, GeneratorExit):
        run.leave_effects()
        raise
    except BaseExceptionGroup as group:
        if group.split(NodeInterruptedError)[1] is not None:
            raise
        return
    while (event := run.last_event()) is not None:
        yield event


def _asks_anew(ids: set[str], asked: dict[str, Any]) -> bool:
    return any(asked[one].answered or asked[one].withdrawn for one in ids)


async def _with_children(
    run: NodeRun, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Yield the events of a node and of the nodes that it runs, as they come."""
    run.invocation.run_state.order_writes()
    lanes = run.lanes = Lanes[str]()
    lanes.start_lane(_MAIN, events)
    try:
        while len(lanes):
            step = await lanes.next_step()
            if step.event is not None:
                yield step.event
            elif step.key == _MAIN:
                if step.error is not None:
                    raise step.error
            else:
                run.children[step.key].note_end(step.error)
    finally:
        run.lanes = None
        await lanes.aclose()
        for child in run.children.values():
            child.ended.cancel()


async def run_node(
    ctx: Context,
    node: Any,
    node_input: Any,
    *,
    use_as_output: bool = False,
    run_id: str | None = None,
    use_sub_branch: bool = False,
    override_branch: str | None = None,
    override_isolation_scope: str | None = None,
    raise_on_wait: bool = False,
) -> Any:
    """Run a node for another one and return its output; arguments as for `Context.run_node`."""
    parent: NodeRun | None = ctx.node_run
    target = as_node(node)
    if parent is None:
        return await _run_alone(ctx, target, node_input, run_id)
    lanes = parent.lanes
    if not parent.node.rerun_on_resume or lanes is None:
        raise NodeError(
            f"Node {parent.path} runs node {target.name!r} and must have rerun_on_resume=True: "
            "when that node waits for a person, this one is run again to get its output."
        )
    name = _make_segment(parent, target.name, run_id)
    path = f"{parent.path}/{name}"
    child = parent.children.get(path)
    if child is None:
        run = NodeRun(
            target,
            path,
            _with_place(
                parent.invocation,
                override_branch or (_child_branch(parent, name) if use_sub_branch else None),
                override_isolation_scope,
            ),
            node_input,
            parent.author,
            _list_output_owners(parent, path, use_as_output),
            parent,
        )
        child = parent.children[path] = Child(run)
        lanes.start_lane(path, execute_node(run))
    try:
        await asyncio.shield(child.ended)
    except asyncio.CancelledError:
        await lanes.stop_lane(path)
        raise
    return _read_outcome(parent, child, use_as_output, raise_on_wait)


def _read_outcome(parent: NodeRun, child: Child, use_as_output: bool, raise_on_wait: bool) -> Any:
    run = child.run
    if isinstance(child.error, CallerError):
        raise child.error
    if child.error is not None and not isinstance(child.error, Exception):
        raise child.error  # a guardrail ends the whole run
    if child.error is not None:
        raise DynamicNodeFailError(run.node.name, child.error, run.path) from child.error
    if run.interrupts:
        parent.interrupts |= run.interrupts
        raise NodeInterruptedError
    if raise_on_wait and run.node.wait_for_output and not run.has_output:
        raise NodeInterruptedError
    if use_as_output and run.has_output:
        parent.deliver_output(run.output)
    return run.output


def _make_segment(parent: NodeRun, name: str, run_id: str | None) -> str:
    if run_id is None:
        number = parent.counts[name] = parent.counts.get(name, 0) + 1
        return f"{name}@{number}"
    if run_id.isdigit() or not run_id or set(run_id) & set("@/"):
        raise NodeError(
            f"run_id {run_id!r} of node {name!r} in {parent.path} must contain non-numeric "
            "characters, and neither '@' nor '/': plain numbers are given by run_node itself."
        )
    return f"{name}@{run_id}"


def _list_output_owners(parent: NodeRun, path: str, use_as_output: bool) -> list[str]:
    if not use_as_output:
        return [path]
    for other in parent.children.values():
        if len(other.run.output_for) > 1:
            raise NodeError(
                f"Node {parent.path} already has a use_as_output delegate: {other.run.path}. Only "
                "one node can give its output."
            )
    return [path, *parent.output_for]


def _child_branch(parent: NodeRun, segment: str) -> str:
    branch = parent.invocation.branch
    return f"{branch}.{segment}" if branch else segment


def _with_place(
    invocation: InvocationContext, branch: str | None, scope: str | None
) -> InvocationContext:
    changes: dict[str, Any] = {}
    if branch is not None and branch != invocation.branch:
        changes["branch"] = branch
    if scope is not None:
        changes["isolation_scope"] = scope
    return invocation.model_copy(update=changes) if changes else invocation


async def _run_alone(ctx: Context, node: Any, node_input: Any, run_id: str | None) -> Any:
    """Run a node for a tool or a callback: its events are committed, but not handed on."""
    invocation = ctx.get_invocation_context()
    past = read_past(invocation)
    if run_id is None:
        run_id = str(past.newest.get(node.name, 0) + 1)
        past.newest[node.name] = int(run_id)
    path = f"{node.name}@{run_id}"
    run = NodeRun(node, path, invocation, node_input, node.name, [path])
    async with Aclosing(execute_node(run)) as events:
        async for event in events:
            if not event.partial:
                await invocation.services.commit((event,))
    if run.interrupts:
        raise NodeError(
            f"Node {path} waits for a person, but a tool or a callback ran it, and these cannot "
            "wait. Put it into a graph, or run it from a node."
        )
    return run.output


def _close_cut_calls(run: NodeRun, error: Exception) -> Sequence[Event]:
    """Return responses to the calls that the attempt's agents had open; their tools were cut off.

    The model of the next attempt reads there that they may have taken effect.
    """
    close, log = run.invocation.services.close_cut_calls, run.invocation.log
    if close is None or not (log.unanswered or log.has_long_running):
        return ()
    return close(run.invocation, error, run.path)


def _error_event(run: NodeRun, error: Exception) -> Event:
    event = Event(
        author=run.author,
        invocation_id=run.invocation.invocation_id,
        branch=run.invocation.branch,
        isolation_scope=run.invocation.isolation_scope,
        error_code=type(error).__name__,
        error_message=str(error),
        node_info=NodeInfo(path=run.path),
    )
    if run.rows:
        run.attach_rows(event)
    return event
