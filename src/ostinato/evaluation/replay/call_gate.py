"""CallGate: decides about every tool call of a replay. No effect passes it."""

from __future__ import annotations

import fnmatch
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from ...context.callbacks import first_result
from ...context.context import Context, invocation_of
from ...errors import InputValidationError
from ...events.event import Event
from ...events.event_actions import EventActions
from ...events.node_call import NodeCallRecord, name_path, unwrap_result
from ...events.request_input import REQUEST_INPUT
from ...plugins.base_plugin import BasePlugin
from ...sessions.base_session_service import HIDDEN_PREFIX
from ...tools.agent_tool import AgentTool
from ...tools.base_tool import BaseTool
from ...tools.exit_loop_tool import exit_loop
from ...tools.function_tool import FunctionTool
from ...tools.result_limits import storable_args
from ...workflow.stored_output import PLACES, from_json
from ..run_observer import RunObserver
from .recording import Call, call_key, have_paths, list_steps, place_of_agent, place_of_event

# Tools of the runtime that steer the run; matched by class, because names are the users'.
_STEERING = frozenset(
    (
        "ostinato.tools.transfer_to_agent_tool.TransferToAgentTool",
        "ostinato.tools.set_model_response_tool.SetModelResponseTool",
        "ostinato.tools.finish_task_tool.FinishTaskTool",
        "ostinato.tools.single_turn_tool.SingleTurnTool",
        "ostinato.tools.task_tool.TaskTool",
    )
)

_QUESTION = "Please approve or reject the tool call {}()"  # how tools begin their question
_NODE = "node "  # in front of the places of nodes; no agent's name has a space
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

MockAnswer = Callable[[BaseTool, dict[str, Any]], Awaitable[dict[str, Any]]]


class EffectStoppedError(InputValidationError):
    """A replayed agent called a tool of effect in a way that was not recorded."""


@dataclass(slots=True)
class RecordedCall:
    """One recorded call.

    Attributes:
      name, args: the call.
      responses: the events with its responses, each with the response.
      call_id: its id in the recording.
      question: what a person was asked before a node called; None if nothing was.
    """

    name: str
    args: dict[str, Any]
    call_id: str
    question: dict[str, Any] | None = None
    responses: list[tuple[Event, dict[str, Any]]] = field(
        default_factory=list[tuple[Event, dict[str, Any]]]
    )


