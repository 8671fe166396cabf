"""Calls in doubt: the policy of a tool whose process died while it ran, and the notes for the
effects ledger. Agents and the tool nodes of workflows follow it alike.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from .._log import get_logger
from ..context.context import Context
from ..durable.effect_notes import EffectNote
from ..events.pending import is_edited, make_rerun_hint
from ..events.tool_origin import InDoubt, read_in_doubt
from ..sessions.log.call_requests import find_decided_question
from .base_tool import BaseTool

if TYPE_CHECKING:
    from ..events.event_actions import EventActions
    from ..sessions.store.effect_row import Resolution


class UnknownOutcome(dict[str, Any]):
    """A tool's `{"error": ...}` about a request that may have been carried out.

    The model reads it like any result. A workflow node fails, so that no other node takes it for
    the tool's result.
    """

    __slots__ = ()


class CallNotRun(dict[str, Any]):
    """A tool's `{"error": ...}` about a call that was not run: its server could not be reached, or
    refused the caller.

    The model reads it like any result. A workflow node fails and may be retried.
    """

    __slots__ = ()


class CallDeclined(CallNotRun):
    """A tool's `{"error": ...}` about a call that a person's answer to its question has ended.

    The model reads it like any result. A workflow node fails and is not retried.
    """

    __slots__ = ()


UNKNOWN = (
    "The process stopped while this call was running, so it is unknown whether the call took "
    "effect. It was not run again. Check what happened before you repeat the call."
)

UNCONFIRMED_RERUN = (
    "The process stopped while this call was running, so it may have taken effect already. It "
    "requires confirmation to run again, please approve or reject."
)

_STRICTER: dict[InDoubt, tuple[InDoubt, ...]] = {
    "rerun": ("at_most_once", "ask"),
    "at_most_once": ("ask",),
}

logger = get_logger(__name__)


def is_rerun_rejected(context: Context) -> bool:
    """Return whether a person refused to run a call in doubt again.

    Args:
      context: the call's context.
    """
    answer = context.tool_confirmation
    if answer is None or answer.confirmed:
        return False
    question = find_decided_question(
        context.get_invocation_context().log, context.function_call_id or ""
    )
    return question is not None and question.hint == make_rerun_hint(question.tool)


def note_effect(
    context: Context,
    tool: BaseTool,
    args: dict[str, Any],
    resolution: Resolution,
    caller: str = "",
) -> None:
    """Describe a call that is about to run for the effects ledger, if the store keeps one.

    Args:
      context: the call's context.
      tool: the tool.
      args: its arguments.
      resolution: how the doubt about the call was resolved; '' if there was none.
      caller: who calls the tool; the agent of the run if ''.
    """
    ctx = context.get_invocation_context()
    journal, answer = ctx.run_state.journal, context.tool_confirmation
    if journal is None or not journal.keeps_effects or tool.repeatable:
        return
    approved_by = ctx.user_id if answer is not None and answer.confirmed else ""
    caller = caller or ctx.agent.name
    note = EffectNote(tool.name, type(tool).__name__, caller, args, approved_by)
    note.resolution = resolution
    if resolution:
        note.outcome = "done" if resolution == "check" else "unknown"
    journal.note_effect(context.function_call_id, note)


def asks_person(actions: EventActions) -> bool:
    """Return whether a call asks for a confirmation or a credential."""
    return bool(actions.requested_auth_configs or actions.requested_tool_confirmations)


def note_outcome(context: Context, given: Any) -> None:
    """Note for the effects ledger that a tool's body has ended.

    Args:
      context: the call's context.
      given: what the tool returned, or the exception that it raised.
    """
    journal = context.get_invocation_context().run_state.journal
    if journal is None or not journal.keeps_effects:
        return
    note = journal.effect(context.function_call_id)
    if note is None:
        return
    if isinstance(given, UnknownOutcome) or getattr(given, "cuts_call", False):
        note.outcome = "unknown"
    elif isinstance(given, CallNotRun):
        note.outcome = "not run"
    elif isinstance(given, BaseException):
        note.outcome = "failed"
    else:
        note.outcome = "asked" if asks_person(context.actions) else "done"


def find_policy(tool: BaseTool, context: Context) -> InDoubt:
    """Return the policy for a call in doubt.

    Args:
      tool: the tool as the agent has it now.
      context: the call's context.

    Returns:
      The tool's own. For a tool from outside, whose hints may have changed, the stricter of this
      and the one that it had when the model called it. A call that began with other arguments
      than the log has is not run again on its own: its idempotency key stands for those.
    """
    call_id = context.function_call_id or ""
    ctx = context.get_invocation_context()
    record = ctx.log.find_call(call_id)
    event = None if record is None else record.event()
    before = None if event is None else read_in_doubt(event, call_id)
    policy = before if before in _STRICTER.get(tool.in_doubt, ()) else tool.in_doubt
    journal = ctx.run_state.journal
    row = None if journal is None else journal.earlier_row(call_id)
    is_first_run = row is not None and row.call_id == call_id
    if policy == "rerun" and is_first_run and event is not None and is_edited(event, call_id):
        logger.warning(
            "A plugin had changed the arguments of the call in its event, so it cannot be run "
            "again as it was (call %s, invocation %s).",
            call_id,
            context.invocation_id,
        )
        return "at_most_once"
    return policy


async def resolve_doubt(
    tool: BaseTool, args: dict[str, Any], context: Context, policy: InDoubt
) -> Any:
    """Apply a policy to a call in doubt: its process ended before it had a result.

    Args:
      tool: the tool; its check decides if it has one.
      args: the call's arguments.
      context: the call's context.
      policy: the policy.

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
    if policy == "ask":
        context.request_confirmation(hint=make_rerun_hint(tool.name))
        context.actions.skip_summarization = True
        return {"error": UNCONFIRMED_RERUN}
    call_id = context.function_call_id or ""
    context.get_invocation_context().run_state.repeated_call_ids[call_id] = [call_id]
    if policy == "at_most_once":
        logger.warning("Tool %r was interrupted and is not run again (%s).", tool.name, call)
        return {"error": UNKNOWN}
    logger.warning(
        "Tool %r was interrupted and is run again with the same idempotency key (%s).",
        tool.name,
        call,
    )
    return None


async def settle_doubt(
    tool: BaseTool,
    args: dict[str, Any],
    context: Context,
    answer: Any,
    in_doubt: bool,
    caller: str = "",
) -> Any:
    """Apply the tool's policy to a call in doubt, and describe the call for the effects ledger.

    Args:
      tool: the tool.
      args: its arguments.
      context: the call's context.
      answer: the response that a policy or a person's rejection gives instead of running the tool;
        None without such a refusal.
      in_doubt: whether the call began in a process that has ended.
      caller: who calls the tool, for the effects ledger; the agent of the run if ''.

    Returns:
      The response to give instead of running the tool; None to run it.
    """
    resolution: Resolution = ""
    if answer is not None:
        resolution = "at_most_once" if in_doubt else ""
        if context.tool_confirmation is not None and is_rerun_rejected(context):
            resolution = "rejected"
    elif in_doubt:
        policy = find_policy(tool, context)
        answer = await resolve_doubt(tool, args, context, policy)
        checked = tool.in_doubt_check is not None
        resolution = "rerun" if answer is None else "check" if checked else policy
    note_effect(context, tool, args, resolution, caller)
    return answer
