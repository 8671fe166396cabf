"""Tool calls: resolve, run with all hooks, answer errors, merge into one event (Spec 2 §6).

The flow calls `run_function_calls` for each response of the model that asks for tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import types
from ..._task_group import TaskGroup
from ...context.callbacks import first_answer, plugin_answer
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...errors import ModelBehaviorError, ModelRetry, ToolTimeoutError
from ...events.event import MADE, Event
from ...models.invalid_args import INVALID_ARGS_KEY
from ...sessions._resume import RERUN
from ...sessions.session import copy_state
from ...telemetry.model_call import note_tool
from ...telemetry.tracing import Span, span
from ...tools.base_tool import BaseTool
from ...tools.model_mistake import ModelMistake
from ...tools.waiting import WAITING
from ._call_ids import AF_FUNCTION_CALL_ID_PREFIX as AF_FUNCTION_CALL_ID_PREFIX
from ._call_ids import generate_client_function_call_id as generate_client_function_call_id
from ._call_ids import get_long_running_function_calls as get_long_running_function_calls
from ._call_ids import populate_client_function_call_id as populate_client_function_call_id
from ._call_ids import remove_client_function_call_id as remove_client_function_call_id
from ._call_journal import refused, result_text, settle
from ._call_journal import reruns as reruns
from ._call_journal import stored_event as stored_event
from ._merged_responses import deep_merge_dicts as deep_merge_dicts
from ._merged_responses import find_event_by_function_call_id as find_event_by_function_call_id
from ._merged_responses import find_matching_function_call as find_matching_function_call
from ._merged_responses import (
    merge_parallel_function_response_events as merge_parallel_function_response_events,
)
from ._repeated_calls import note_result, refused_repeat
from ._requests import (
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME as REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
)
from ._requests import REQUEST_EUC_FUNCTION_CALL_NAME as REQUEST_EUC_FUNCTION_CALL_NAME
from ._requests import REQUEST_INPUT_FUNCTION_CALL_NAME as REQUEST_INPUT_FUNCTION_CALL_NAME
from ._requests import build_auth_request_event as build_auth_request_event
from ._requests import generate_auth_event as generate_auth_event
from ._requests import generate_request_confirmation_event as generate_request_confirmation_event
from ._tool_result import ResultTooLarge, response_dict

if TYPE_CHECKING:
    from ...auth.tool_confirmation import ToolConfirmation

_DEFAULT_MAX_RESULT = 4 * 1024 * 1024


class Outcome:
    """What came of one call, or of all calls of one response.

    Attributes:
      event: the response event; None where a long-running tool gave nothing yet.
      error: what to raise to the caller once `event` is committed.
      flagged: ids of calls whose tools may have run before.
    """

    __slots__ = ("error", "event", "flagged")

    def __init__(
        self,
        event: Event | None,
        error: BaseException | None = None,
        flagged: Sequence[str] = (),
    ) -> None:
        self.event = event
        self.error = error
        self.flagged = flagged


class _Call:
    """One call on its way through the hooks."""

    __slots__ = ("agent", "args", "call", "context", "ctx", "in_doubt", "tool")

    def __init__(
        self,
        ctx: InvocationContext,
        call: types.FunctionCall,
        tool: BaseTool,
        context: Context,
        in_doubt: bool,
    ) -> None:
        self.ctx = ctx
        self.agent = ctx.agent
        self.call = call
        self.tool = tool
        self.context = context
        self.in_doubt = in_doubt
        self.args: dict[str, Any] = copy_state(call.args) if call.args else {}


async def handle_function_calls_async(
    invocation_context: InvocationContext,
    function_call_event: Event,
    tools_dict: Mapping[str, BaseTool],
    filters: set[str] | None = None,
    tool_confirmation_dict: dict[str, ToolConfirmation] | None = None,
) -> Event | None:
    """Run the calls of an event and return the response event (Spec 2 §6.4).

    Args:
      invocation_context: the run.
      function_call_event: the event that holds the calls.
      tools_dict: tools by name.
      filters: ids of the calls to run; all where None.
      tool_confirmation_dict: the user's answers by call id.

    Raises:
      Exception: what a tool raised, unless a hook or `tool_errors="feedback"` answered it.
    """
    return await handle_function_call_list_async(
        invocation_context,
        function_call_event.get_function_calls(),
        tools_dict,
        filters,
        tool_confirmation_dict,
    )


async def handle_function_calls_live(
    invocation_context: InvocationContext,
    function_call_event: Event,
    tools_dict: Mapping[str, BaseTool],
) -> Event | None:
    """Run the calls of an event of a live run; see `handle_function_calls_async`."""
    return await handle_function_calls_async(invocation_context, function_call_event, tools_dict)


async def handle_function_call_list_async(
    invocation_context: InvocationContext,
    function_calls: Sequence[types.FunctionCall],
    tools_dict: Mapping[str, BaseTool],
    filters: set[str] | None = None,
    tool_confirmation_dict: dict[str, ToolConfirmation] | None = None,
) -> Event | None:
    """Run a list of calls; see `handle_function_calls_async`."""
    outcome = await run_function_calls(
        invocation_context, function_calls, tools_dict, filters, tool_confirmation_dict
    )
    if outcome.error is not None:
        raise outcome.error
    return outcome.event


async def run_function_calls(
    ctx: InvocationContext,
    function_calls: Sequence[types.FunctionCall],
    tools_dict: Mapping[str, BaseTool],
    filters: set[str] | None = None,
    confirmations: Mapping[str, ToolConfirmation] | None = None,
) -> Outcome:
    """Run calls side by side and merge what came of them.

    No call is left without an answer: where tools raised, their siblings finish, an error response
    stands in for each, and the first exception comes back beside the event.
    """
    wanted = [c for c in function_calls if filters is None or c.id in filters]
    answers = confirmations or {}
    if len(wanted) == 1:
        call = wanted[0]
        outcomes = [await _run_call(ctx, call, tools_dict, answers.get(call.id or ""), alone=True)]
    else:
        async with TaskGroup() as group:
            tasks = [
                group.create_task(_run_call(ctx, c, tools_dict, answers.get(c.id or "")))
                for c in wanted
            ]
        outcomes = [task.result() for task in tasks]
    events = [o.event for o in outcomes if o.event is not None]
    event = merge_parallel_function_response_events(events) if events else None
    flagged = [call_id for o in outcomes for call_id in o.flagged]
    if event is not None and flagged:
        event.custom_metadata = {**(event.custom_metadata or {}), RERUN: flagged}
    return Outcome(event, next((o.error for o in outcomes if o.error is not None), None), flagged)


async def _run_call(
    ctx: InvocationContext,
    function_call: types.FunctionCall,
    tools_dict: Mapping[str, BaseTool],
    confirmation: ToolConfirmation | None,
    alone: bool = False,
) -> Outcome:
    """Run one call through all its hooks (Spec 2 §6.5), unless an earlier process did."""
    name = function_call.name or ""
    past = None if ctx.ports.journal is None else ctx.ports.journal.row(function_call.id)
    if past is not None and past.status == "finished":
        event = stored_event(past, (function_call.id, name), ctx.agent.name, ctx.branch)
        if event is not None:
            ctx.ports.finished[function_call.id or ""] = event
        return Outcome(event, flagged=reruns(past))
    tool = tools_dict.get(name)
    context = Context(ctx, function_call_id=function_call.id, tool_confirmation=confirmation)
    in_doubt = past is not None and past.status == "started"
    run = _Call(ctx, function_call, tool or _UnknownTool(name), context, in_doubt)
    error: BaseException | None = None
    tracing = span("execute_tool", name, invocation_id=ctx.invocation_id, call_id=function_call.id)
    with tracing:
        try:
            if tool is None:
                result = await _unknown_tool(run, tools_dict)
            elif INVALID_ARGS_KEY in run.args:
                result = _not_json(run)
            else:
                seen = name in ctx.last_calls
                refusal = refused_repeat(ctx, function_call) if seen else None
                result = refusal or await _run_with_hooks(run)
            if result is WAITING:
                return Outcome(None)
            if run.tool.is_long_running and not result:
                await _store_end(run, None, alone=False)
                return Outcome(None, flagged=_flagged(run))
            response = _response(run, result)
            if isinstance(tracing, Span):
                note_tool(tracing, run.args, response)
            _count(run, result, response)
        except ResultTooLarge as too_large:
            response = {"error": str(too_large)}
        except Exception as raised:  # boundary: a tool's exception waits until its siblings end
            tracing.end(raised)
            response, error = {"error": _describe(raised)}, _note(run, raised)
    event = _response_event(run, response)
    ctx.ports.finished[function_call.id or ""] = event
    await _store_end(run, response, alone)
    return Outcome(event, error, _flagged(run))


def _flagged(run: _Call) -> Sequence[str]:
    return run.ctx.ports.repeated.get(run.call.id or "", ())


async def _store_end(run: _Call, response: dict[str, Any] | None, alone: bool) -> None:
    """Store what came of a call, unless the commit of its response event does it just now."""
    journal, actions = run.ctx.ports.journal, run.context.actions
    asks = bool(actions.requested_auth_configs or actions.requested_tool_confirmations)
    if journal is None or (alone and not asks):
        return
    text = result_text(response, actions, _flagged(run))
    if text is None:
        return
    rows = journal.finish(run.call.id, run.tool.name, text)
    if alone:
        journal.add(rows)  # the event that asks comes first, and takes it along
    else:
        await run.ctx.ports.commit((), rows)


async def _run_with_hooks(run: _Call) -> Any:
    """before_tool hooks, the tool, after_tool hooks; the first answer of each hook counts."""
    hooks, agent, name = run.ctx.plugin_manager, run.agent, run.agent.name
    result: Any = None
    if hooks.overrides("before_tool_callback"):
        result = await plugin_answer(
            hooks.run_before_tool_callback(
                tool=run.tool, tool_args=run.args, tool_context=run.context
            ),
            dict,
            "before_tool_callback",
            name,
        )
    callbacks = agent.canonical_before_tool_callbacks
    if result is None and callbacks:
        result = await first_answer(
            callbacks,
            dict,
            "before_tool_callback",
            name,
            tool=run.tool,
            args=run.args,
            tool_context=run.context,
        )
    if result is None:
        result = await _run_tool(run)
    if result is WAITING:
        return result
    altered: Any = None
    if hooks.overrides("after_tool_callback"):
        altered = await plugin_answer(
            hooks.run_after_tool_callback(
                tool=run.tool, tool_args=run.args, tool_context=run.context, result=result
            ),
            dict,
            "after_tool_callback",
            name,
        )
    callbacks = agent.canonical_after_tool_callbacks
    if altered is None and callbacks:
        altered = await first_answer(
            callbacks,
            dict,
            "after_tool_callback",
            name,
            tool=run.tool,
            args=run.args,
            tool_context=run.context,
            tool_response=result,
        )
    return result if altered is None else altered


async def _run_tool(run: _Call) -> Any:
    """Run the tool itself; what it raises goes to the error hooks first."""
    try:
        return await _run_body(run)
    except Exception as error:  # boundary: the error hooks may answer what a tool raised
        answer = await _error_answer(run, error)
        if answer is not None:
            return answer
        if isinstance(error, ModelRetry):
            return ModelMistake(error=error.message)
        if isinstance(error, ToolTimeoutError) or run.ctx.ports.tool_errors == "feedback":
            return {"error": _describe(error)}
        raise


async def _run_body(run: _Call) -> Any:
    """Run the tool, unless it had begun before a crash and is not to run twice."""
    tool, context, spending = run.tool, run.context, run.ctx.ports.spending
    answer = refused(tool, context)
    if answer is None and run.in_doubt:
        answer = await settle(tool, run.args, context)
    if answer is not None:
        return answer
    if spending is not None:
        spending.begin_tool_call(run.agent)
    if not tool.repeatable and not tool.asks_first:  # one that asks the user begins after that
        await run.ctx.begin_call(run.call.id, tool.name)
    work = tool.run_async(args=run.args, tool_context=context)
    return await (work if spending is None else spending.in_time(work, run.agent))


def _not_json(run: _Call) -> ModelMistake:
    """Answer a call whose arguments are no JSON; no hook sees it, there is nothing to hand it."""
    return ModelMistake(
        error=f"Invoking `{run.tool.name}()` failed as its arguments are not valid JSON: "
        f"{run.args[INVALID_ARGS_KEY]!r:.500}. You could retry with a JSON object."
    )


async def _unknown_tool(run: _Call, tools_dict: Mapping[str, BaseTool]) -> Any:
    """Answer a call of a tool that does not exist (FEATURES A.27 X10)."""
    name, known = run.tool.name, ", ".join(tools_dict) or "none"
    error = ValueError(f"Agent {run.agent.name!r} has no tool {name!r}; its tools are: {known}.")
    answer = await _error_answer(run, error)
    if answer is not None:
        return answer
    return ModelMistake(
        error=f"Invoking `{name}()` failed as no tool with that name is available. The tools you "
        f"can call are: {known}. You could retry, but it is IMPORTANT that you only call a tool "
        "from that list."
    )


async def _error_answer(run: _Call, error: Exception) -> Any:
    """Run the on_tool_error hooks."""
    hooks, name = run.ctx.plugin_manager, run.agent.name
    if hooks.overrides("on_tool_error_callback"):
        answer: Any = await plugin_answer(
            hooks.run_on_tool_error_callback(
                tool=run.tool, tool_args=run.args, tool_context=run.context, error=error
            ),
            dict,
            "on_tool_error_callback",
            name,
        )
        if answer is not None:
            return answer
    return await first_answer(
        run.agent.canonical_on_tool_error_callbacks,
        dict,
        "on_tool_error_callback",
        name,
        tool=run.tool,
        args=run.args,
        tool_context=run.context,
        error=error,
    )


class _UnknownTool(BaseTool):
    """Stands for a tool that the model asked for and the agent does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, description="A tool that does not exist.")


