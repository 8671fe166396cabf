"""ToolNode: a tool as a node, under the same policies as a call of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from pydantic import SkipValidation

from .. import types
from .._aborted_tool import ABORTS, as_tool_error
from ..context.context import Context
from ..context.invocation import InvocationContext
from ..context.node import BaseNode
from ..durable.journal import count_attempts
from ..errors import GraphError, NodeError, ToolTimeoutError
from ..events.event import EVENT_TEMPLATE, Event
from ..events.node_call import record_node_call
from ..events.pending import is_runtime_hint
from ..events.request_input import REQUEST_INPUT, RequestInput, read_tool_question
from ..events.tool_origin import OWN_TOOL, TOOL_ORIGINS, read_tool_origin
from ..sessions.log.resume import RERUN
from ..tools.agent_tool import AgentTool
from ..tools.base_tool import BaseTool, find_outside_origin
from ..tools.call_doubt import (
    UNKNOWN,
    CallDeclined,
    CallNotRun,
    UnknownOutcome,
    note_effect,
    note_outcome,
    settle_doubt,
)
from ..tools.function_tool import REJECTED
from ..tools.result_limits import storable_args, without_nul
from .node_answers import (
    DOUBT_NUMBER,
    MOST_QUESTIONS,
    check_count,
    check_origin,
    failed_since_answer,
    find_answer,
    find_open_doubt,
    list_decided_doubts,
    was_shown,
)
from .node_errors import (
    NodeTimeoutError,
    ToolInDoubtError,
    ToolNotRunError,
    ToolOutcomeUnknownError,
    ToolUnreachableError,
)
from .node_run import Last, NodeRun, as_response, plain_model
from .rehydrate import QUESTION, TOOL_ASKS
from .stored_output import to_json

_MAX_ARGS = 500  # characters of the arguments in a question
_FOR_PROGRAMS = "FunctionResponse"  # a hint with this word tells programs how to answer
_CUT = (
    "An attempt of this call was cut off or got no answer, so it is unknown whether the call took "
    "effect. It was not run again. Check what happened before you repeat it."
)
_GIVEN_UP = "It is unknown whether the call took effect. It was not run again."
_FAILED = "It was approved before, ran and failed."
_DOUBTFUL = (NodeTimeoutError, ToolTimeoutError, ToolOutcomeUnknownError)
"""Errors after which a call that has begun is in doubt."""
_EDITABLE: dict[str, Any] = {
    "type": "object",
    "properties": {"confirmed": {"type": "boolean"}, "payload": {}},
    "required": ["confirmed"],
}


class ToolNode(BaseNode):
    """Calls a tool (FEATURES A.25).

    The call follows the tool's policies as an agent's call does: `in_doubt` and `check` after a
    crash, and confirmation, which is asked as a `RequestInput` of this node.

    Attributes:
      tool: the tool.

    Raises:
      GraphError: `rerun_on_resume` is False; a person's answer would then be the output. Or the
        tool is an AgentTool, whose agent can be a node itself.
    """

    rerun_on_resume: bool = True
    tool: SkipValidation[Any] = None

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        if isinstance(self.tool, AgentTool):
            raise GraphError(
                f"Node {self.name!r} is an AgentTool, which only a model can call: make its agent "
                f"{self.tool.agent.name!r} itself the node."
            )
        if not self.rerun_on_resume:
            raise GraphError(
                f"Node {self.name!r} calls a tool and needs rerun_on_resume=True: it runs the tool "
                "once a person has answered its question."
            )

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        call = _make_call(ctx, self.tool, node_input)
        try:
            try:
                result = await _run_in_time(call, self.timeout, self.name)
            except _DOUBTFUL as error:
                if not call.has_begun:
                    raise
                call.leave_in_doubt()
                call = _make_call(ctx, self.tool, node_input)
                result = await _settle_failure(call, error)
        except BaseException as raised:  # boundary: the next event says how the call ended
            is_error = isinstance(raised, Exception)
            if not is_error and call.has_begun:
                call.leave_in_doubt()
            call.keep_rows(None, is_open=is_error and not isinstance(raised, ToolNotRunError))
            raise
        question = call.take_question()
        if question is not None:
            call.keep_rows(None, is_open=True)
            yield Last(question)
            return
        if call.context.actions.requested_auth_configs:
            call.keep_rows(None, is_open=True)
            raise NodeError(
                f"Tool {self.tool.name!r} of node {call.path} asked for a credential, and a tool "
                "that is a node cannot wait for one. Make the node a FunctionNode with "
                "auth_config=, or let an agent call the tool."
            )
        call.keep_rows(result, is_open=False)
        call.check_rejection(result)
        yield Last(call.make_event(result))


@dataclass(slots=True)
class NodeCall:
    """The call of a tool by a node.

    Attributes:
      ctx: the run.
      call: the call, as an agent's model would have made it.
      tool: the tool.
      args: its arguments.
      context: the context that the tool gets.
      path: the path of the node.
      run: the node's run.
      question_id: id of the request that asks a person next.
      decided_doubts: the doubts about the call that a person has decided, oldest first.
      is_in_doubt: whether an attempt of the call was given up or its process ended, and the tool's
        policy has to decide.
      is_cut: whether that attempt was given up, by this run or an earlier one; its process lived.
      is_answered: whether a person has decided on this doubt.
      is_rejected: whether a person rejected the call when the runtime asked.
      has_failed: whether the tool ran after an approval and failed, so that a person is asked anew.
    """

    ctx: InvocationContext
    call: types.FunctionCall
    tool: BaseTool
    args: dict[str, Any]
    context: Context
    path: str
    run: NodeRun | None
    question_id: str
    decided_doubts: list[str]
    is_in_doubt: bool
    is_cut: bool
    is_answered: bool
    is_rejected: bool
    has_failed: bool

    @property
    def has_begun(self) -> bool:
        """Whether this attempt has begun, of a tool that may not simply run twice."""
        return (self.call.id or "") in self.ctx.run_state.started_call_ids

    def leave_in_doubt(self) -> None:
        """Note that the outcome of this attempt is unknown, for the next attempt or process."""
        state, call_id = self.ctx.run_state, self.call.id or ""
        if state.journal is not None:
            state.journal.leave_in_doubt(call_id, self.tool.name)
        else:
            decided = [int(one) for one in self.decided_doubts if one.isdigit()]
            before = state.doubtful_calls.get(call_id, 0)
            state.doubtful_calls[call_id] = max(before, *decided, 0) + 1

    def keep_rows(self, result: Any, *, is_open: bool) -> None:
        """Let the next event of the node take the journal's rows for the end of the tool's body.

        Args:
          result: what the tool returned, for the effects ledger.
          is_open: whether the tool may run again, so that the call is not in doubt.
        """
        state, call_id = self.ctx.run_state, self.call.id or ""
        if is_open:
            state.started_call_ids -= {call_id}
        journal = state.journal
        if journal is None or self.run is None:
            return
        rows = [*journal.take_effect(self.call.id, as_response(result))]
        if is_open:
            rows += journal.end_attempt(call_id, self.tool.name)
        self.run.rows = [*self.run.rows, *rows]

    def take_question(self) -> Event | None:
        """Return the question that the tool or its policy asks a person, or None."""
        actions = self.context.actions
        asked = actions.requested_tool_confirmations.pop(self.call.id or "", None)
        if asked is None:
            return None
        actions.skip_summarization = None
        payload: dict[str, Any] = {"tool": self.tool.name, "args": to_json(self.args)}
        question = read_tool_question(asked)
        if question is not None:
            shown: dict[str, Any] = question["payload"] or {}
            request = RequestInput(
                interrupt_id=self.question_id,
                message=question["message"],
                payload={**payload, **shown},
                response_schema=question["response_schema"],
            )
            event = self._make_question(request, asks=QUESTION)
            event.actions.requested_tool_confirmations[self.call.id or ""] = asked
            return event
        if asked.payload is not None:
            payload["payload"] = to_json(asked.payload)
        hint = "" if _FOR_PROGRAMS in asked.hint else asked.hint
        failed = _FAILED if self.has_failed else ""
        args = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        if len(args) > _MAX_ARGS:
            args = args[:_MAX_ARGS] + "..."
        request = RequestInput(
            interrupt_id=self.question_id,
            message=" ".join(filter(None, (f"Run {self.tool.name}({args})?", hint, failed))),
            payload=payload,
            response_schema=bool if asked.payload is None else _EDITABLE,
        )
        is_runtime = is_runtime_hint(asked.hint, self.tool.name)
        return self._make_question(request, asks=not is_runtime)

    def _make_question(self, request: RequestInput, *, asks: bool | str) -> Event:
        """Return the event of a question.

        Args:
          request: the question.
          asks: what the event's metadata say under `TOOL_ASKS`; False if the runtime asks.
        """
        origin = find_outside_origin(self.tool, self.args)
        metadata: dict[str, Any] = {}
        if origin is not None:
            metadata[TOOL_ORIGINS] = {self.call.id: origin.to_json()}
        if asks:
            metadata[TOOL_ASKS] = asks
        return Event(
            content=types.Content(role="model", parts=[request.part()]),
            long_running_tool_ids={self.question_id},
            custom_metadata=metadata or None,
        )

    def check_rejection(self, result: Any) -> None:
        """Raise ToolNotRunError if the result says that a person rejected the call."""
        answer = self.context.tool_confirmation
        if answer is None or answer.confirmed or not isinstance(result, dict):
            return
        if cast("dict[str, Any]", result).get("error") == REJECTED:
            self.ctx.run_state.started_call_ids -= {self.call.id or ""}
            raise self.make_rejection_error()

    def make_rejection_error(self) -> ToolNotRunError:
        """Return the error of a call that a person rejected."""
        return ToolNotRunError(
            f"Tool {self.tool.name!r} of node {self.path} was not run: a person rejected the "
            "call. To continue after a rejection, ask in a node before it and choose a route "
            "by the answer."
        )

    def check_doubt(self, reason: str) -> None:
        """Raise ToolInDoubtError if the tool of this call in doubt runs at most once.

        Args:
          reason: why it is in doubt, with its node.
        """
        if self.tool.in_doubt_check is None and self.tool.in_doubt == "at_most_once":
            raise ToolInDoubtError(
                f"{reason} To let the graph find out or ask a person, give the tool check=... or "
                'in_doubt="ask".'
            )

    def make_event(self, result: Any) -> Event:
        """Return the event with the result, which records the call and whether it may have run
        twice. A tool without a result has an event, too: replay and evaluation read the call there.
        """
        event = result if isinstance(result, Event) else EVENT_TEMPLATE.create(output=result)
        call_id = self.call.id or ""
        if call_id in self.ctx.run_state.repeated_call_ids and result is not None:
            event.custom_metadata = {**(event.custom_metadata or {}), RERUN: [call_id]}
        args = storable_args(self.args)
        if args is not None:
            record_node_call(event, self.tool.name, args)
        return event


def find_asking_call(question: types.FunctionCall) -> str:
    """Return the id of the tool call that a question of a tool node is about; '' for others.

    Args:
      question: any call in the log.
    """
    payload: Any = (question.args or {}).get("payload")
    asks = question.name == REQUEST_INPUT and isinstance(payload, dict) and "tool" in payload
    call_id, count = question.id or "", 0
    while asks and count < 2:  # the doubt, and which question about it
        head, _, number = call_id.rpartition(":")
        if not head or DOUBT_NUMBER.fullmatch(number) is None:
            break
        call_id, count = head, count + 1
    return call_id if count and "@" in call_id else ""


def _make_call(ctx: Context, tool: BaseTool, node_input: Any) -> NodeCall:
    """Return the call that a node makes.

    Raises:
      NodeError: the input holds no arguments.
      ToolNotRunError: a person approved another tool.
    """
    arguments = _read_arguments(ctx, tool, node_input)
    invocation = ctx.get_invocation_context()
    call_id = f"{invocation.invocation_id}:{ctx.node_path}"
    has_begun = call_id in invocation.run_state.started_call_ids
    invocation.run_state.started_call_ids.discard(call_id)  # those of this attempt
    doubt = "" if tool.repeatable else _find_doubt(ctx, call_id)
    asks = bool(doubt) and tool.in_doubt == "ask" and tool.in_doubt_check is None
    # Each doubt has questions of its own: an old approval never answers a new doubt. An answer to
    # one counts, even if the tool's policy does not ask any more.
    is_answered = bool(doubt) and f"{call_id}:{doubt}" in ctx.resume_inputs
    decided = list_decided_doubts(ctx.resume_inputs, call_id)
    # What the tool asks in a run that a person allowed has the number of that doubt.
    base = f"{call_id}:{doubt if asks or is_answered else (decided or [0])[-1]}"
    answer, answered_id, question_id = find_answer(ctx, base)
    has_failed = answer is not None and answer.confirmed and failed_since_answer(ctx.node_run)
    if has_failed or answer is None:
        answer, is_answered = None, False
    is_rejected = answer is not None and not answer.confirmed
    question = invocation.log.find_call(answered_id) if answer is not None else None
    if question is not None and not is_rejected:
        asked = read_tool_origin(question.event(), call_id) or OWN_TOOL
        check_origin(tool, arguments, asked, ctx.node_path)
        if not was_shown(question.event(), answered_id, arguments):
            check_count(tool, question_id == f"{base}:{MOST_QUESTIONS}", ctx.node_path)
            answer, is_answered = None, False
    if is_rejected:
        is_rejected = question is None or not question.has_metadata(TOOL_ASKS)
    context = Context(
        invocation,
        event_actions=ctx.actions,
        function_call_id=call_id,
        tool_confirmation=answer,
    )
    return NodeCall(
        invocation,
        types.FunctionCall(id=call_id, name=tool.name, args=arguments),
        tool,
        arguments,
        context,
        ctx.node_path,
        ctx.node_run,
        question_id,
        decided,
        bool(doubt) and not is_answered,
        has_begun or doubt.startswith("r"),
        is_answered,
        is_rejected,
        has_failed,
    )


def _read_arguments(ctx: Context, tool: BaseTool, node_input: Any) -> dict[str, Any]:
    args = plain_model(node_input)
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        raise NodeError(
            f"Node {ctx.node_path} calls tool {tool.name!r} and takes its arguments as a "
            f"dict; it got {type(args).__name__}."
        )
    return dict(cast("Mapping[str, Any]", args))


def _find_doubt(ctx: Context, call_id: str) -> str:
    """Return what tells a call's doubt from its earlier ones; '' if the call is not in doubt."""
    journal = ctx.get_invocation_context().run_state.journal
    row = None if journal is None else journal.earlier_row(call_id)
    if row is not None and (attempts := count_attempts(row)):
        return str(attempts)
    run: NodeRun | None = ctx.node_run
    past = None if run is None else run.past
    # A run that ended early has no journal any more; its log says that the doubt was not resolved.
    told = f"r{past.doubts}" if past is not None and past.doubts else ""
    if journal is None:
        given_up = ctx.get_invocation_context().run_state.doubtful_calls.get(call_id)
        if given_up is not None:
            return str(given_up)
    decided = list_decided_doubts(ctx.resume_inputs, call_id)
    if told and told not in decided:
        return told
    return find_open_doubt(run, call_id) or (decided or [""])[-1]


