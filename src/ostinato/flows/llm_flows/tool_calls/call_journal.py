"""Journal entries of the tool calls of agents: their start and their outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .... import types
from ....auth.redaction import public_config
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....events.event_actions import EventActions
from ....models.invalid_args import INVALID_ARGS_KEY
from ....sessions.log.ordered_delta import OrderedDelta, WriteOrder
from ....sessions.log.resume import RERUN
from ....sessions.session import tombstones_of
from ....sessions.state import State, write_key
from ....sessions.store.outside_writes import find_later_writes
from ....tools.base_tool import BaseTool
from ....tools.policy.notes import record_decision
from .call_policies import find_restricting
from .tool_result import CallOutcome

if TYPE_CHECKING:
    from ....context._ports import RunJournal
    from ....sessions.store.durable_store import JournalRow


def register_calls(ctx: InvocationContext, event: Event, tools: Mapping[str, BaseTool]) -> None:
    """Register the calls of an event before it is committed.

    A call without hooks, policy or confirmation before it starts with that commit. Another call is
    recorded if it is long-running, so that after a crash it does not seem to wait for an answer.
    """
    if event.long_running_tool_ids:
        ctx.run_state.unstarted_call_ids.update(event.long_running_tool_ids)
    journal = ctx.run_state.journal
    if journal is None:
        return
    hooked = (
        ctx.services.policy is not None
        or bool(find_restricting(ctx))
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


def serialize_result(
    response: dict[str, Any] | None,
    actions: EventActions,
    rerun_ids: Sequence[str],
    *,
    decision: dict[str, Any] | None = None,
    has_ended: bool = False,
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
    if has_ended:
        row["ended"] = True
    return json.dumps(row, separators=(",", ":"))


def restore_writes(ctx: InvocationContext, calls: Sequence[types.FunctionCall]) -> WriteOrder:
    """Return the order of the state writes of parallel calls: that of the run, if it has one.

    The writes of calls that finished in an earlier process go back into the session's state, so
    that their parallel calls can read them.
    """
    order, journal = ctx.run_state.write_order or WriteOrder(), ctx.run_state.journal
    rows = [] if journal is None else [journal.earlier_row(call.id) for call in calls]
    deltas = [_stored_delta(row) for row in rows if row is not None and is_finished(row)]
    for delta in deltas:
        order.restore(delta.times)
    if ctx.run_state.write_order is not None and journal is not None:
        _restore_order(order, journal)  # with the calls of other branches
    for delta in [delta.join(order) for delta in deltas if delta]:
        theirs = find_later_writes(ctx.session, delta, ctx.invocation_id)
        for key, value in delta.items():
            if not (delta.is_superseded(key) or key in theirs):
                write_key(ctx.session.state, tombstones_of(ctx.session), key, value)
    return order


def _restore_order(order: WriteOrder, journal: RunJournal) -> None:
    """Take over the times of the writes of all calls that finished in earlier processes."""
    for row, is_committed in journal.finished_rows():
        order.restore(_stored_delta(row).times, is_committed=is_committed)


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


def load_left_response(
    journal: RunJournal, call: tuple[str | None, str], author: str, branch: str | None
) -> Event | None:
    """Return the response event of a call that its run left, without what others wrote later.

    Args:
      journal: the journal of that run.
      call, author, branch: as for `load_response_event`.
    """
    event = load_response_event(journal.earlier_row(call[0]), call, author, branch)
    if event is not None and isinstance(event.actions.state_delta, OrderedDelta):
        order = WriteOrder()
        _restore_order(order, journal)
        delta = event.actions.state_delta = event.actions.state_delta.join(order)
        delta.drop_outdated({})
    return event


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
    row: dict[str, Any] = {} if past.result is None else json.loads(past.result)
    if "policy" in row:
        record_decision(ctx, call.id, row["policy"])
    ended = [call.id or ""] if "ended" in row else ()
    return CallOutcome(event, rerun_ids=read_rerun_ids(past), ended_ids=ended)
