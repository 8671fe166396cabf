"""Journal entries of tool calls: their start, their outcome, and the policy for calls in doubt."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .... import types
from ...._log import get_logger
from ....auth.redaction import public_config
from ....context.context import Context
from ....context.invocation import InvocationContext
from ....durable.effect_notes import EffectNote
from ....events.event import Event
from ....events.event_actions import EventActions
from ....models.invalid_args import INVALID_ARGS_KEY
from ....sessions.log.ordered_delta import OrderedDelta, WriteOrder
from ....sessions.log.resume import RERUN
from ....sessions.session import tombstones_of
from ....sessions.state import State, write_key
from ....sessions.store.outside_writes import find_later_writes
from ....tools.base_tool import BaseTool
from ....tools.function_tool import make_rejection
from ....tools.policy.notes import record_decision
from .call_policies import restricts_calls
from .tool_result import CallOutcome

if TYPE_CHECKING:
    from ....sessions.store.durable_store import JournalRow
    from ....sessions.store.effect_ledger import Outcome, Resolution

UNKNOWN = (
    "The process stopped while this call was running, so it is unknown whether the call took "
    "effect. It was not run again. Check what happened before you repeat the call."
)

UNCONFIRMED_RERUN = (
    "The process stopped while this call was running, so it may have taken effect already. It "
    "requires confirmation to run again, please approve or reject."
)

logger = get_logger(__name__)


def register_calls(ctx: InvocationContext, event: Event, tools: Mapping[str, BaseTool]) -> None:
    """Register the calls of an event before it is committed.

    A call without hooks, policy or confirmation before it starts with that commit. Another call is
    recorded if it is long-running, so that after a crash it does not seem to wait for an answer.
    """
    if event.long_running_tool_ids:
        ctx.run_state.unstarted_call_ids |= event.long_running_tool_ids
    journal = ctx.run_state.journal
    if journal is None:
        return
    hooked = (
        restricts_calls(ctx)
        or ctx.plugin_manager.overrides("before_tool_callback")
        or bool(ctx.agent.canonical_before_tool_callbacks)
    )
    for call in event.get_function_calls():
        tool = tools.get(call.name or "")
        if tool is None or tool.repeatable or not call.id or INVALID_ARGS_KEY in (call.args or ()):
            continue
        if not hooked and not tool.asks_first:
            journal.expect(event.id, call.id, tool.name, "started")
        elif tool.is_long_running:
            journal.expect(event.id, call.id, tool.name, "state")


def note_effect(
    context: Context, tool: BaseTool, args: dict[str, Any], resolution: Resolution
) -> None:
    """Describe a call that is about to run for the effects ledger, if the store keeps one.

    Args:
      context: the call's context.
      tool: the tool.
      args: its arguments.
      resolution: how the doubt about the call was resolved; '' if there was none.
    """
    ctx = context.get_invocation_context()
    journal, answer = ctx.run_state.journal, context.tool_confirmation
    if journal is None or not journal.keeps_effects or tool.repeatable:
        return
    approved_by = ctx.user_id if answer is not None and answer.confirmed else ""
    note = EffectNote(tool.name, type(tool).__name__, ctx.agent.name, args, approved_by)
    note.resolution = resolution
    if resolution:
        note.outcome = "done" if resolution == "check" else "unknown"
    journal.note_effect(context.function_call_id, note)


def note_outcome(ctx: InvocationContext, call_id: str | None, outcome: Outcome) -> None:
    """Note for the effects ledger that a tool's body has ended."""
    journal = ctx.run_state.journal
    if journal is not None and journal.keeps_effects:
        note = journal.effect(call_id)
        if note is not None:
            note.outcome = outcome


