"""How a run that ended early is left in the log: every call answered, the error on record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import types
from .._shielded import shielded
from ..agents.base_agent import BaseAgent
from ..context.invocation import InvocationContext
from ..errors import InputValidationError
from ..events.event import Event, NodeInfo
from ..flows.llm_flows.functions import (
    merge_parallel_function_response_events,
    reruns,
    stored_event,
)
from ..sessions._durable_store import DurableStore, Place
from ..sessions._resume import RERUN, SEALED, OpenCall, open_calls
from ..sessions.event_log import EventLog
from .task_choice import is_task

_CANCELLED = "The call was cancelled before it finished; its outcome is unknown."
_PASSED_BY = "The run stopped before this call was answered; its outcome is unknown."


async def seal(ctx: InvocationContext, cause: BaseException) -> None:
    """Answer every call that this run leaves open, commit the answers, and tidy up.

    A run that is cancelled once more meanwhile is sealed all the same.
    """
    await shielded(_seal_run(ctx, cause))


async def _seal_run(ctx: InvocationContext, cause: BaseException) -> None:
    try:
        await ctx.ports.commit(sealing_events(ctx, cause))
    except InputValidationError:
        # What a call gave cannot be stored, and is what ended the run; the error answers it then.
        ctx.ports.finished.clear()
        await ctx.ports.commit(sealing_events(ctx, cause))
    for tidy_up in ctx.ports.leftovers.values():
        await tidy_up()


def sealing_events(ctx: InvocationContext, cause: BaseException) -> list[Event]:
    """Return a response event for each event of this run that has calls left open.

    A call whose long-running tool had begun stays open: its answer comes from outside. So does that
    of a task: the next message goes on with it.
    """
    root_agent = ctx.agent.root_agent
    found = open_calls(ctx.log, ctx.invocation_id, below=True)
    staying = [
        call for call in found if call.long_running and call.call_id not in ctx.ports.unbegun
    ]
    waiting = [
        call
        for call in found
        if call not in staying and not is_task(ctx.log, root_agent, call.record, call.call_id)
    ]
    text = f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else _CANCELLED
    events = [_seal(ctx, calls, text) for calls in _by_event(waiting)]
    again = [call for call in staying if _run_before(ctx, call)]
    told = _told(ctx) if again else ()
    untold = [call for call in again if call.call_id not in told]
    return [*events, *(_ran_again(ctx, calls) for calls in _by_event(untold))]


def _told(ctx: InvocationContext) -> set[str]:
    """Return the calls of which the log says already that they may have run before."""
    records = ctx.log.invocation(ctx.invocation_id)
    events = [record.event() for record in records if f'"{RERUN}"' in record.data]
    return {call for event in events for call in (event.custom_metadata or {}).get(RERUN, ())}


def _ran_again(ctx: InvocationContext, calls: list[OpenCall]) -> Event:
    """Return the event by which alone the log says that calls which stay open ran again."""
    event = _answer(calls, [])
    again = [call_id for call in calls for call_id in _run_before(ctx, call)]
    event.content, event.custom_metadata = None, {RERUN: again}
    return event


def _seal(ctx: InvocationContext, calls: list[OpenCall], text: str) -> Event:
    """Answer the calls of one event: with its result where a call had ended, else with `text`."""
    answers = [
        ctx.ports.finished.get(call.call_id)
        or _stored(ctx, call)
        or _answer(calls, [_unanswered(call, text)])
        for call in calls
    ]
    event = merge_parallel_function_response_events(answers)
    metadata = dict(event.custom_metadata or {})
    if any(call.long_running for call in calls):
        metadata[SEALED] = True
    again = [call for answer in answers for call in (answer.custom_metadata or {}).get(RERUN, ())]
    again += [id for call in calls for id in _run_before(ctx, call) if id not in again]
    if again:
        metadata[RERUN] = again
    event.custom_metadata = metadata or None
    event.isolation_scope = calls[0].record.scope
    event.node_info = NodeInfo(path=calls[0].record.path)
    return event


def _run_before(ctx: InvocationContext, call: OpenCall) -> Sequence[str]:
    """Return the ids under which a call is in doubt: this run ran it again or was about to, or an
    earlier one had.
    """
    row = None if ctx.ports.journal is None else ctx.ports.journal.row(call.call_id)
    if call.call_id in ctx.ports.repeated or row is None:
        return ctx.ports.repeated.get(call.call_id, ())
    return [call.call_id] if row.status == "started" else reruns(row)


def _stored(ctx: InvocationContext, call: OpenCall) -> Event | None:
    """Return the response of a call that had ended before a crash, in the run that this resumes."""
    if ctx.ports.journal is None:
        return None
    row, record = ctx.ports.journal.row(call.call_id), call.record
    return stored_event(row, (call.call_id, call.name), record.author, record.branch)


def _answer(calls: list[OpenCall], parts: list[types.Part]) -> Event:
    """Return an event with responses to calls of one event."""
    record = calls[0].record
    return Event(
        invocation_id=record.invocation_id,
        author=record.author,
        branch=record.branch,
        isolation_scope=record.scope,
        node_info=NodeInfo(path=record.path),  # its agent sees in a graph what is of its node
        content=types.Content(role="user", parts=parts),
    )


def _unanswered(call: OpenCall, text: str) -> types.Part:
    answer = types.FunctionResponse(id=call.call_id, name=call.name, response={"error": text})
    return types.Part(function_response=answer)


def _by_event(calls: list[OpenCall]) -> Iterable[list[OpenCall]]:
    found: dict[str, list[OpenCall]] = {}
    for call in calls:
        found.setdefault(call.record.id, []).append(call)
    return found.values()


async def answers_for_parked(
    durable: DurableStore,
    place: Place,
    log: EventLog,
    invocation_id: str,
    root_agent: BaseAgent,
) -> list[Event]:
    """Return answers to the calls that a parked invocation left open, which a message passes by.

    Args:
      durable: the store.
      place: the session.
      log: its records.
      invocation_id: the invocation that the message begins or goes on with.
      root_agent: the agents; a task stays open, the message may be said to it.
    """
    if not log.unanswered:
        return []
    lease = await durable.lease(place)
    if lease is None or not lease.stuck or lease.invocation_id == invocation_id:
        return []
    left = open_calls(log, lease.invocation_id, below=True)
    waiting = [
        call
        for call in left
        if not call.long_running and not is_task(log, root_agent, call.record, call.call_id)
    ]
    return [
        _answer(calls, [_unanswered(call, _PASSED_BY) for call in calls])
        for calls in _by_event(waiting)
    ]


def error_event(ctx: InvocationContext, error: Exception) -> Event:
    """Return the event that says which error ended the run."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        error_code=type(error).__name__,
        error_message=str(error),
    )