async def _check_policy(call: NodeCall) -> None:
    """Apply the app's policy to the tool of a node; it cannot ask a person from there.

    Raises:
      NodeError: the policy denies the call, or requires a person's approval.
    """
    policy = call.ctx.services.policy
    if policy is None:
        return
    answer = await policy.check(
        call.ctx,
        call.call,
        call.tool,
        call.args,
        call.context,
        can_ask=False,
        in_doubt=UNKNOWN if call.is_in_doubt else "",
    )
    if answer is not None:
        raise NodeError(f"Node {call.path} may not run: {answer['error']}")


async def _run_in_time(call: NodeCall, seconds: float | None, name: str) -> Any:
    """Run the tool within the node's time limit, if the app's policy allows the call.

    Args:
      call: the call.
      seconds: the limit, or None.
      name: the node.

    Raises:
      NodeTimeoutError: the call took longer.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await _pass_gate(call)
    except Exception as error:  # boundary: of a tool whose time was over when it raised, too
        if not limit.expired():
            raise
        raise NodeTimeoutError(node_name=name, timeout=seconds or 0.0) from error


async def _pass_gate(call: NodeCall) -> Any:
    gate = call.ctx.services.node_gate
    if gate is not None:
        run = partial(_check_and_run, call)
        return await gate.run_call(call.tool, call.args, call.context, call.path, run)
    if not call.is_rejected:
        await _check_policy(call)
    return await _run_call(call)


async def _settle_failure(call: NodeCall, error: Exception) -> Any:
    """Apply the tool's policy to a call whose outcome is unknown.

    Args:
      call: the call, which is in doubt now.
      error: how its attempt ended.

    Returns:
      What the tool's `check` found; nothing if a person is asked.

    Raises:
      ToolInDoubtError: the tool may not run twice.
      Exception: `error`; the node may be retried.
    """
    tool = call.tool
    if tool.in_doubt == "rerun" and tool.in_doubt_check is None:
        raise error
    given = await settle_doubt(tool, call.args, call.context, None, True, call.path)
    if given is None:
        raise error
    reason = str(error)
    if not isinstance(error, ToolOutcomeUnknownError):
        reason = f"Tool {tool.name!r} of node {call.path}: {reason} {_GIVEN_UP}"
    call.check_doubt(reason)
    return given


async def _check_and_run(call: NodeCall) -> Any:
    await _check_policy(call)
    return await _run_call(call)


async def _run_call(run: NodeCall) -> Any:
    """Run the tool, unless it had begun before a crash and its policy answers in its place.

    Raises:
      ToolInDoubtError: the outcome is unknown, and the tool may not run twice.
      ToolNotRunError: a person rejected the call.
    """
    tool, context = run.tool, run.context
    if run.is_answered and run.is_rejected:
        note_effect(context, tool, run.args, "rejected", run.path)
        raise ToolInDoubtError(
            f"Tool {tool.name!r} of node {run.path} was not run again: a person rejected a second "
            "run. It is unknown whether the first one took effect. Check what happened."
        )
    if run.is_rejected:
        raise run.make_rejection_error()
    given = await settle_doubt(tool, run.args, context, None, run.is_in_doubt, run.path)
    if given is not None:
        if run.is_in_doubt:
            reason = _CUT if run.is_cut else UNKNOWN
            run.check_doubt(f"Tool {tool.name!r} of node {run.path}: {reason}")
        return given
    if not tool.repeatable and not tool.asks_first:  # a tool that asks first begins later
        await run.ctx.begin_call(run.call.id, tool.name)
    try:
        result = await tool.run_async(args=run.args, tool_context=context)
    except ABORTS as abort:
        error = as_tool_error(abort, f"Tool {tool.name!r}")
        note_outcome(context, error)
        raise error from abort
    except Exception as error:  # boundary: raised again; the effects ledger says that it failed
        note_outcome(context, error)
        raise
    note_outcome(context, result)
    if isinstance(result, UnknownOutcome):
        raise ToolOutcomeUnknownError(f"Tool {tool.name!r} of node {run.path}: {result['error']}")
    if isinstance(result, CallDeclined):
        raise ToolNotRunError(f"Tool {tool.name!r} of node {run.path}: {result['error']}")
    if isinstance(result, CallNotRun):
        raise ToolUnreachableError(f"Tool {tool.name!r} of node {run.path}: {result['error']}")
    return without_nul(result) if tool.has_outside_results else result
