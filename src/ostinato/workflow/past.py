"""Node results of an earlier run of this invocation, from log and journal.

Marks lie in the journal, with the next commit; in the memory of one process beside the log, for
there they live as long as it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..context.invocation import InvocationContext
from .rehydrate import Mark, Past
from .stored_output import from_json, to_json, to_output

_PREFIX = "node "
_VIEW = "ended nodes"


def read_past(ctx: InvocationContext) -> Past:
    """Return what the nodes of a run's invocation had done; nothing where it has just begun."""
    state = ctx.run_state
    if state.past is None:
        state.past = Past(ctx.invocation_id)
        if state.is_resumed or state.resume is not None:
            state.past.read_log(ctx.log, _list_marks(ctx))
    return state.past


def reread_past(ctx: InvocationContext) -> Past:
    """Return what the nodes have done by now, in this process too."""
    past = read_past(ctx)
    past.read_log(ctx.log, _list_marks(ctx))
    return past


def mark_end(ctx: InvocationContext, path: str, route: Any, output: Any) -> None:
    """Note that a run ended and that no event of its own will tell.

    It is stored with the next event: what has no event after it may be run again.
    """
    log, journal = ctx.log, ctx.run_state.journal
    mark = Mark(path, len(log.records), route, output)
    read_past(ctx).add_mark(mark)
    if journal is None:
        log.views.setdefault((_VIEW, ctx.invocation_id), {})[path] = mark
        return
    after = log.records[-1].id if log.records else None
    output, places = to_output(output)
    state = {"route": route, "output": to_json(output), "places": places}
    journal.checkpoint(_PREFIX + path, ctx.branch, after, state, False)


async def store_end_marks(ctx: InvocationContext) -> None:
    """Store the marks that wait for an event: the run pauses, and there will be none."""
    journal = ctx.run_state.journal
    rows = journal.take_pending() if journal is not None else ()
    if rows:
        await ctx.services.commit((), rows)


def forget_end_marks(ctx: InvocationContext) -> None:
    """Forget the marks of an invocation that has ended; those in the journal go by themselves."""
    ctx.log.views.pop((_VIEW, ctx.invocation_id), None)


def _list_marks(ctx: InvocationContext) -> Iterable[Mark]:
    log, journal = ctx.log, ctx.run_state.journal
    if journal is None:
        return list(log.views.get((_VIEW, ctx.invocation_id), {}).values())
    return [
        Mark(
            mark.agent.removeprefix(_PREFIX),
            mark.at,
            (mark.state or {}).get("route"),
            from_json((mark.state or {}).get("output"), (mark.state or {}).get("places", ())),
        )
        for mark in journal.checkpoints(log)
        if mark.agent.startswith(_PREFIX)
    ]
