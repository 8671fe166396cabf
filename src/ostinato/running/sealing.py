"""How a run that ended early is left in the log: every call answered, the error on record."""

from __future__ import annotations

from .. import types
from ..context.invocation import InvocationContext
from ..events.event import Event
from ..sessions._resume import OpenCall, open_calls

_CANCELLED = "The call was cancelled before it finished; its outcome is unknown."


def sealing_events(ctx: InvocationContext, cause: BaseException) -> list[Event]:
    """Return a response event for each event of this run that has calls left open.

    Calls of long-running tools stay open: their answer comes from outside.
    """
    waiting = [
        call for call in open_calls(ctx.log, ctx.invocation_id, below=True) if not call.long_running
    ]
    text = f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else _CANCELLED
    by_event: dict[str, list[OpenCall]] = {}
    for call in waiting:
        by_event.setdefault(call.record.id, []).append(call)
    return [_seal(ctx, calls, text) for calls in by_event.values()]


def _seal(ctx: InvocationContext, calls: list[OpenCall], text: str) -> Event:
    parts = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.call_id, name=call.name, response={"error": text}
            )
        )
        for call in calls
    ]
    record = calls[0].record
    return Event(
        invocation_id=ctx.invocation_id,
        author=record.author,
        branch=record.branch,
        content=types.Content(role="user", parts=parts),
    )


def error_event(ctx: InvocationContext, error: Exception) -> Event:
    """Return the event that says which error ended the run."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        error_code=type(error).__name__,
        error_message=str(error),
    )
