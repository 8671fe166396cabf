"""The context in which an agent runs as a node: checkpoints of its own, and only its own past.

The agent may run many times in one invocation, side by side too; what is noted by its name alone
would be mixed up.
"""

from __future__ import annotations

import copy
from typing import Any

from ..context.context import Context
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..sessions.log.checkpoints import Checkpoint, recorded_checkpoints
from ..sessions.log.resume import Resume
from .past import read_past, reread_past


def as_node_context(ctx: Context, agent: Any) -> InvocationContext:
    """Return the context for an agent that runs as a node.

    Args:
      ctx: the node's context.
      agent: the agent.
    """
    outer = ctx.get_invocation_context()
    inner = outer.model_copy(
        update={
            "node_path": ctx.node_path,
            "run_path": "",
            "agent_states": {},
            "end_of_agents": {},
        }
    )
    if outer.run_state.resume is None:
        return inner
    inner.run_state = state = copy.copy(outer.run_state)
    past = read_past(outer).runs.get(ctx.node_path)
    if past is None or not past.records:
        state.resume, state.checkpoints = None, ()
        return inner
    own = set(past.records)
    marks = _read_marks(outer, ctx.node_path, own)
    state.checkpoints = marks
    inner.restore_agent_states(marks, only=own, tree=agent)
    state.resume = Resume(outer.log, outer.invocation_id, 0, marks, only=own)
    return inner


def _read_marks(ctx: InvocationContext, path: str, own: set[int]) -> list[Checkpoint]:
    """Return what the agents of this run had noted."""
    if ctx.is_resumable:
        found = recorded_checkpoints(ctx.log, ctx.invocation_id)
        return [mark for mark in found if mark.at - 1 in own]
    if ctx.run_state.journal is None:
        return []
    found: list[Checkpoint] = []
    for mark in ctx.run_state.journal.checkpoints(ctx.log):
        place, _, name = mark.agent.rpartition(":")
        if place == path or place.startswith(path + "/"):  # of an agent that it called
            found.append(mark._replace(agent=name))
    return found


def place_event(ctx: Context, agent_name: str, event: Event) -> None:
    """Give an event its place where an agent is run as a node by hand; in a graph its run does.

    Args:
      ctx: the node's context, whose `event_author` becomes the event's author.
      agent_name: the agent; events of others keep their place.
      event: the event.
    """
    if ctx.node_run is not None:
        return
    if event.author == agent_name and not event.node_info.path:
        event.node_info.path = ctx.node_path
    ctx.event_author = event.author


def wait_for_answers(ctx: Context) -> None:
    """Have an agent's node wait for what its agents wait for: long-running calls, of a process that
    died too, and tasks in which it is the user's turn.
    """
    invocation = ctx.get_invocation_context()
    log = invocation.log
    if log.tasks or log.called_long_running(invocation.invocation_id):
        past = reread_past(invocation).runs.get(ctx.node_path)
        if past is not None:
            ctx.node_run.interrupts.update(past.waiting)
