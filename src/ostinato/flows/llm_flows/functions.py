"""Tool calls: find the tool, run it with all hooks, answer errors, merge responses (Spec 2 §6).

The flow calls `execute_calls` in `tool_calls`; the `handle_...` functions are google-adk's names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import types
from ..._aborted_tool import ABORTS, as_tool_error
from ..._adk_mode import follows_adk
from ..._task_group import TaskGroup
from ...context.callbacks import first_result, plugin_result
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...errors import (
    ModelBehaviorError,
    ModelRetry,
    StateSchemaError,
    ToolResultError,
    ToolTimeoutError,
)
from ...events.event import EVENT_TEMPLATE, Event
from ...events.event_actions import ACTIONS_TEMPLATE
from ...events.pending import ENDED
from ...models.invalid_args import INVALID_ARGS_KEY
from ...sessions.log.ordered_delta import OrderedDelta, WriteOrder
from ...sessions.log.resume import RERUN
from ...sessions.session import copy_state
from ...telemetry.model_call import note_tool
from ...telemetry.tracing import Span, note_exception, span
from ...tools.base_tool import BaseTool
from ...tools.call_doubt import UNKNOWN, asks_person, note_outcome, settle_doubt
from ...tools.called_agent import WAITING
from ...tools.model_mistake import ModelMistake
from .history.arrangement import PENDING
from .tool_calls.call_decisions import has_ended_early, note_decisions, reject_call
from .tool_calls.call_journal import load_left_response as load_left_response
from .tool_calls.call_journal import load_outcome, restore_writes, serialize_result
from .tool_calls.call_journal import read_rerun_ids as read_rerun_ids
from .tool_calls.call_origins import RemovedTool, find_own_tools
from .tool_calls.call_policies import check_call, find_gate, find_restricting
from .tool_calls.framework_calls import (
    REQUEST_CONFIRMATION_FUNCTION_CALL_NAME as REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
)
from .tool_calls.framework_calls import (
    REQUEST_EUC_FUNCTION_CALL_NAME as REQUEST_EUC_FUNCTION_CALL_NAME,
)
from .tool_calls.framework_calls import (
    REQUEST_INPUT_FUNCTION_CALL_NAME as REQUEST_INPUT_FUNCTION_CALL_NAME,
)
from .tool_calls.framework_calls import build_auth_request_event as build_auth_request_event
from .tool_calls.framework_calls import generate_auth_event as generate_auth_event
from .tool_calls.framework_calls import (
    generate_request_confirmation_event as generate_request_confirmation_event,
)
from .tool_calls.merged_responses import deep_merge_dicts as deep_merge_dicts
from .tool_calls.merged_responses import (
    find_event_by_function_call_id as find_event_by_function_call_id,
)
from .tool_calls.merged_responses import find_matching_function_call as find_matching_function_call
from .tool_calls.merged_responses import merge_outcomes
from .tool_calls.merged_responses import (
    merge_parallel_function_response_events as merge_parallel_function_response_events,
)
from .tool_calls.model_calls import AF_FUNCTION_CALL_ID_PREFIX as AF_FUNCTION_CALL_ID_PREFIX
from .tool_calls.model_calls import (
    generate_client_function_call_id as generate_client_function_call_id,
)
from .tool_calls.model_calls import (
    get_long_running_function_calls as get_long_running_function_calls,
)
from .tool_calls.model_calls import (
    populate_client_function_call_id as populate_client_function_call_id,
)
from .tool_calls.model_calls import remove_client_function_call_id as remove_client_function_call_id
from .tool_calls.offload import offload_result
from .tool_calls.tool_result import (
    CallOutcome,
    ResultTooLarge,
    check_state_writes,
    describe_error,
    make_response_dict,
    record_result,
    refuse_repeat,
)

if TYPE_CHECKING:
    from ...auth.tool_confirmation import ToolConfirmation

_DEFAULT_MAX_RESULT = 4 * 1024 * 1024
STOPPED = "The call was cancelled because a parallel call failed."


class _ToolCall:
    """One call that runs, with its tool and context."""

    __slots__ = ("agent", "args", "call", "context", "ctx", "in_doubt", "is_refused", "tool")

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
        self.is_refused = False
        self.args: dict[str, Any] = copy_state(call.args) if call.args else {}


class _ParallelCalls:
    """The tasks of parallel calls.

    A call whose tool raises does not stop the others. google-adk cancels them, and so does Ostinato
    for programs that import it as google-adk.

    Attributes:
      stopped: whether the others were cancelled because one failed.
    """

    __slots__ = ("_tasks", "stopped")

    def __init__(self) -> None:
        self.stopped = False
        self._tasks: list[asyncio.Task[CallOutcome]] = []

    def add(self, task: asyncio.Task[CallOutcome]) -> None:
        """Watch a task if the first error cancels the others."""
        if follows_adk():
            self._tasks.append(task)
            task.add_done_callback(self._cancel_others)

    def _cancel_others(self, task: asyncio.Task[CallOutcome]) -> None:
        if task.cancelled() or task.exception() is not None or task.result().error is None:
            return
        if not self.stopped:
            self.stopped = True
            for other in self._tasks:
                other.cancel()


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
      filters: ids of the calls to run; None for all.
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
    """Run the calls of an event of a live run; see `handle_function_calls_async`.

    The response event names the live session of the calls.
    """
    response = await handle_function_calls_async(
        invocation_context, function_call_event, tools_dict
    )
    if response is not None:
        response.live_session_id = function_call_event.live_session_id
    return response


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
) -> CallOutcome:
    """Run calls concurrently and merge their outcomes.

    Every call gets an answer: a call that raised gets an error response, its siblings finish (in
    programs for google-adk they are cancelled), and the outcome carries the first exception.
    """
    wanted = function_calls if filters is None else [c for c in function_calls if c.id in filters]
    answers = confirmations or {}
    is_earlier = filters is not None or confirmations is not None  # maybe of another process
    own_tools = find_own_tools(ctx, wanted, tools_dict) if is_earlier else {}
    if len(wanted) == 1:
        call = wanted[0]
        order = None if ctx.run_state.write_order is None else restore_writes(ctx, wanted)
        tools = own_tools.get(call.id or "", tools_dict)
        outcome = await _run_call(ctx, call, tools, answers.get(call.id or ""), order)
    else:
        order, siblings = restore_writes(ctx, wanted), _ParallelCalls()
        tasks: list[asyncio.Task[CallOutcome]] = []
        async with TaskGroup() as group:
            for c in wanted:
                answer = answers.get(c.id or "")
                tools = own_tools.get(c.id or "", tools_dict)
                run = _run_call(ctx, c, tools, answer, order, siblings)
                tasks.append(group.create_task(run))
                siblings.add(tasks[-1])
        outcome = merge_outcomes([task.result() for task in tasks])
    event = outcome.event
    if event is not None and outcome.rerun_ids:
        event.custom_metadata = {**(event.custom_metadata or {}), RERUN: [*outcome.rerun_ids]}
    if event is not None and outcome.ended_ids:
        event.custom_metadata = {**(event.custom_metadata or {}), ENDED: [*outcome.ended_ids]}
    if event is not None and ctx.run_state.policy_decisions:
        note_decisions(ctx, event)
    return outcome


async def _run_call(
    ctx: InvocationContext,
    function_call: types.FunctionCall,
    tools_dict: Mapping[str, BaseTool],
    confirmation: ToolConfirmation | None,
    order: WriteOrder | None = None,
    siblings: _ParallelCalls | None = None,
) -> CallOutcome:
    """Run one call through all its hooks (Spec 2 §6.5), unless an earlier process did.

    Args:
      order: numbers the state writes; None for a single call in a run without parallel branches.
      siblings: the parallel calls; None for a single call.
    """
    name = function_call.name or ""
    past = ctx.run_state.earlier_row(function_call.id)
    if past is not None and past.status == "finished":
        return load_outcome(ctx, function_call, past, order)
    tool = tools_dict.get(name)
    context = _make_tool_context(ctx, function_call, confirmation, order)
    in_doubt = past is not None and past.status == "started"
    run = _ToolCall(ctx, function_call, tool or RemovedTool(name), context, in_doubt)
    error: BaseException | None = None
    has_ended = False
    tracing = span("execute_tool", name, invocation_id=ctx.invocation_id, call_id=function_call.id)
    with tracing:
        try:
            if tool is None:
                result = await _answer_unknown_tool(run, tools_dict)
            elif INVALID_ARGS_KEY in run.args:
                result = _refuse_invalid_args(run)
            else:
                seen = name in ctx.last_calls
                refusal = refuse_repeat(ctx, function_call) if seen else None
                result = refusal or await _run_with_hooks(run)
            if context.state_schema is not None and context.actions.state_delta:
                check_state_writes(context)
            if result is WAITING:
                return CallOutcome(None)
            if run.tool.is_long_running and not result:
                if confirmation is None:
                    return await _end_silently(run)
                result = dict(PENDING)  # or the model would still read that a person is asked
            response = _make_response(run, result)
            if isinstance(tracing, Span):
                telemetry = None if ctx.run_config is None else ctx.run_config.telemetry
                note_tool(tracing, run.args, response, telemetry)
            has_ended = has_ended_early(run.tool, context, run.is_refused, result)
            _count_mistake(run, result, response)
            limits = ctx.services.context_policy
            if limits is not None:
                response = await offload_result(limits, context, run.tool, response)
        except (asyncio.CancelledError, Exception) as raised:  # boundary: siblings end first
            response, error = _answer_failure(run, raised, siblings)
            if isinstance(raised, Exception) and not isinstance(raised, ResultTooLarge):
                tracing.end(raised)
    event = _make_response_event(run, response, order)
    ctx.run_state.finished_responses[function_call.id or ""] = event
    await _store_outcome(run, response, alone=siblings is None, has_ended=has_ended)
    return CallOutcome(event, error, _get_rerun_ids(run), [run.call.id or ""] if has_ended else ())


async def _end_silently(run: _ToolCall) -> CallOutcome:
    """Return the outcome of a long-running call whose tool has returned nothing."""
    run.ctx.run_state.silent_call_ids.add(run.call.id or "")
    await _store_outcome(run, None, alone=False)
    return CallOutcome(None, rerun_ids=_get_rerun_ids(run))


def _answer_failure(
    run: _ToolCall, raised: BaseException, siblings: _ParallelCalls | None
) -> tuple[dict[str, Any], BaseException | None]:
    """Return the error response of a call, and the exception to raise once it is committed.

    Raises:
      CancelledError: `raised`, if the run itself is cancelled.
    """
    if isinstance(raised, ResultTooLarge):
        return {"error": str(raised)}, None
    if isinstance(raised, Exception):
        is_fed_back = _is_fed_back(run, raised)
        return {"error": describe_error(raised)}, None if is_fed_back else _add_error_note(
            run, raised
        )
    if siblings is None or not siblings.stopped:
        raise raised
    return {"error": STOPPED}, None


def _make_tool_context(
    ctx: InvocationContext,
    call: types.FunctionCall,
    confirmation: ToolConfirmation | None,
    order: WriteOrder | None,
) -> Context:
    """Return the context of a call; the state writes of parallel calls are numbered."""
    actions = None if order is None else ACTIONS_TEMPLATE.create(state_delta=OrderedDelta(order))
    return Context(
        ctx,
        event_actions=actions,
        function_call_id=call.id,
        tool_confirmation=confirmation,
    )


def _get_rerun_ids(run: _ToolCall) -> Sequence[str]:
    return run.ctx.run_state.repeated_call_ids.get(run.call.id or "", ())


async def _store_outcome(
    run: _ToolCall, response: dict[str, Any] | None, alone: bool, has_ended: bool = False
) -> None:
    """Store the outcome of a call, unless the commit of its response event stores it.

    That event does not tell when the call wrote state, which counts beside other branches.
    """
    journal, actions = run.ctx.run_state.journal, run.context.actions
    if journal is None:
        return
    is_timed = run.ctx.run_state.write_order is not None and actions.state_delta
    if alone and not is_timed and not asks_person(actions):
        return
    text = serialize_result(
        response,
        actions,
        _get_rerun_ids(run),
        decision=(run.ctx.run_state.policy_decisions or {}).get(run.call.id or ""),
        has_ended=has_ended,
        with_client_secret=run.ctx.services.sends_client_secrets,
    )
    if text is None:
        return
    rows = journal.finish(run.call.id, run.tool.name, text, response)
    if alone:
        journal.add(rows)  # committed together with the event that comes next
    else:
        await run.ctx.services.commit((), rows)


async def _run_with_hooks(run: _ToolCall) -> Any:
    """Run before_tool hooks, the tool and after_tool hooks; the first answer of each counts."""
    hooks, agent, name = run.ctx.plugin_manager, run.agent, run.agent.name
    result: Any = None
    if hooks.overrides("before_tool_callback"):
        result = await plugin_result(
            hooks.run_before_tool_callback(
                tool=run.tool, tool_args=run.args, tool_context=run.context
            ),
            "before_tool_callback",
            name,
        )
    callbacks = agent.canonical_before_tool_callbacks
    if result is None and callbacks:
        result = await first_result(
            callbacks,
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
        altered = await plugin_result(
            hooks.run_after_tool_callback(
                tool=run.tool, tool_args=run.args, tool_context=run.context, result=result
            ),
            "after_tool_callback",
            name,
        )
    callbacks = agent.canonical_after_tool_callbacks
    if altered is None and callbacks:
        altered = await first_result(
            callbacks,
            "after_tool_callback",
            name,
            tool=run.tool,
            args=run.args,
            tool_context=run.context,
            tool_response=result,
        )
    return result if altered is None else altered


async def _run_tool(run: _ToolCall) -> Any:
    """Run the tool; the error hooks see its exceptions first."""
    try:
        return await _run_body(run)
    except Exception as raised:  # boundary: the error hooks may answer a tool's exception
        error = raised
        note_outcome(run.context, raised)
        note_exception(raised)
    except ABORTS as abort:
        error = as_tool_error(abort, f"Tool {run.tool.name!r}")
    answer = await _run_error_hooks(run, error)
    if answer is not None:
        return answer
    if isinstance(error, ModelRetry):
        return ModelMistake(error=error.message)
    if isinstance(error, ToolTimeoutError) or run.ctx.services.tool_errors == "feedback":
        return {"error": describe_error(error)}
    raise error


async def _run_body(run: _ToolCall) -> Any:
    """Run the tool, unless it had started before a crash and must not run twice."""
    tool, context, spending = run.tool, run.context, run.ctx.services.budget_usage
    answer, doubt = None, UNKNOWN if run.in_doubt else ""
    if context.tool_confirmation is not None:
        answer = reject_call(run.ctx, run.call, tool, context, doubt)
    toolsets, policy = find_restricting(run.ctx), run.ctx.services.policy
    if toolsets:
        policy = await find_gate(run.ctx, toolsets)
    if policy is not None:
        answer = await check_call(policy, run, doubt, answer)
    run.is_refused = answer is not None
    answer = await settle_doubt(tool, run.args, context, answer, run.in_doubt)
    if answer is not None:
        return answer
    if spending is not None:
        spending.begin_tool_call(run.agent)
    if not tool.repeatable and not tool.asks_first:  # a tool that asks first starts later
        await run.ctx.begin_call(run.call.id, tool.name)
    elif tool.repeatable and run.call.id:  # it has no row in the journal
        run.ctx.run_state.started_call_ids.add(run.call.id)
    work = tool.run_async(args=run.args, tool_context=context)
    result = await (work if spending is None else spending.in_time(work, run.agent))
    note_outcome(run.context, result)
    return result


def _refuse_invalid_args(run: _ToolCall) -> ModelMistake:
    """Answer a call whose arguments are not JSON; hooks have no arguments to look at."""
    return ModelMistake(
        error=f"Invoking `{run.tool.name}()` failed as its arguments are not valid JSON: "
        f"{run.args[INVALID_ARGS_KEY]!r:.500}. You could retry with a JSON object."
    )


async def _answer_unknown_tool(run: _ToolCall, tools_dict: Mapping[str, BaseTool]) -> Any:
    """Answer a call of a tool that does not exist (FEATURES A.27 X10)."""
    if run.in_doubt:  # the agent had the tool when the call began, so the model made no mistake
        return await settle_doubt(run.tool, run.args, run.context, None, in_doubt=True)
    name, known = run.tool.name, ", ".join(tools_dict) or "none"
    error = ValueError(
        f"Tool {name!r} not found. Agent {run.agent.name!r} has no tool of that name; its tools "
        f"are: {known}."
    )
    answer = await _run_error_hooks(run, error)
    if answer is not None:
        return answer
    return ModelMistake(
        error=f"Invoking `{name}()` failed as no tool with that name is available. The tools you "
        f"can call are: {known}. You could retry, but it is IMPORTANT that you only call a tool "
        "from that list."
    )


async def _run_error_hooks(run: _ToolCall, error: Exception) -> Any:
    """Run the on_tool_error hooks."""
    hooks, name = run.ctx.plugin_manager, run.agent.name
    if hooks.overrides("on_tool_error_callback"):
        answer: Any = await plugin_result(
            hooks.run_on_tool_error_callback(
                tool=run.tool, tool_args=run.args, tool_context=run.context, error=error
            ),
            "on_tool_error_callback",
            name,
        )
        if answer is not None:
            return answer
    return await first_result(
        run.agent.canonical_on_tool_error_callbacks,
        "on_tool_error_callback",
        name,
        tool=run.tool,
        args=run.args,
        tool_context=run.context,
        error=error,
    )


def _count_mistake(run: _ToolCall, result: Any, response: dict[str, Any]) -> None:
    """Count a mistake of the model, or reset the count of this tool."""
    if isinstance(result, ModelMistake):
        run.ctx.count_mistake(run.tool.name, result.message)
    else:
        run.ctx.run_state.mistakes.pop(run.tool.name, None)
        record_result(run.ctx, run.call, response)


def _is_fed_back(run: _ToolCall, error: Exception) -> bool:
    """Return whether an invalid result goes back to the model instead of ending the run."""
    unfit = isinstance(error, (ToolResultError, StateSchemaError))
    return unfit and run.ctx.services.tool_errors == "feedback"


def _add_error_note(run: _ToolCall, error: Exception) -> Exception:
    """Add the tool, agent and call to an exception's notes."""
    if not isinstance(error, ModelBehaviorError):
        error.add_note(
            f"raised by tool {run.tool.name!r} of agent {run.agent.name!r} "
            f"(call {run.call.id}, invocation {run.ctx.invocation_id})"
        )
    return error


def _make_response(run: _ToolCall, result: Any) -> dict[str, Any]:
    config = run.ctx.run_config
    return make_response_dict(
        result,
        tool=run.tool.name,
        agent=run.agent.name,
        max_bytes=config.max_tool_result_bytes if config else _DEFAULT_MAX_RESULT,
        is_outside=run.tool.has_outside_results,
    )


def _make_response_event(
    run: _ToolCall, response: dict[str, Any], order: WriteOrder | None
) -> Event:
    """Build the response event of one call (Spec 2 §6.6)."""
    actions = run.context.actions
    if order is not None and not isinstance(actions.state_delta, OrderedDelta):
        actions.state_delta = OrderedDelta(order, actions.state_delta)  # the tool assigned a dict
    media: list[types.FunctionResponsePart] = []
    if run.tool.returns_media is True:
        response, media = run.tool.split_media(response)
    answer = types.FunctionResponse(id=run.call.id, name=run.tool.name, response=response)
    if media:
        answer.parts = media
    return EVENT_TEMPLATE.create(
        invocation_id=run.ctx.invocation_id,
        author=run.agent.name,
        branch=run.ctx.branch,
        content=types.Content(role="user", parts=[types.Part(function_response=answer)]),
        actions=actions,
    )
