"""Sealing of a run that ended early: every call is closed, and the error is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from ... import types
from ..._log import get_logger
from ..._shielded import is_loop_running, run_shielded
from ...agents.base_agent import BaseAgent
from ...agents.guarded_run import is_guardrail_stop
from ...context.invocation import InvocationContext
from ...durable.effect_notes import EffectNote
from ...durable.journal import Journal
from ...errors import (
    InputValidationError,
    RunCancelledError,
    StoreError,
    ToolAbortedError,
)
from ...events.event import Event, place_in_tree
from ...flows.llm_flows.delegation import read_task_result
from ...flows.llm_flows.functions import (
    load_left_response,
    merge_parallel_function_response_events,
    read_rerun_ids,
)
from ...sessions.log.call_requests import (
    call_of,
    find_asking_call,
    is_rejected,
    kind_of,
    unfinished_decisions,
)
from ...sessions.log.event_log import EventLog, EventRecord, visible_records
from ...sessions.log.resume import RERUN, SEALED, OpenCall, open_calls
from ...sessions.store.durable_store import DurableStore, JournalRow, Place
from ...sessions.store.keyed_requests import is_keyed
from ...tools.function_tool import REJECTED
from ...workflow.rehydrate import make_cut_events
from ..routing.task_choice import has_open_request, waits_for_user

logger = get_logger(__name__)

_CANCELLED = "The call was cancelled before it finished; its outcome is unknown."
_CANCELLED_KEY = (
    "The run of this idempotency key was cancelled before it had an answer; send the message again "
    "under a new key."
)
_PASSED_BY = "The run stopped before this call was answered; its outcome is unknown."
_TASK_ENDED = "The task that called this agent finished before it."
_NOT_RUN = "The run stopped after the user had answered and before this call began; it did not run."


async def seal(ctx: InvocationContext, cause: BaseException) -> None:
    """Close every open call of this run, commit the answers, and clean up.

    Another cancellation does not interrupt it. A run whose generator is finalized after its event
    loop closed is abandoned instead, as if its process had died.
    """
    if not is_loop_running():
        return
    await run_shielded(_seal_run(ctx, cause))


async def try_to_seal(ctx: InvocationContext, cause: BaseException) -> StoreError | None:
    """Seal a run that is not sealed yet, and return a store error instead of raising it.

    Returns:
      The store's error, or None if the run is sealed. After an error the turn hands the invocation
      over, and its next owner closes the calls.
    """
    if not ctx.run_state.is_sealed:
        try:
            await seal(ctx, cause)
        except StoreError as error:
            return error
        ctx.run_state.is_sealed = True
    return None


async def _seal_run(ctx: InvocationContext, cause: BaseException) -> None:
    rows: Sequence[JournalRow] = ()
    try:
        events = [*sealing_events(ctx, cause), *_repeat_questions(ctx, cause)]
        events += make_cut_events(ctx)
        rows = _take_effects(ctx, events)
        await ctx.services.commit([*events, *_end_of_key(ctx, cause)], rows)
    except InputValidationError:
        # A result that cannot be stored ended the run: the error replaces the results.
        ctx.run_state.finished_responses.clear()
        events = [*sealing_events(ctx, cause), *make_cut_events(ctx), *_end_of_key(ctx, cause)]
        await ctx.services.commit(events, rows)
    for tidy_up in ctx.run_state.cleanup_callbacks.values():
        await tidy_up()


def _take_effects(ctx: InvocationContext, events: Sequence[Event]) -> Sequence[JournalRow]:
    """Return the ledger's rows of the calls that began and that the end of the run closes.

    A tool that was cancelled may have taken effect, and one in a thread runs to its end.

    Args:
      events: those that close the calls.
    """
    journal = ctx.run_state.journal
    if journal is None or not journal.keeps_effects:
        return ()
    responses = {one.id: one for event in events for one in event.get_function_responses()}
    for call_id, response in responses.items():
        row = journal.earlier_row(call_id)
        if row is None or row.status != "started" or journal.effect(call_id) is not None:
            continue
        found = ctx.log.find_call(call_id or "")
        asked = None if found is None else call_of(found, call_id or "")
        if found is not None and asked is not None:  # it began in a process that has ended
            note = EffectNote(response.name or "", "", found.author, asked.args or {})
            journal.note_effect(call_id, note)
    return journal.take_effects({call: one.response for call, one in responses.items()})


def _repeat_questions(ctx: InvocationContext, cause: BaseException) -> list[Event]:
    """Return events that ask again what workflow nodes had asked and a cancelled run was to act on.

    Without them, an answer that no node has used could neither be changed nor applied by a message.
    """
    if isinstance(cause, Exception) or not ctx.log.called_long_running(ctx.invocation_id):
        return []
    return [
        _repeat_question(call)
        for call in unfinished_decisions(ctx.log, ctx.invocation_id)
        if kind_of(call.name) != "result" and _is_unused(ctx, call)
    ]


def _is_unused(ctx: InvocationContext, question: OpenCall) -> bool:
    """Return whether no node has ended or said anything since a question was answered, and the tool
    node that asked has not begun its call.
    """
    call_id = question.call_id
    if _has_begun(ctx, f"{ctx.invocation_id}:{question.record.path}"):
        return False
    for record in ctx.log.invocation(ctx.invocation_id):
        if record.author == "user" and any(call == call_id for call, _ in record.responses):
            answered, past = ctx.log.records.index(record), ctx.run_state.past
            runs = () if past is None else past.runs.values()
            return all(run.finished is None or run.finished < answered for run in runs)
        if record.path:
            return False
    return False  # a message of another invocation has answered it


def _repeat_question(call: OpenCall) -> Event:
    parts = [types.Part(function_call=call_of(call.record, call.call_id))]
    event = _answer_event([call], parts)
    content = call.record.event().content
    event.content = types.Content(role=content and content.role, parts=parts)
    event.long_running_tool_ids = {call.call_id}
    return event


def _end_of_key(ctx: InvocationContext, cause: BaseException) -> list[Event]:
    """Return the event that records, for a repeated key, that its run was cancelled.

    An Exception has an event of its own, and a run that never stored its message can start again.
    """
    invocation_id = ctx.invocation_id
    if isinstance(cause, Exception) or is_guardrail_stop(cause) or not is_keyed(invocation_id):
        return []
    if ctx.log.start_of(invocation_id) is None:
        return []
    error: Exception = RunCancelledError(_CANCELLED_KEY)
    if not isinstance(cause, asyncio.CancelledError | GeneratorExit):
        error = ToolAbortedError(f"The run was ended by {type(cause).__name__:.100}.")
    event = error_event(ctx, error)
    config = ctx.run_config
    event.custom_metadata = config.custom_metadata if config is not None else None
    return [event]


def sealing_events(ctx: InvocationContext, cause: BaseException) -> list[Event]:
    """Return a response event for each event of this run that has open calls.

    A call of a started long-running tool stays open: its answer comes from outside. So does the
    call of a task, which the next message resumes, and of a single-turn agent that waits for a
    person.
    """
    root_agent = ctx.agent.root_agent
    found = open_calls(ctx.log, ctx.invocation_id, below=True)
    decided = _decided_calls(ctx, cause)
    found += [call for call in decided if call not in found]
    staying = [
        call
        for call in found
        if call.long_running and call.call_id not in ctx.run_state.unstarted_call_ids
    ]
    waiting = [
        call
        for call in found
        if call not in staying
        if not waits_for_user(ctx.log, root_agent, call.record, call.call_id)
    ]
    decided_ids = {call.call_id for call in decided}
    events = [
        _seal_calls(ctx, calls, [_explain_end(ctx, call, cause, decided_ids) for call in calls])
        for calls in _by_event(waiting)
    ]
    again = [call for call in staying if _run_before(ctx, call)]
    recorded = _find_recorded_reruns(ctx) if again else ()
    unrecorded = [call for call in again if call.call_id not in recorded]
    return [*events, *(_ran_again(ctx, calls) for calls in _by_event(unrecorded))]


def close_cut_calls(
    ctx: InvocationContext, cause: Exception, path: str, agent: str = "", branch: str = ""
) -> list[Event]:
    """Return the responses to the calls that a failed attempt of a node or an agent left open.

    It may be retried, or the node around it may handle the error: the run may not end here.

    Args:
      ctx: the run.
      cause: how the attempt failed.
      path: the node's path; calls of the nodes below it count, too.
      agent: the name of an agent in the context's scope, whose own calls count in place of a path.
      branch: a branch whose calls count in place of a path, with those of the branches below it.
    """
    root_agent = ctx.agent.root_agent

    def is_cut(record: EventRecord) -> bool:
        if branch:
            return record.branch == branch or (record.branch or "").startswith(f"{branch}.")
        if agent:
            return (record.author, record.scope) == (agent, ctx.isolation_scope)
        return record.path == path or (record.path or "").startswith(f"{path}/")

    found = [*open_calls(ctx.log, ctx.invocation_id, below=True), *_decided_calls(ctx, cause)]
    cut = {
        call.call_id: call
        for call in found
        if is_cut(call.record)
        if not call.long_running
        if not waits_for_user(ctx.log, root_agent, call.record, call.call_id)
    }
    return [
        _seal_calls(ctx, calls, [_explain_end(ctx, call, cause, set()) for call in calls])
        for calls in _by_event([*cut.values()])
    ]


def _decided_calls(ctx: InvocationContext, cause: BaseException) -> list[OpenCall]:
    """Return the tool calls that the user approved and that have no result.

    A call whose tool had not started when an error ended the run is excluded: a resume runs it. So
    is a long-running one that another invocation runs, of a message with an idempotency key.
    """
    answered = _answered_here(ctx)
    if not answered and not ctx.log.called_long_running(ctx.invocation_id):
        return []
    return [
        call
        for call in unfinished_decisions(ctx.log)
        if call.call_id in answered
        or (call.record.invocation_id == ctx.invocation_id and not call.long_running)
        if kind_of(call.name) == "result"
        and (not isinstance(cause, Exception) or _has_begun(ctx, call.call_id))
    ]


def _answered_here(ctx: InvocationContext) -> set[str]:
    """Return the tool calls whose requests a message of this run answers.

    An answer with an idempotency key starts an invocation of its own.
    """
    return {
        asked
        for record in ctx.log.invocation(ctx.invocation_id)
        if record.author == "user"
        for call_id, _ in record.responses
        if (asked := find_asking_call(ctx.log, call_id or "")) is not None
    }


def _has_begun(ctx: InvocationContext, call_id: str) -> bool:
    journal = ctx.run_state.journal
    state = ctx.run_state
    return call_id in (*state.finished_responses, *state.started_call_ids) or (
        journal is not None and journal.earlier_row(call_id) is not None
    )


def _find_recorded_reruns(ctx: InvocationContext) -> set[str]:
    """Return the calls that the log already marks as possibly run before."""
    records = ctx.log.invocation(ctx.invocation_id)
    events = [record.event() for record in records if record.has_metadata(RERUN)]
    return {call for event in events for call in (event.custom_metadata or {}).get(RERUN, ())}


def _ran_again(ctx: InvocationContext, calls: list[OpenCall]) -> Event:
    """Return an event without content that names the open calls that may have run before."""
    event = _answer_event(calls, [])
    again = [call_id for call in calls for call_id in _run_before(ctx, call)]
    event.content, event.custom_metadata = None, {RERUN: again}
    return event


def _explain_end(
    ctx: InvocationContext, call: OpenCall, cause: BaseException, decided_ids: set[str]
) -> str:
    """Return why a call has no result; of a decided call, whether it ran is known.

    A call that an error cut had begun, and has no error of its own: its tool was cancelled.
    """
    if isinstance(cause, Exception):
        text = f"{type(cause).__name__}: {cause}"
        if call.call_id not in ctx.run_state.started_call_ids:
            return text
        return f"{text}{'' if text.endswith('.') else '.'} {_CANCELLED}"
    if call.call_id not in decided_ids or _may_have_run(ctx, call.call_id):
        return _CANCELLED
    return REJECTED if is_rejected(ctx.log, call.call_id) else _NOT_RUN


def _may_have_run(ctx: InvocationContext, call_id: str) -> bool:
    """Return whether a decided call's tool started, in this run or in an earlier one."""
    state = ctx.run_state
    row = state.earlier_row(call_id)
    if call_id in state.started_call_ids or (row is not None and row.status != "state"):
        return True
    return _count_responses(ctx.log, call_id) > 1  # a call in doubt was asked again


