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
from ..context.invocation import InvocationContext
from ..durable.effect_notes import EffectNote
from ..events.tool_origin import InDoubt, read_in_doubt
from .base_tool import BaseTool
from .function_tool import make_rejection

if TYPE_CHECKING:
    from ..sessions.store.effect_row import Outcome, Resolution

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


def note_outcome(ctx: InvocationContext, call_id: str | None, outcome: Outcome) -> None:
    """Note for the effects ledger that a tool's body has ended."""
    journal = ctx.run_state.journal
    if journal is not None and journal.keeps_effects:
        note = journal.effect(call_id)
        if note is not None:
            note.outcome = outcome


def find_policy(tool: BaseTool, context: Context) -> InDoubt:
    """Return the policy for a call in doubt.

    Args:
      tool: the tool as the agent has it now.
      context: the call's context.

    Returns:
      The tool's own. For a tool from outside, whose hints may have changed, the stricter of this
      and the one that it had when the model called it.
    """
    call_id = context.function_call_id or ""
    record = context.get_invocation_context().log.find_call(call_id)
    before = None if record is None else read_in_doubt(record.event(), call_id)
    return before if before in _STRICTER.get(tool.in_doubt, ()) else tool.in_doubt


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
        context.request_confirmation(
            hint=f"The tool call {tool.name}() was interrupted and may have taken effect already. "
            "Approve to run it again, or reject it."
        )
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
      answer: the response that a policy gives instead of running the tool; None if it gives none.
      in_doubt: whether the call began in a process that has ended.
      caller: who calls the tool, for the effects ledger; the agent of the run if ''.

    Returns:
      The response to give instead of running the tool; None to run it.
    """
    resolution: Resolution = "at_most_once" if answer is not None and in_doubt else ""
    if answer is None:
        # Inlined: most calls need no confirmation.
        if context.tool_confirmation is not None:
            answer = refuse_rerun(tool, context, in_doubt)
        resolution = "" if answer is None else "rejected"
        if answer is None and in_doubt:
            policy = find_policy(tool, context)
            answer = await resolve_doubt(tool, args, context, policy)
            checked = tool.in_doubt_check is not None
            resolution = "rerun" if answer is None else "check" if checked else policy
    note_effect(context, tool, args, resolution, caller)
    return answer


def refuse_rerun(tool: BaseTool, context: Context, in_doubt: bool) -> dict[str, Any] | None:
    """Return the response if the user refused to rerun a call in doubt; else None."""
    answer = context.tool_confirmation
    if answer is None or answer.confirmed:
        return None
    if not in_doubt and (tool.asks_first or find_policy(tool, context) != "ask"):
        return None
    rejection = make_rejection(answer)
    return {**rejection, "error": f"{rejection['error']} {UNKNOWN}"}
