"""Acting on calls: run them and yield what the session must know, in the specified order.

The loop uses it after a response, the confirmation and credential processors after an answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..._aclosing import Aclosing
from ...auth.redaction import public_config
from ...context.delegation import Relay
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...sessions._resume import RERUN
from ...tools.base_tool import BaseTool
from . import functions
from .delegation import note_output, runs_agent

if TYPE_CHECKING:
    from ...auth.tool_confirmation import ToolConfirmation


async def act(
    ctx: InvocationContext,
    call_event: Event,
    tools: Mapping[str, BaseTool],
    filters: set[str] | None = None,
    confirmations: Mapping[str, ToolConfirmation] | None = None,
) -> AsyncGenerator[Event, None]:
    """Run the calls of an event (Spec 2 §6.3).

    Args:
      ctx: the run.
      call_event: the event that holds the calls.
      tools: tools by name.
      filters: ids of the calls to run; all where None.
      confirmations: the user's answers by call id.

    Yields:
      What agents do that run within the calls; then a request for credentials, a request for
      confirmation, the response event; each if there is one.

    Raises:
      Exception: what a tool raised, after the response event was committed.
    """
    calls = call_event.get_function_calls()
    work = functions.run_function_calls(ctx, calls, tools, filters, confirmations)
    wanted = [call for call in calls if filters is None or call.id in filters]
    if any(_yields_events(tools.get(call.name or "")) for call in wanted):
        relay = Relay[functions.Outcome]()
        ctx.ports.relays.update({call.id or "": relay for call in wanted})
        async with Aclosing(relay.events(work)) as events:
            async for event in events:
                yield event
        outcome = relay.result
    else:
        outcome = await work
    response = outcome.event
    if response is None and outcome.flagged:
        yield _ran_again(ctx, outcome.flagged)
    if response is not None:
        auth_event = _auth_request(ctx, response)
        if auth_event is not None:
            yield auth_event
        if response.actions.requested_tool_confirmations and not _is_asked(
            ctx, functions.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME
        ):
            confirmation = functions.generate_request_confirmation_event(ctx, call_event, response)
            if confirmation is not None:
                yield confirmation
        if ctx.agent.mode == "task":
            note_output(ctx, call_event, response)
        yield response
        await _tidy_up(ctx, response)  # committed now
    if outcome.error is not None:
        raise outcome.error


def _yields_events(tool: BaseTool | None) -> bool:
    """Tell whether an agent runs within a call whose events are this run's, or are shown in it."""
    return runs_agent(tool) or getattr(tool, "stream", False) is True


def _ran_again(ctx: InvocationContext, call_ids: Sequence[str]) -> Event:
    """Return the event by which alone the log says that a tool which gave nothing ran again."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        custom_metadata={RERUN: [*call_ids]},
    )


async def _tidy_up(ctx: InvocationContext, response: Event) -> None:
    for answer in response.get_function_responses():
        ctx.ports.finished.pop(answer.id or "", None)
        tidy_up = ctx.ports.leftovers.pop(answer.id or "", None)
        if tidy_up is not None:
            await tidy_up()


def _auth_request(ctx: InvocationContext, response: Event) -> Event | None:
    """Return the request for the credentials that tools asked for, if they did and it is new."""
    requested = response.actions.requested_auth_configs
    if not requested:
        return None
    # A tool may have put its request there itself, secrets and all.
    requested.update({key: public_config(config) for key, config in requested.items()})
    if _is_asked(ctx, functions.REQUEST_EUC_FUNCTION_CALL_NAME):
        return None
    return functions.generate_auth_event(ctx, response)


def _is_asked(ctx: InvocationContext, name: str) -> bool:
    """Tell whether an interrupted run had committed its request to the user, and no more."""
    if ctx.ports.resume is None:
        return False
    newest = next((r for r in ctx.log.invocation(ctx.invocation_id, ctx.branch)), None)
    return newest is not None and any(call == name for _, call in newest.calls)