def _count(run: _Call, result: Any, response: dict[str, Any]) -> None:
    """Count a mistake of the model, or forget the earlier ones of this tool."""
    if isinstance(result, ModelMistake):
        run.ctx.count_mistake(run.tool.name, result.message)
    else:
        run.ctx.ports.mistakes.pop(run.tool.name, None)
        note_result(run.ctx, run.call, response)


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _note(run: _Call, error: Exception) -> Exception:
    """Say in the exception where it comes from."""
    if not isinstance(error, ModelBehaviorError):
        error.add_note(
            f"raised by tool {run.tool.name!r} of agent {run.agent.name!r} "
            f"(call {run.call.id}, invocation {run.ctx.invocation_id})"
        )
    return error


def _response(run: _Call, result: Any) -> dict[str, Any]:
    config = run.ctx.run_config
    return response_dict(
        result,
        tool=run.tool.name,
        agent=run.agent.name,
        max_bytes=config.max_tool_result_bytes if config else _DEFAULT_MAX_RESULT,
    )


def _response_event(run: _Call, response: dict[str, Any]) -> Event:
    """Build the response event of one call (Spec 2 §6.6)."""
    answer = types.FunctionResponse(id=run.call.id, name=run.tool.name, response=response)
    return MADE.fill(
        invocation_id=run.ctx.invocation_id,
        author=run.agent.name,
        branch=run.ctx.branch,
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        actions=run.context.actions,
    )
