"""ToolNode: a tool as a node, under the same policies as a call of an agent."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import SkipValidation

from .. import types
from .._aborted_tool import ABORTS, as_tool_error
from ..auth.tool_confirmation import ToolConfirmation
from ..context.context import Context
from ..context.invocation import InvocationContext
from ..context.node import BaseNode
from ..durable.journal import count_attempts
from ..errors import GraphError, NodeError
from ..events.event import Event
from ..events.request_input import REQUEST_INPUT, RequestInput
from ..sessions.log.resume import RERUN
from ..tools.base_tool import BaseTool
from ..tools.call_doubt import UNKNOWN, note_effect, note_outcome, settle_doubt
from ..tools.function_tool import REJECTED
from ..tools.result_limits import without_nul
from .node_errors import ToolInDoubtError, ToolNotRunError
from .node_run import Last, NodeRun, plain_model
from .stored_output import to_json

_MAX_ARGS = 500  # characters of the arguments in a question
_FOR_PROGRAMS = "FunctionResponse"  # a hint with this word tells programs how to answer
_NUMBER = re.compile(r"r?\d{1,9}")
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
      GraphError: `rerun_on_resume` is False; a person's answer would then be the output.
    """

    rerun_on_resume: bool = True
    tool: SkipValidation[Any] = None

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        if not self.rerun_on_resume:
            raise GraphError(
                f"Node {self.name!r} calls a tool and needs rerun_on_resume=True: it runs the tool "
                "once a person has answered its question."
            )

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        call = _make_call(ctx, self.tool, node_input)
        await _check_policy(call)
        try:
            result = await _run_call(call)
        except BaseException as raised:  # boundary: the next event says how the call ended
            is_error = isinstance(raised, Exception)
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
        yield Last(call.mark_rerun(result))


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
      is_in_doubt: whether the call began in a process that ended, and its policy has to decide.
      is_answered: whether a person has decided on this doubt.
    """

    ctx: InvocationContext
    call: types.FunctionCall
    tool: BaseTool
    args: dict[str, Any]
    context: Context
    path: str
    run: NodeRun | None
    question_id: str
    is_in_doubt: bool
    is_answered: bool

    def keep_rows(self, result: Any, *, is_open: bool) -> None:
        """Let the next event of the node take the journal's rows for the end of the tool's body.

        Args:
          result: what the tool returned, for the effects ledger.
          is_open: whether the tool may run again, so that the call is not in doubt.
        """
        journal = self.ctx.run_state.journal
        if journal is None or self.run is None:
            return
        rows = [*journal.take_effect(self.call.id, _as_response(result))]
        if is_open:
            rows += journal.end_attempt(self.call.id, self.tool.name)
        self.run.rows = [*self.run.rows, *rows]

    def take_question(self) -> RequestInput | None:
        """Return the question that the tool or its policy asks a person, or None."""
        actions = self.context.actions
        asked = actions.requested_tool_confirmations.pop(self.call.id or "", None)
        if asked is None:
            return None
        actions.skip_summarization = None
        payload: dict[str, Any] = {"tool": self.tool.name, "args": to_json(self.args)}
        if asked.payload is not None:
            payload["payload"] = to_json(asked.payload)
        hint = "" if _FOR_PROGRAMS in asked.hint else asked.hint
        shown = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        if len(shown) > _MAX_ARGS:
            shown = shown[:_MAX_ARGS] + "..."
        return RequestInput(
            interrupt_id=self.question_id,
            message=f"Run {self.tool.name}({shown})? {hint}".strip(),
            payload=payload,
            response_schema=bool if asked.payload is None else _EDITABLE,
        )

    def check_rejection(self, result: Any) -> None:
        """Raise ToolNotRunError if the result says that a person rejected the call."""
        answer = self.context.tool_confirmation
        if answer is None or answer.confirmed or not isinstance(result, dict):
            return
        if cast("dict[str, Any]", result).get("error") == REJECTED:
            raise ToolNotRunError(
                f"Tool {self.tool.name!r} of node {self.path} was not run: a person rejected the "
                "call. To continue after a rejection, ask in a node before it and choose a route "
                "by the answer."
            )

    def mark_rerun(self, result: Any) -> Any:
        """Return the result; as an event that says so if the tool may have run twice."""
        call_id = self.call.id or ""
        if call_id not in self.ctx.run_state.repeated_call_ids or result is None:
            return result
        event = result if isinstance(result, Event) else Event(output=result)
        event.custom_metadata = {**(event.custom_metadata or {}), RERUN: [call_id]}
        return event


def _as_response(result: Any) -> dict[str, Any] | None:
    """Return a tool's result as the response that an agent's model would read."""
    plain: Any = plain_model(result)
    if plain is None or isinstance(plain, dict):
        return cast("dict[str, Any] | None", plain)
    return {"result": plain}


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
        if not head or _NUMBER.fullmatch(number) is None:
            break
        call_id, count = head, count + 1
    return call_id if count and "@" in call_id else ""


def _make_call(ctx: Context, tool: BaseTool, node_input: Any) -> NodeCall:
    """Return the call that a node makes.

    Raises:
      NodeError: the input holds no arguments.
    """
    args = plain_model(node_input)
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        raise NodeError(
            f"Node {ctx.node_path} calls tool {tool.name!r} and takes its arguments as a "
            f"dict; it got {type(args).__name__}."
        )
    arguments = dict(cast("Mapping[str, Any]", args))
    invocation = ctx.get_invocation_context()
    call_id = f"{invocation.invocation_id}:{ctx.node_path}"
    doubt = "" if tool.repeatable else _find_doubt(ctx, call_id)
    asks = bool(doubt) and tool.in_doubt == "ask" and tool.in_doubt_check is None
    # Each doubt has questions of its own: an old approval never answers a new doubt.
    question_id = f"{call_id}:{doubt if asks else 0}"
    answer, question_id = _find_answer(ctx.resume_inputs, question_id)
    context = Context(
        invocation,
        event_actions=ctx.actions,
        function_call_id=call_id,
        tool_confirmation=answer,
    )
    call = types.FunctionCall(id=call_id, name=tool.name, args=arguments)
    is_answered = asks and answer is not None
    return NodeCall(
        invocation,
        call,
        tool,
        arguments,
        context,
        ctx.node_path,
        ctx.node_run,
        question_id,
        bool(doubt) and not is_answered,
        is_answered,
    )


def _find_doubt(ctx: Context, call_id: str) -> str:
    """Return what tells a call's doubt from its earlier ones; '' if the call is not in doubt."""
    journal = ctx.get_invocation_context().run_state.journal
    row = None if journal is None else journal.row(call_id)
    if row is not None:
        attempts = count_attempts(row)
        return str(attempts) if attempts else ""
    run: NodeRun | None = ctx.node_run
    past = None if run is None else run.past
    # A failed run has no journal any more, but its log says that the doubt was never resolved.
    return f"r{past.doubts}" if past is not None and past.doubts else ""


