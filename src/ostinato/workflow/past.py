"""Where a run keeps what its nodes had done: read from the log when an earlier invocation goes on,
and marks of nodes that ended without a word.

Marks lie in the journal, with the next commit; in the memory of one process beside the log, for
there they live as long as it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..context.invocation import InvocationContext
from .rehydrate import Mark, Past

_PREFIX = "node "
_VIEW = "ended nodes"


def past_of(ctx: InvocationContext) -> Past:
    """Return what the nodes of a run's invocation had done; nothing where it has just begun."""
    ports = ctx.ports
    if ports.past is None:
        ports.past = Past(ctx.invocation_id)
        if ports.resumed or ports.resume is not None:
            ports.past.read(ctx.log, _marks(ctx))
    return ports.past


def read_on(ctx: InvocationContext) -> Past:
    """Return what the nodes have done by now, in this process too."""
    past = past_of(ctx)
    past.read(ctx.log, _marks(ctx))
    return past


def mark_end(ctx: InvocationContext, path: str, route: Any, output: Any) -> None:
    """Note that a run ended and that no event of its own will tell.

    It is stored with the next event: what has no event after it may be run again.
    """
    log, journal = ctx.log, ctx.ports.journal
    mark = Mark(path, len(log.records), route, output)
    past_of(ctx).note(mark)
    if journal is None:
        log.views.setdefault((_VIEW, ctx.invocation_id), {})[path] = mark
        return
    after = log.records[-1].id if log.records else None
    state = {"route": route, "output": output}
    journal.checkpoint(_PREFIX + path, ctx.branch, after, state, False)


async def keep_ends(ctx: InvocationContext) -> None:
    """Store the marks that wait for an event: the run pauses, and there will be none."""
    journal = ctx.ports.journal
    rows = journal.unstored() if journal is not None else ()
    if rows:
        await ctx.ports.commit((), rows)


def forget_ends(ctx: InvocationContext) -> None:
    """Forget the marks of an invocation that has ended; those in the journal go by themselves."""
    ctx.log.views.pop((_VIEW, ctx.invocation_id), None)


def _marks(ctx: InvocationContext) -> Iterable[Mark]:
    log, journal = ctx.log, ctx.ports.journal
    if journal is None:
        return list(log.views.get((_VIEW, ctx.invocation_id), {}).values())
    return [
        Mark(
            mark.agent.removeprefix(_PREFIX),
            mark.at,
            (mark.state or {}).get("route"),
            (mark.state or {}).get("output"),
        )
        for mark in journal.checkpoints(log)
        if mark.agent.startswith(_PREFIX)
    ]
