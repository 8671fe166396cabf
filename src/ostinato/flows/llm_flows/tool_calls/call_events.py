"""Execution of function calls, with the events that it yields in the specified order.

The loop runs calls here after a model response, the processors after a user's answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING

from .... import context as contexts
from .... import types
from ...._aclosing import Aclosing
from ....auth.redaction import public_config
from ....context.delegation import Relay
from ....context.invocation import InvocationContext
from ....events.event import Event
from ....events.request_input import TOOL_QUESTION
from ....sessions.log.resume import RERUN
from ....tools.base_tool import BaseTool
from ....tools.function_tool import FunctionTool
from .. import functions
from ..delegation import set_task_output
from .call_decisions import note_asked
from .tool_result import CallOutcome

if TYPE_CHECKING:
    from ....auth.tool_confirmation import ToolConfirmation
    from ....sessions.log.event_log import EventRecord


async def execute_calls(
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
      filters: ids of the calls to run; None for all.
      confirmations: the user's answers by call id.

    Yields:
      The events of agents that run as tools, and of progress; then, each if there is one, a request
      for credentials, a request for confirmation and the response event.

    Raises:
      Exception: a tool's exception, after the response event was committed.
    """
    calls = call_event.get_function_calls()
    work = functions.run_function_calls(ctx, calls, tools, filters, confirmations)
    wanted = calls if filters is None else [call for call in calls if call.id in filters]
    if any([_sends_events(ctx, tools.get(call.name or "")) for call in wanted]):
        relay = Relay[CallOutcome]()
        ctx.run_state.relays.update({call.id or "": relay for call in wanted})
        async with Aclosing(relay.events(work)) as events:
            async for event in events:
                yield event
        outcome = relay.result
    else:
        outcome = await work
    recorded = _take_recorded(ctx, wanted)
    response = outcome.event
    if response is None and outcome.rerun_ids:
        yield _make_rerun_event(ctx, outcome.rerun_ids)
    if response is not None:
        _confirm_first(response)
        auth_event = _make_auth_request(ctx, response)
        if auth_event is not None:
            yield auth_event
        if response.actions.requested_tool_confirmations and not (
            _is_asked(ctx, functions.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME)
            or _is_question_asked(ctx)
        ):
            shown = _drop_unknown_arguments(_list_recorded(call_event, recorded), tools)
            confirmation = functions.generate_request_confirmation_event(ctx, shown, response)
            if confirmation is not None:
                note_asked(response, confirmation)
                yield confirmation
        if ctx.agent.mode == "task":
            set_task_output(ctx, call_event, response)
        yield response
        await _clean_up(ctx, response)  # the event is committed now
    if outcome.error is not None:
        raise outcome.error


def _sends_events(ctx: InvocationContext, tool: BaseTool | None) -> bool:
    """Return whether this run yields events of a tool: an agent's, or progress if it streams."""
    if tool is None:
        return False
    if tool.sends_events is True or getattr(tool, "stream", False) is True:  # a mock has any name
        return True
    if tool.reports_progress is not True or ctx.run_config is None:
        return False
    return ctx.run_config.streaming_mode is contexts.StreamingMode.SSE


def _take_recorded(
    ctx: InvocationContext, calls: Sequence[types.FunctionCall]
) -> Mapping[str, types.FunctionCall]:
    """Return those of the calls that have run which a plugin changed, as the log has them."""
    edited = ctx.run_state.edited_calls
    if not edited:
        return {}
    ids = [call.id or "" for call in calls]
    return {call_id: edited.pop(call_id) for call_id in ids if call_id in edited}


def _list_recorded(
    call_event: Event, recorded: Mapping[str, types.FunctionCall]
) -> Sequence[types.FunctionCall]:
    """Return the calls of an event as the log has them: these run after an approval."""
    return [recorded.get(call.id or "", call) for call in call_event.get_function_calls()]


def _drop_unknown_arguments(
    calls: Sequence[types.FunctionCall], tools: Mapping[str, BaseTool]
) -> Event:
    """Return an event with the calls, without the arguments that their functions do not take.

    A person who confirms a call must see exactly what will run.
    """
    parts: list[types.Part] = []
    for call in calls:
        tool = tools.get(call.name or "")
        if isinstance(tool, FunctionTool) and call.args:
            call = call.model_copy(update={"args": tool.drop_unknown(call.args)})
        parts.append(types.Part(function_call=call))
    return Event(content=types.Content(role="model", parts=parts))


def _make_rerun_event(ctx: InvocationContext, call_ids: Sequence[str]) -> Event:
    """Return an event that records the rerun of a tool which returned nothing."""
    return Event(
        invocation_id=ctx.invocation_id,
        author=ctx.agent.name,
        branch=ctx.branch,
        custom_metadata={RERUN: [*call_ids]},
    )


async def _clean_up(ctx: InvocationContext, response: Event) -> None:
    for answer in response.get_function_responses():
        ctx.run_state.finished_responses.pop(answer.id or "", None)
        clean_up = ctx.run_state.cleanup_callbacks.pop(answer.id or "", None)
        if clean_up is not None:
            await clean_up()


def _confirm_first(response: Event) -> None:
    """Drop the requests for credentials of calls that ask for a confirmation, too.

    The call runs again after the decision, which the log keeps, and then asks for the credential,
    which no store keeps: in the other order, a crash between the answers would lose it.
    """
    actions = response.actions
    both = actions.requested_auth_configs.keys() & actions.requested_tool_confirmations.keys()
    for call_id in both:
        del actions.requested_auth_configs[call_id]
    if both:
        actions.skip_summarization = True  # the run waits, as for a credential alone


def _make_auth_request(ctx: InvocationContext, response: Event) -> Event | None:
    """Return the request for the credentials that tools need; None if there is no new one."""
    requested = response.actions.requested_auth_configs
    if not requested:
        return None
    # A tool may have put its request there itself, secrets included.
    tells = ctx.services.sends_client_secrets
    for key, config in requested.items():
        requested[key] = public_config(config, with_client_secret=tells)
    if _is_asked(ctx, functions.REQUEST_EUC_FUNCTION_CALL_NAME):
        return None
    return functions.generate_auth_event(ctx, response)


def _is_asked(ctx: InvocationContext, name: str) -> bool:
    """Return whether an interrupted run had committed this request to the user last."""
    newest = _find_newest_record(ctx)
    return newest is not None and any(call == name for _, call in newest.calls)


def _is_question_asked(ctx: InvocationContext) -> bool:
    """Return whether an interrupted run had committed a tool's question to the user last."""
    newest = _find_newest_record(ctx)
    return newest is not None and newest.has_metadata(TOOL_QUESTION)


def _find_newest_record(ctx: InvocationContext) -> EventRecord | None:
    """Return the newest record of an interrupted run; None if the run is not resumed."""
    if ctx.run_state.resume is None:
        return None
    return next((r for r in ctx.log.invocation(ctx.invocation_id, ctx.branch)), None)