async def resolve_doubt(tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
    """Apply the tool's policy to a call in doubt: its process ended before it had a result.

    Returns:
      The response to give instead of running the tool; None to run it.
    """
    call = f"call {context.function_call_id}, invocation {context.invocation_id}"
    check = tool.in_doubt_check
    if check is not None:
        if inspect.iscoroutinefunction(check):
            return await check(args, context)
        in_thread: Any = partial(asyncio.to_thread, check, args, context)
        found = await context.get_invocation_context().run_state.run_serially(in_thread)
        return await found if inspect.isawaitable(found) else found
    if tool.in_doubt == "ask":
        context.request_confirmation(
            hint=f"The tool call {tool.name}() was interrupted and may have taken effect already. "
            "Approve to run it again, or reject it."
        )
        context.actions.skip_summarization = True
        return {"error": UNCONFIRMED_RERUN}
    call_id = context.function_call_id or ""
    context.get_invocation_context().run_state.repeated_call_ids[call_id] = [call_id]
    if tool.in_doubt == "at_most_once":
        logger.warning("Tool %r was interrupted and is not run again (%s).", tool.name, call)
        return {"error": UNKNOWN}
    logger.warning(
        "Tool %r was interrupted and is run again with the same idempotency key (%s).",
        tool.name,
        call,
    )
    return None


async def settle_doubt(
    tool: BaseTool, args: dict[str, Any], context: Context, answer: Any, in_doubt: bool
) -> Any:
    """Apply the tool's policy to a call in doubt, and describe the call for the effects ledger.

    Args:
      tool: the tool.
      args: its arguments.
      context: the call's context.
      answer: the response that a policy gives instead of running the tool; None if it gives none.
      in_doubt: whether the call began in a process that has ended.

    Returns:
      The response to give instead of running the tool; None to run it.
    """
    resolution: Resolution = "at_most_once" if answer is not None and in_doubt else ""
    if answer is None:
        answer = refuse_rerun(tool, context)
        resolution = "" if answer is None else "rejected"
        if answer is None and in_doubt:
            answer = await resolve_doubt(tool, args, context)
            checked = tool.in_doubt_check is not None
            resolution = "rerun" if answer is None else "check" if checked else tool.in_doubt
    note_effect(context, tool, args, resolution)
    return answer


def refuse_rerun(tool: BaseTool, context: Context) -> dict[str, Any] | None:
    """Return the response if the user refused to rerun a call in doubt; else None."""
    answer = context.tool_confirmation
    asked_here = tool.in_doubt == "ask" and not tool.asks_first
    return make_rejection(answer) if asked_here and answer and not answer.confirmed else None


def serialize_result(
    response: dict[str, Any] | None,
    actions: EventActions,
    rerun_ids: Sequence[str],
    *,
    decision: dict[str, Any] | None = None,
    with_client_secret: bool = False,
) -> str | None:
    """Return a call's response and effects as JSON for its row; None if JSON cannot hold them.

    Secrets and `temp:` keys are left out, as in events.
    """
    requested = actions.requested_auth_configs
    delta = actions.state_delta
    stored = actions.model_copy(
        update={
            "requested_auth_configs": {
                key: public_config(config, with_client_secret=with_client_secret)
                for key, config in requested.items()
            },
            "state_delta": {k: v for k, v in delta.items() if not k.startswith(State.TEMP_PREFIX)},
        }
    )
    try:
        effects = stored.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)
    except ValueError:
        return None  # storing the response event fails, too, and raises the error
    row = {"response": response, "actions": json.loads(effects), "rerun": [*rerun_ids]}
    if isinstance(delta, OrderedDelta) and delta:
        row["writes"] = {key: delta.times[key] for key in stored.state_delta}
    if decision is not None:
        row["policy"] = decision
    return json.dumps(row, separators=(",", ":"))


def restore_writes(ctx: InvocationContext, calls: Sequence[types.FunctionCall]) -> WriteOrder:
    """Return the order of the state writes of parallel calls: that of the run, if it has one.

    The writes of calls that finished in an earlier process go back into the session's state, so
    that their parallel calls can read them.
    """
    order, journal = ctx.run_state.write_order or WriteOrder(), ctx.run_state.journal
    rows = [] if journal is None else [journal.row(call.id) for call in calls]
    deltas = [_stored_delta(row) for row in rows if row is not None and is_finished(row)]
    for delta in deltas:
        order.restore(delta.times)
    if ctx.run_state.write_order is not None and journal is not None:
        for row, is_committed in journal.finished_rows():  # those of other branches, too
            order.restore(_stored_delta(row).times, is_committed=is_committed)
    for delta in [delta.join(order) for delta in deltas if delta]:
        theirs = find_later_writes(ctx.session, delta, ctx.invocation_id)
        for key, value in delta.items():
            if not (delta.is_superseded(key) or key in theirs):
                write_key(ctx.session.state, tombstones_of(ctx.session), key, value)
    return order


def _stored_delta(row: JournalRow) -> OrderedDelta:
    """Return the state delta of a call that ended in an earlier process."""
    fields = json.loads(row.result or "{}")
    delta = fields["actions"].get("stateDelta", {})
    return OrderedDelta(WriteOrder(), delta, fields.get("writes", {}))


def is_finished(row: JournalRow) -> bool:
    """Return whether the row says how its call ended."""
    return row.status == "finished" and row.result is not None


def has_response(row: JournalRow) -> bool:
    """Return whether the row of a finished call holds a response; a call may end without one."""
    return row.result is not None and json.loads(row.result)["response"] is not None


def read_rerun_ids(row: JournalRow) -> Sequence[str]:
    """Return the ids of calls that may have run twice, from the row of a finished call."""
    return json.loads(row.result)["rerun"] if row.result is not None else ()


def load_response_event(
    row: JournalRow | None, call: tuple[str | None, str], author: str, branch: str | None
) -> Event | None:
    """Return the response event of a call that finished in an earlier process.

    Args:
      row: the call's row in the journal, if it has one.
      call: id and name of the call.
      author: author of the event.
      branch: its branch.

    Returns:
      None if the call is not finished, or finished without a response.
    """
    if row is None or not is_finished(row) or not has_response(row):
        return None
    fields = json.loads(row.result or "")
    answer = types.FunctionResponse(id=call[0], name=call[1], response=fields["response"])
    actions = EventActions.model_validate(fields["actions"])
    if "writes" in fields:
        actions.state_delta = _stored_delta(row)
    return Event(
        invocation_id=row.invocation_id,
        author=author,
        branch=branch,
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        actions=actions,
        custom_metadata={RERUN: fields["rerun"]} if fields["rerun"] else None,
    )


def load_outcome(
    ctx: InvocationContext, call: types.FunctionCall, past: JournalRow, order: WriteOrder | None
) -> CallOutcome:
    """Return the outcome of a call that finished in an earlier process."""
    event = load_response_event(past, (call.id, call.name or ""), ctx.agent.name, ctx.branch)
    if event is not None:
        delta = event.actions.state_delta
        if order is not None and isinstance(delta, OrderedDelta):
            event.actions.state_delta = delta.join(order)
        ctx.run_state.finished_responses[call.id or ""] = event
    decision = None if past.result is None else json.loads(past.result).get("policy")
    if decision is not None:
        record_decision(ctx, call.id, decision)
    return CallOutcome(event, rerun_ids=read_rerun_ids(past))
