"""Paths of runs outside of graphs: which agents of the tree led to a run, and its number.

`root@1/child@1` is the first run of `child` after a transfer from the first run of `root`.
"""

from __future__ import annotations

from typing import Any

from ..types.record_template import shallow_copy
from .invocation import InvocationContext


def path_of_agent(agent: Any, root_name: str) -> str:
    """Return the path of an agent's first run, by its place in the tree.

    Args:
      agent: the agent.
      root_name: name of the agent above it with which paths begin.
    """
    return "/".join(f"{name}@1" for name in _names_to_root(agent, root_name))


def path_of_called(ctx: InvocationContext, agent: Any) -> str:
    """Return the path of an agent that another one calls: its place in the tree."""
    if not ctx.run_path:
        return ""
    return path_of_agent(agent, _name_of(ctx.run_path.partition("/")[0]))


def enter_transfer(ctx: InvocationContext, target: Any) -> InvocationContext:
    """Return the context for the target of a transfer.

    Args:
      ctx: the run of the agent that transfers.
      target: the agent that takes over.
    """
    segments = ctx.run_path.split("/")
    if not ctx.run_path or _name_of(segments[-1]) != ctx.agent.name:
        return ctx  # within a shell all runs have the path of the shell
    names = _names_to_root(target, _name_of(segments[0]))[:-1]
    shared = 0
    for segment, name in zip(segments, names, strict=False):
        if _name_of(segment) != name:
            break
        shared += 1
    above = segments[:shared] + [f"{name}@1" for name in names[shared:]]
    counts = ctx.run_state.transfer_counts
    if counts is None:
        own, _, number = ctx.run_path.rpartition("@")
        counts = ctx.run_state.transfer_counts = {own: int(number) if number.isdecimal() else 1}
    key = "/".join([*above, target.name])
    counts[key] = counts.get(key, 0) + 1
    return shallow_copy(ctx, run_path=f"{key}@{counts[key]}")


def _names_to_root(agent: Any, root_name: str) -> list[str]:
    """Return the names from the root to an agent."""
    names = [agent.name]
    while names[0] != root_name and (agent := agent.parent_agent) is not None:
        names.insert(0, agent.name)
    return names


def _name_of(segment: str) -> str:
    return segment.partition("@")[0]
