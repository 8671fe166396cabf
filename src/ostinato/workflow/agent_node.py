"""The context in which an agent runs as a node: checkpoints of its own, and only its own past.

The agent may run many times in one invocation, side by side too; what is noted by its name alone
would be mixed up.
"""

from __future__ import annotations

import copy
from typing import Any

from ..context.context import Context
from ..context.invocation import InvocationContext
from ..sessions._checkpoints import Checkpoint, recorded_checkpoints
from ..sessions._resume import Resume
from .past import past_of, read_on


def as_node_context(ctx: Context, agent: Any) -> InvocationContext:
    """Return the context for an agent that runs as a node.

    Args:
      ctx: the node's context.
      agent: the agent.
    """
    outer = ctx.get_invocation_context()
    inner = outer.model_copy(
        update={"node_path": ctx.node_path, "agent_states": {}, "end_of_agents": {}}
    )
    if outer.ports.resume is None:
        return inner
    inner.ports = ports = copy.copy(outer.ports)
    past = past_of(outer).runs.get(ctx.node_path)
    if past is None or not past.records:
        ports.resume, ports.checkpoints = None, ()
        return inner
    own = set(past.records)
    marks = _marks(outer, ctx.node_path, own)
    ports.checkpoints = marks
    inner.restore_agent_states(marks, only=own, tree=agent)
    ports.resume = Resume(outer.log, outer.invocation_id, 0, marks, only=own)
    return inner


def _marks(ctx: InvocationContext, path: str, own: set[int]) -> list[Checkpoint]:
    """Return what the agents of this run had noted."""
    if ctx.is_resumable:
        found = recorded_checkpoints(ctx.log, ctx.invocation_id)
        return [mark for mark in found if mark.at - 1 in own]
    if ctx.ports.journal is None:
        return []
    found: list[Checkpoint] = []
    for mark in ctx.ports.journal.checkpoints(ctx.log):
        place, _, name = mark.agent.rpartition(":")
        if place == path or place.startswith(path + "/"):  # of an agent that it called
            found.append(mark._replace(agent=name))
    return found


def wait_for_answers(ctx: Context) -> None:
    """Have an agent's node wait for what its agents wait for: long-running calls, of a process that
    died too, and tasks in which it is the user's turn.
    """
    invocation = ctx.get_invocation_context()
    log = invocation.log
    if log.tasks or log.called_long_running(invocation.invocation_id):
        past = read_on(invocation).runs.get(ctx.node_path)
        if past is not None:
            ctx.node_run.interrupts.update(past.waiting)