def _find_answer(inputs: Mapping[str, Any], base: str) -> tuple[ToolConfirmation | None, str]:
    """Return the newest answer to the questions of a call, and the id of the next question."""
    answer: ToolConfirmation | None = None
    question_id, asked = base, 0
    while question_id in inputs:
        given: Any = inputs[question_id]
        fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {"confirmed": given}
        answer = ToolConfirmation(
            confirmed=fields.get("confirmed") is True, payload=fields.get("payload")
        )
        asked += 1
        question_id = f"{base}:{asked}"
    return answer, question_id


async def _check_policy(call: NodeCall) -> None:
    """Apply the app's policy to the tool of a node; it cannot ask a person from there.

    Raises:
      NodeError: the policy denies the call, or requires a person's approval.
    """
    policy = call.ctx.services.policy
    if policy is None:
        return
    answer = await policy.check(
        call.ctx, call.call, call.tool, call.args, call.context, can_ask=False
    )
    if answer is not None:
        raise NodeError(f"Node {call.path} may not run: {answer['error']}")


async def _run_call(run: NodeCall) -> Any:
    """Run the tool, unless it had begun before a crash and its policy answers in its place.

    Raises:
      ToolInDoubtError: the outcome is unknown, and the tool may not run twice.
    """
    tool, context, answer = run.tool, run.context, run.context.tool_confirmation
    if run.is_answered and answer is not None and not answer.confirmed:
        note_effect(context, tool, run.args, "rejected", run.path)
        raise ToolInDoubtError(
            f"Tool {tool.name!r} of node {run.path} was not run again: a person rejected a second "
            "run. It is unknown whether the first one took effect. Check what happened."
        )
    given = await settle_doubt(tool, run.args, context, None, run.is_in_doubt, run.path)
    if given is not None:
        if run.is_in_doubt and tool.in_doubt_check is None and tool.in_doubt == "at_most_once":
            raise ToolInDoubtError(
                f"Tool {tool.name!r} of node {run.path}: {UNKNOWN} To let the graph find out or "
                'ask a person, give the tool check=... or in_doubt="ask".'
            )
        return given
    is_journalled = run.ctx.run_state.journal is not None and not tool.repeatable
    if is_journalled and not tool.asks_first:  # a tool that asks first begins later
        await run.ctx.begin_call(run.call.id, tool.name)
    try:
        result = await tool.run_async(args=run.args, tool_context=context)
    except ABORTS as abort:
        error = as_tool_error(abort, f"Tool {tool.name!r}")
        note_outcome(run.ctx, run.call.id, "failed")
        raise error from abort
    except Exception:  # boundary: raised again; the effects ledger says that the tool failed
        note_outcome(run.ctx, run.call.id, "failed")
        raise
    note_outcome(run.ctx, run.call.id, "done")
    return without_nul(result) if tool.has_outside_results else result
