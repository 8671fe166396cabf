"""Acting on calls: run them and yield what the session must know, in the specified order.

The loop uses it after a response, the confirmation and credential processors after an answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING

from ...auth.redaction import public_config
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...sessions._resume import RERUN
from ...tools.base_tool import BaseTool
from . import functions

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
      A request for credentials, a request for confirmation, the response event; each if there is
      one.

    Raises:
      Exception: what a tool raised, after the response event was committed.
    """
    calls = call_event.get_function_calls()
    outcome = await functions.run_function_calls(ctx, calls, tools, filters, confirmations)
    response = outcome.event
    if response is None and outcome.flagged:
        # A long-running tool gave nothing: the log says by this alone that it ran again.
        yield Event(
            invocation_id=ctx.invocation_id,
            author=ctx.agent.name,
            branch=ctx.branch,
            custom_metadata={RERUN: [*outcome.flagged]},
        )
    if response is not None:
        requested = response.actions.requested_auth_configs
        if requested:
            # A tool may have put its request there itself, secrets and all.
            requested.update({key: public_config(config) for key, config in requested.items()})
            if not _is_asked(ctx, functions.REQUEST_EUC_FUNCTION_CALL_NAME):
                auth_event = functions.generate_auth_event(ctx, response)
                if auth_event is not None:
                    yield auth_event
        if response.actions.requested_tool_confirmations and not _is_asked(
            ctx, functions.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME
        ):
            confirmation = functions.generate_request_confirmation_event(ctx, call_event, response)
            if confirmation is not None:
                yield confirmation
        yield response
        for answer in response.get_function_responses():  # committed now
            ctx.ports.finished.pop(answer.id or "", None)
            tidy_up = ctx.ports.leftovers.pop(answer.id or "", None)
            if tidy_up is not None:
                await tidy_up()
    if outcome.error is not None:
        raise outcome.error


def _is_asked(ctx: InvocationContext, name: str) -> bool:
    """Tell whether an interrupted run had committed its request to the user, and no more."""
    if ctx.ports.resume is None:
        return False
    newest = next((r for r in ctx.log.invocation(ctx.invocation_id, ctx.branch)), None)
    return newest is not None and any(call == name for _, call in newest.calls)