class CallTable:
    """The recorded calls of one exchange, and what its replay made of them.

    Args:
      events: the events of the recorded agents.

    Attributes:
      stopped: the call of effect at which the replay was stopped, or None.
      asked_otherwise: that it was stopped at a recorded call, because the tool asks the user about
        it now and did not then, or the other way round; "" if it was not.
      mocked: the calls that the mock answered.
      ran: the calls of tools that ran.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.stopped: Call | None = None
        self.asked_otherwise = ""
        self.mocked: list[Call] = []
        self.ran: list[Call] = []
        self._waiting: dict[str, list[RecordedCall]] = {}
        self._last: dict[str, RecordedCall] = {}
        self._claimed: dict[str, tuple[RecordedCall, int]] = {}
        self._applied: set[str] = set()
        self._has_paths = have_paths(list_steps(events))
        by_id: dict[str, RecordedCall] = {}
        questions: dict[str, dict[str, Any]] = {}
        for event in events:
            place = self._shorten(place_of_event(event))
            for call in event.get_function_calls():
                known = RecordedCall(call.name or "", call.args or {}, call.id or "")
                by_id[known.call_id] = known
                if known.name == REQUEST_INPUT and event.node_info.path:
                    questions.setdefault(event.node_info.path, known.args)
                self._add(place, known)
            node_call = NodeCallRecord.of(event)
            if node_call is not None:
                known = RecordedCall(node_call.tool, node_call.args, "")
                known.question = questions.pop(node_call.path, None)
                known.responses.append((event, node_call.response))
                self._add(f"{_NODE}{node_call.place}", known)
            for answer in event.get_function_responses():
                found = by_id.get(answer.id or "")
                if found is not None:
                    found.responses.append((event, answer.response or {}))
        for path, question in questions.items():  # those without an answer
            asked = question.get("payload")
            if isinstance(asked, dict):
                fields = cast("dict[str, Any]", asked)
                known = RecordedCall(
                    str(fields.get("tool")), fields.get("args") or {}, "", question
                )
                self._add(f"{_NODE}{name_path(path)}", known)

    def _add(self, place: str, known: RecordedCall) -> None:
        key = f"{place} {call_key(known.name, known.args)}"
        self._waiting.setdefault(key, []).append(known)

    def _shorten(self, place: str) -> str:
        """Return an agent's path, or its name if the recording has no paths of agents."""
        return place if self._has_paths else place.rpartition("/")[2]

    def _claim(self, call_id: str, key: str) -> tuple[RecordedCall, int] | None:
        """Return the recorded call for a call, and how often it has answered; None if none does."""
        claimed = self._claimed.get(call_id)
        if claimed is not None:
            return claimed
        waiting = self._waiting.get(key)
        known = waiting.pop(0) if waiting else self._last.get(key)
        if known is None:
            return None
        self._last[key] = known
        return known, 0

    def list_responses(self, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Return arguments and last response of the recorded calls of a tool."""
        known = {id(one): one for calls in self._waiting.values() for one in calls}
        known |= {id(one): one for one in self._last.values()}
        return [
            (one.args, one.responses[-1][1])
            for one in known.values()
            if one.name == name and one.responses
        ]

    async def answer(self, tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
        """Return the recorded result of an equal call, and make its changes of state; None if no
        equal call was recorded.

        Raises:
          EffectStoppedError: the tool would ask the user about the call and did not then, or the
            other way round.
        """
        ctx = invocation_of(context)
        if ctx.session.id.startswith(HIDDEN_PREFIX):
            return None  # an agent that runs as a tool; the recording does not have its calls
        call_id = context.function_call_id or ""
        place = place_of_agent(context.agent_name, ctx.node_path or ctx.run_path)
        found = self._claim(call_id, f"{self._shorten(place)} {call_key(tool.name, args)}")
        if found is None:
            return None
        known, used = found
        if not known.responses:
            return {} if tool.is_long_running else None
        event, response = known.responses[min(used, len(known.responses) - 1)]
        if used == 0:
            await self._compare_question(event, known, tool, args, context)
        self._claimed[call_id] = known, used + 1
        self._apply(event, known, context)
        return response

    async def answer_node(
        self, tool: BaseTool, args: dict[str, Any], context: Context, path: str
    ) -> tuple[bool, Any]:
        """Return whether an equal call of this node was recorded, and its result.

        If a person was asked before the call, the node asks again, and there is no result yet.

        Args:
          tool: the tool.
          args: the arguments.
          context: the call's context.
          path: the path of the node.

        Raises:
          EffectStoppedError: the tool would ask the user about the call and did not then, or the
            other way round.
        """
        call_id, given = context.function_call_id or "", storable_args(args)
        if given is None or invocation_of(context).session.id.startswith(HIDDEN_PREFIX):
            return False, None
        found = self._claim(call_id, f"{_NODE}{name_path(path)} {call_key(tool.name, given)}")
        if found is None:
            return False, None
        known, used = found
        self._claimed[call_id] = known, used + 1
        if used == 0 and context.tool_confirmation is None:
            asked, asks_now = known.question, await tool.asks_user(dict(args), context)
            message = str(asked.get("message") or "") if asked is not None else ""
            # A doubt and a tool's own code ask with a hint; they are not compared.
            by_tool = asked is not None and message.endswith(")?")
            self._compare_asking(tool, args, asks_now and asked is None, by_tool and not asks_now)
            if asked is not None:
                payload: Any = asked.get("payload")
                fields = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
                hint = "" if by_tool else message.rpartition(")? ")[2]
                context.request_confirmation(hint=hint, payload=fields.get("payload"))
                return True, None
        if not known.responses:
            return False, None
        event, response = known.responses[0]
        self._apply(event, known, context)
        if event.content is None and event.actions.route is None:
            metadata: dict[str, Any] = event.custom_metadata or {}
            return True, from_json(unwrap_result(response), metadata.get(PLACES, ()))
        actions = EventActions(route=event.actions.route)
        return True, Event(content=event.content, output=event.output, actions=actions)

    async def _compare_question(
        self, event: Event, known: RecordedCall, tool: BaseTool, args: dict[str, Any], ctx: Context
    ) -> None:
        """Stop the replay if the tool asks the user and did not then, or the other way round."""
        asked = event.actions.requested_tool_confirmations.get(known.call_id)
        # A policy, a doubt and a tool's own code ask with other hints; they are not compared.
        by_tool = asked is not None and asked.hint.startswith(_QUESTION.format(known.name))
        asks_now = await tool.asks_user(dict(args), ctx)
        self._compare_asking(tool, args, asks_now and asked is None, by_tool and not asks_now)

    def _compare_asking(
        self, tool: BaseTool, args: dict[str, Any], only_now: bool, only_then: bool
    ) -> None:
        if only_now:
            self.asked_otherwise = f"{tool.name} now asks for a confirmation"
        elif only_then:
            self.asked_otherwise = f"{tool.name} no longer asks for a confirmation"
        if self.asked_otherwise:
            self.stopped = (tool.name, dict(args))
            raise EffectStoppedError(f"The replay was stopped: {self.asked_otherwise}.")

    def _apply(self, event: Event, known: RecordedCall, context: Context) -> None:
        actions = event.actions
        asked = actions.requested_tool_confirmations.get(known.call_id)
        if asked is not None:
            context.request_confirmation(hint=asked.hint, payload=asked.payload)
        if event.id in self._applied:  # parallel calls share one event
            return
        self._applied.add(event.id)
        for key, value in actions.state_delta.items():
            context.state[key] = value
        for name in ("skip_summarization", "escalate", "transfer_to_agent"):
            value = getattr(actions, name)
            if value is not None:
                setattr(context.actions, name, value)


current_table: ContextVar[CallTable | None] = ContextVar("replayed_calls", default=None)
"""The recorded calls of the exchange that the running task replays."""


class CallGate(BasePlugin):
    """Answers tool calls from the recording: those of agents as the last plugin of a replayed run,
    those of workflow nodes as its gate for them.

    A call that equals a recorded one of the same agent or node gets the recorded result. Another
    one runs if its tool only reads. A call of effect is answered by the mock, or stops the replay:
    it never runs.

    Args:
      read_only: patterns of the names of tools that only read.
      mock: answers calls of effect that were not recorded; without it they stop the replay.
      observer: counts the calls of nodes, which no plugin sees.
    """

    def __init__(
        self,
        read_only: Sequence[str] = (),
        mock: MockAnswer | None = None,
        observer: RunObserver | None = None,
    ) -> None:
        super().__init__(name="ostinato_replay")
        self._read_only = tuple(read_only)
        self._mock = mock
        self._observer = observer

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: Context
    ) -> Any:
        """Return the result of a call, or None if the tool may run.

        Raises:
          EffectStoppedError: the call has an effect, and was not recorded; or its tool would ask
            the user and did not then, or the other way round.
        """
        table = current_table.get()
        if is_steering(tool):
            return None
        answer = await _run_agent_callbacks(tool, tool_args, tool_context)
        if answer is not None:
            return answer
        if table is not None:
            _check_running(table)
            answer = await table.answer(tool, tool_args, tool_context)
            if answer is not None:
                return answer
        return await self._answer_unrecorded(table, tool, tool_args)

    async def run_call(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        context: Context,
        path: str,
        run: Callable[[], Awaitable[Any]],
    ) -> Any:
        """Return the result of a call that a workflow node makes.

        Args:
          tool: the tool.
          args: the arguments.
          context: the call's context.
          path: the path of the node.
          run: runs the tool.

        Raises:
          EffectStoppedError: as for the calls of agents.
        """
        table = current_table.get()
        if self._observer is not None:
            await self._observer.before_tool_callback(
                tool=tool, tool_args=args, tool_context=context
            )
        if is_steering(tool):
            return await run()
        if table is not None:
            _check_running(table)
            is_recorded, result = await table.answer_node(tool, args, context, path)
            if is_recorded:
                return result
        answer = await self._answer_unrecorded(table, tool, args)
        return await run() if answer is None else unwrap_result(answer)

    async def _answer_unrecorded(
        self, table: CallTable | None, tool: BaseTool, args: dict[str, Any]
    ) -> Any:
        """Return the mock's answer to a call that was not recorded, or None if the tool may run.

        Raises:
          EffectStoppedError: the tool may have effects, and there is no mock.
        """
        if table is not None:
            if self._may_run(tool):
                table.ran.append((tool.name, dict(args)))
                return None
            if self._mock is not None:
                table.mocked.append((tool.name, dict(args)))
                return await self._mock(tool, args)
            table.stopped = (tool.name, dict(args))
        raise EffectStoppedError(
            f"The call of the tool {tool.name!r} was not recorded, and the tool may have effects. "
            "Name it with --read-only if it only reads."
        )

    def _may_run(self, tool: BaseTool) -> bool:
        if isinstance(tool, AgentTool):
            return tool.include_plugins  # its own calls then pass this gate
        return is_read_only(tool, self._read_only)


def _check_running(table: CallTable) -> None:
    """Raise EffectStoppedError if the replay was stopped."""
    if table.stopped is not None:
        raise EffectStoppedError("The replay was stopped at an earlier call.")


def is_steering(tool: BaseTool) -> bool:
    """Return whether a tool only steers the run, such as a transfer.

    Args:
      tool: the tool.
    """
    kind = type(tool)
    if kind is FunctionTool:
        return cast(Any, tool).func is exit_loop
    if isinstance(tool, AgentTool) and not tool.include_plugins:
        return False  # the gate would not see the calls of its agent
    return f"{kind.__module__}.{kind.__qualname__}" in _STEERING


def is_read_only(tool: BaseTool, patterns: Sequence[str] = ()) -> bool:
    """Return whether running a tool has no effect.

    A tool says so by `custom_metadata={"read_only": True}`, an MCP server by `readOnlyHint`, an
    HTTP operation by a safe method. Nothing is concluded from a tool's name.

    Args:
      tool: the tool.
      patterns: patterns of names that the caller vouches for, such as `get_*`.
    """
    if any(fnmatch.fnmatchcase(tool.name, one) for one in patterns):
        return True
    if (tool.custom_metadata or {}).get("read_only") is True:
        return True
    kind = type(tool)
    if not kind.__module__.startswith("ostinato."):
        return False
    annotations: Any = getattr(tool, "annotations", None)
    if isinstance(annotations, dict):
        return cast(dict[str, Any], annotations).get("readOnlyHint") is True
    endpoint: Any = getattr(tool, "endpoint", None)
    if endpoint is not None:
        return str(getattr(endpoint, "method", "")).upper() in _SAFE_METHODS
    return tool.repeatable


async def _run_agent_callbacks(tool: BaseTool, args: dict[str, Any], context: Context) -> Any:
    """Return the answer of the agent's own callbacks, which the runtime asks after plugins."""
    agent: Any = invocation_of(context).agent
    callbacks = getattr(agent, "canonical_before_tool_callbacks", None)
    if not callbacks:
        return None
    return await first_result(
        callbacks,
        "before_tool_callback",
        agent.name,
        tool=tool,
        args=args,
        tool_context=context,
    )
