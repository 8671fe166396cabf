"""Tool calls in the journal: that they begin, what came of them, and what to do where that is in
doubt.

`functions.py` uses it around each call, the loop before it commits an event with calls.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import types
from ..._log import get_logger
from ...auth.redaction import public_config
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...events.event_actions import EventActions
from ...models.invalid_args import INVALID_ARGS_KEY
from ...sessions._resume import RERUN
from ...sessions.state import State
from ...tools.base_tool import BaseTool
from ...tools.function_tool import REJECTED, UNCONFIRMED

if TYPE_CHECKING:
    from ...sessions._durable_store import JournalRow

UNKNOWN = (
    "The process ended while this call was running; whether it took effect is unknown. It is not "
    "run again by itself. Find out what happened before you call it once more."
)

logger = get_logger(__name__)


def note_calls(ctx: InvocationContext, event: Event, tools: Mapping[str, BaseTool]) -> None:
    """Note the calls of an event that is to be committed.

    Calls that nothing stands before begin with that very commit; of others a long-running one is at
    least known of, so that after a crash it is not taken for one that waits for its answer.
    """
    if event.long_running_tool_ids:
        ctx.ports.unbegun |= event.long_running_tool_ids
    journal = ctx.ports.journal
    if journal is None:
        return
    hooked = ctx.plugin_manager.overrides("before_tool_callback") or bool(
        ctx.agent.canonical_before_tool_callbacks
    )
    for call in event.get_function_calls():
        tool = tools.get(call.name or "")
        if tool is None or tool.repeatable or not call.id or INVALID_ARGS_KEY in (call.args or ()):
            continue
        if not hooked and not tool.asks_first:
            journal.expect(event.id, call.id, tool.name, "started")
        elif tool.is_long_running:
            journal.expect(event.id, call.id, tool.name, "state")


async def settle(tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
    """Do with a call as its tool says: it had begun when its process ended, and has no result.

    Returns:
      What to answer instead of running the tool; None to run it.
    """
    call = f"call {context.function_call_id}, invocation {context.invocation_id}"
    check = tool.in_doubt_check
    if check is not None:
        found: Any = (
            check(args, context)
            if inspect.iscoroutinefunction(check)
            else await asyncio.to_thread(check, args, context)
        )
        return await found if inspect.isawaitable(found) else found
    if tool.in_doubt == "ask":
        context.request_confirmation(
            hint=f"The tool call {tool.name}() was interrupted and may have taken effect already. "
            "Approve to run it again, or reject it."
        )
        context.actions.skip_summarization = True
        return {"error": UNCONFIRMED}
    ports, call_id = context.get_invocation_context().ports, context.function_call_id or ""
    ports.repeated[call_id] = [call_id]
    if tool.in_doubt == "at_most_once":
        logger.warning("Tool %r was interrupted and is not run again (%s).", tool.name, call)
        return {"error": UNKNOWN}
    logger.warning(
        "Tool %r was interrupted and is run again with the same idempotency key (%s).",
        tool.name,
        call,
    )
    return None


def refused(tool: BaseTool, context: Context) -> dict[str, Any] | None:
    """Return what to answer where the user refused to run a call in doubt again; else None."""
    answer = context.tool_confirmation
    asked_here = tool.in_doubt == "ask" and not tool.asks_first
    return {"error": REJECTED} if asked_here and answer and not answer.confirmed else None


def result_text(
    response: dict[str, Any] | None, actions: EventActions, flagged: Sequence[str]
) -> str | None:
    """Return response and effects of a call as the JSON of its row; None where they have none.

    Secrets and `temp:` keys stay out, as they do of events.
    """
    requested = actions.requested_auth_configs
    delta = actions.state_delta
    stored = actions.model_copy(
        update={
            "requested_auth_configs": {k: public_config(c) for k, c in requested.items()},
            "state_delta": {k: v for k, v in delta.items() if not k.startswith(State.TEMP_PREFIX)},
        }
    )
    try:
        effects = stored.model_dump_json(by_alias=True, exclude_none=True, exclude_defaults=True)
    except ValueError:
        return None  # the response event cannot be stored either, and says so
    return json.dumps(
        {"response": response, "actions": json.loads(effects), "rerun": [*flagged]},
        separators=(",", ":"),
    )


def has_response(row: JournalRow) -> bool:
    """Tell whether the row of a call that ended holds a response; one may end without."""
    return row.result is not None and json.loads(row.result)["response"] is not None


def reruns(row: JournalRow) -> Sequence[str]:
    """Return the ids of calls that may have run twice, by the row of a call that has ended."""
    return json.loads(row.result)["rerun"] if row.result is not None else ()


def stored_event(
    row: JournalRow | None, call: tuple[str | None, str], author: str, branch: str | None
) -> Event | None:
    """Return the response event of a call whose end an earlier process had stored.

    Args:
      row: what is stored of the call.
      call: id and name of the call.
      author: author of the event.
      branch: its branch.

    Returns:
      None where the row tells no end, or where the call ended without a response.
    """
    if row is None or row.status != "finished" or row.result is None or not has_response(row):
        return None
    fields = json.loads(row.result)
    answer = types.FunctionResponse(id=call[0], name=call[1], response=fields["response"])
    return Event(
        invocation_id=row.invocation_id,
        author=author,
        branch=branch,
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        actions=EventActions.model_validate(fields["actions"]),
        custom_metadata={RERUN: fields["rerun"]} if fields["rerun"] else None,
    )