def _seal_calls(ctx: InvocationContext, calls: list[OpenCall], texts: Sequence[str]) -> Event:
    """Close the calls of one event: with the result of a finished call, else with its text."""
    answers = [
        ctx.run_state.finished_responses.get(call.call_id)
        or _find_stored_result(ctx, call)
        or _find_task_result(ctx, call)
        or _answer_event(calls, [_error_part(call, text)])
        for call, text in zip(calls, texts, strict=True)
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
    event.node_info = calls[0].record.place()
    return event


def _run_before(ctx: InvocationContext, call: OpenCall) -> Sequence[str]:
    """Return the ids under which a call is in doubt: this run or an earlier one may have run it."""
    row = ctx.run_state.earlier_row(call.call_id)
    if call.call_id in ctx.run_state.repeated_call_ids or row is None:
        return ctx.run_state.repeated_call_ids.get(call.call_id, ())
    return [call.call_id] if row.status == "started" else read_rerun_ids(row)


def _find_stored_result(ctx: InvocationContext, call: OpenCall) -> Event | None:
    """Return the journalled response of a call that finished before a crash."""
    if ctx.run_state.journal is None:
        return None
    named, record = (call.call_id, call.name), call.record
    return load_left_response(ctx.run_state.journal, named, record.author, record.branch)


def _find_task_result(ctx: InvocationContext, call: OpenCall) -> Event | None:
    """Return the response to the call of a task that had finished."""
    result = read_task_result(ctx.log, call.call_id)
    if result is None:
        return None
    given = types.FunctionResponse(id=call.call_id, name=call.name, response=result)
    return _answer_event([call], [types.Part(function_response=given)])


def close_call_of_ended_task(log: EventLog, call_id: str | None) -> Event | None:
    """Return the response to a single-turn agent's call, or None if it stays open.

    It is closed if its caller's task has finished and the agent has no open request.

    Args:
      log: the records.
      call_id: the call; None for none.
    """
    record = log.unanswered.get(call_id)
    if call_id is None or record is None or log.scopes.get(record.scope or "") is None:
        return None
    decided = any(one.record.scope == call_id for one in unfinished_decisions(log))
    if decided or has_open_request(log, call_id):
        return None
    name = next(name for call, name in record.calls if call == call_id)
    call = OpenCall(record, call_id, name, False)
    return _answer_event([call], [_error_part(call, _TASK_ENDED)])


def _answer_event(calls: list[OpenCall], parts: list[types.Part]) -> Event:
    """Return an event with responses to calls of one event."""
    record = calls[0].record
    return Event(
        invocation_id=record.invocation_id,
        author=record.author,
        branch=record.branch,
        isolation_scope=record.scope,
        node_info=record.place(),  # in a graph, an agent sees the events of its node
        content=types.Content(role="user", parts=parts),
    )


def _error_part(call: OpenCall, text: str) -> types.Part:
    answer = types.FunctionResponse(id=call.call_id, name=call.name, response={"error": text})
    return types.Part(function_response=answer)


def _by_event(calls: list[OpenCall]) -> Iterable[list[OpenCall]]:
    found: dict[str, list[OpenCall]] = {}
    for call in calls:
        found.setdefault(call.record.id, []).append(call)
    return found.values()


async def close_parked_calls(
    durable: DurableStore,
    place: Place,
    log: EventLog,
    invocation_id: str,
    root_agent: BaseAgent,
    *,
    has_message: bool = True,
) -> list[Event]:
    """Return answers that close what a parked invocation left open, which a message skips.

    These are its calls without a response, and the calls that the user decided and that came to no
    result. A message to the parked invocation itself closes the latter alone: the run acts on the
    decisions of that message only.

    Args:
      durable: the store.
      place: the session.
      log: its records.
      invocation_id: the invocation that the message starts or resumes.
      root_agent: the agents; a task stays open, because the message may be for it.
      has_message: whether the run starts with a message; a parked invocation that is resumed
        without one acts on its newest decisions again.
    """
    if not log.unanswered and not log.has_long_running:
        return []
    lease = await durable.lease(place)
    if lease is None or not lease.stuck:
        return []
    is_own = lease.invocation_id == invocation_id
    if is_own and not has_message:
        return []
    left = [] if is_own else open_calls(log, lease.invocation_id, below=True)
    waiting = [
        call
        for call in left
        if not call.long_running and not waits_for_user(log, root_agent, call.record, call.call_id)
    ]
    decided = [
        call
        for call in unfinished_decisions(log, lease.invocation_id)
        if kind_of(call.name) == "result"
    ]
    if not waiting and not decided:
        return []
    rows = await durable.journal(place, lease.invocation_id)
    journal = Journal(lease.invocation_id, rows, log)
    events = [_close_skipped_calls(journal, calls) for calls in _by_event(waiting)]
    events += [_close_decided_call(log, journal, call) for call in decided]
    return events


def _close_skipped_calls(journal: Journal, calls: list[OpenCall]) -> Event:
    """Return the responses to the calls of one event: each journalled result, else the reason."""
    answers = [
        _load_result(journal, call) or _answer_event([call], [_error_part(call, _PASSED_BY)])
        for call in calls
    ]
    event = merge_parallel_function_response_events(answers)
    event.invocation_id = calls[0].record.invocation_id
    event.isolation_scope, event.node_info = calls[0].record.scope, calls[0].record.place()
    return event


def _load_result(journal: Journal, call: OpenCall) -> Event | None:
    """Return the response of a call that finished before a crash, as part of the call's run."""
    record, named = call.record, (call.call_id, call.name)
    stored = load_left_response(journal, named, record.author, record.branch)
    if stored is not None:
        stored.invocation_id = record.invocation_id  # the answer may have had one of its own
        stored.isolation_scope, stored.node_info = record.scope, record.place()
    return stored


def _close_decided_call(log: EventLog, journal: Journal, call: OpenCall) -> Event:
    """Return the response to a decided call: its journalled result, or why it has no result.

    A long-running call that may have begun stays open: its answer comes from outside.
    """
    stored = _load_result(journal, call)
    if stored is not None:
        return stored
    row = journal.earlier_row(call.call_id)
    has_begun = row is not None and row.status != "state"
    if has_begun or _count_responses(log, call.call_id) > 1:  # a call in doubt was asked again
        return _answer_event([call], [_error_part(call, _PASSED_BY)])
    text = REJECTED if is_rejected(log, call.call_id) else _NOT_RUN
    event = _answer_event([call], [_error_part(call, text)])
    if call.long_running:
        event.custom_metadata = {SEALED: True}
    return event


def _count_responses(log: EventLog, call_id: str) -> int:
    return sum(
        answered == call_id
        for record in visible_records(log)
        if record.author != "user"
        for answered, _ in record.responses
    )


def error_event(ctx: InvocationContext, error: Exception) -> Event:
    """Return the event that records the error that ended the run.

    If a parallel branch failed, its author and branch are those of the agent that failed.
    """
    failure = ctx.run_state.failure
    if failure is None or failure[0] is not error:
        failure = error, "", ctx.agent.name, ctx.branch
    _, path, author, branch = failure
    if not branch or "@" in branch:  # not in a parallel branch: the root's, as the path says more
        author, branch = ctx.agent.name, ctx.branch
    event = Event(
        invocation_id=ctx.invocation_id,
        author=author,
        branch=branch,
        error_code=type(error).__name__,
        error_message=str(error),
    )
    if path:
        place_in_tree(event, path)
    return event


async def report_error(ctx: InvocationContext, error: Exception, *, has_agent_failed: bool) -> None:
    """Tell plugins of a run's error, and of its end if a hook of theirs raised it."""
    hooks = ctx.plugin_manager
    if hooks.overrides("on_run_error_callback"):
        await hooks.run_on_run_error_callback(invocation_context=ctx, error=error)
    if not has_agent_failed:
        await hooks.run_after_run_callback(invocation_context=ctx)
