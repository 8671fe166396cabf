"""Where the loop goes on in a run that had been interrupted, or that waits for answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import NamedTuple

from ...context.invocation import InvocationContext
from ...models.llm_response import LlmResponse
from ...sessions._resume import OpenCall, Reached, open_calls
from ...sessions.event_log import EventRecord
from .. import llm_flows
from ._call_journal import has_response


def take_reached(ctx: InvocationContext) -> Reached | None:
    """Return how far an interrupted run of this agent had come; None for one that is new."""
    if ctx.ports.resume is None:
        return None
    reached = ctx.ports.resume.take(ctx.agent.name, ctx.branch)
    if reached.kind == "code" and reached.record is not None:
        # Whose code it is only the agent's executor knows.
        return reached._replace(kind=llm_flows.kind_of_code(ctx, reached.record.event()))
    return reached


async def recorded_response(record: EventRecord) -> AsyncGenerator[LlmResponse, None]:
    """Yield a stored event as the model's response that it was."""
    yield LlmResponse(content=record.event().content)


class Pending(NamedTuple):
    """What open calls mean for the next step.

    Attributes:
      record: event with calls that are to be run; None where there is none.
      ids: those calls.
      pauses: whether the step ends without asking the model.
    """

    record: EventRecord | None
    ids: set[str]
    pauses: bool


def pending_calls(ctx: InvocationContext, reached: Reached | None) -> Pending:
    """Find the calls that this agent has left open, and what is to be done about them."""
    waiting = open_calls(ctx.log, ctx.invocation_id, ctx.branch)
    left = [c for c in waiting if c.record.author == ctx.agent.name and _is_to_run(ctx, c)]
    if left:
        record = left[-1].record
        return Pending(record, {c.call_id for c in left if c.record is record}, True)
    if ctx.is_resumable and any(call.long_running for call in waiting):
        return Pending(None, set(), True)
    # A run that is not resumable ends at a long-running call, and asks the model at its answer.
    resume = ctx.ports.resume
    if reached is None or reached.kind != "calls" or resume is None:
        return Pending(None, set(), False)
    if reached.record is not None and any(ctx.log.is_over(c) for c, _ in reached.record.calls):
        return Pending(None, set(), False)  # a task was gone on with just now, and is done
    return Pending(None, set(), resume.is_newest(reached.record))


def _is_to_run(ctx: InvocationContext, call: OpenCall) -> bool:
    """Tell whether a call's tool has yet to run, or to end; a long-running one may only wait.

    One that ended with an interim result is among them too: that is not in the log yet.
    """
    if not call.long_running:
        return True
    row = None if ctx.ports.journal is None else ctx.ports.journal.row(call.call_id)
    return row is not None and (row.status != "finished" or has_response(row))
