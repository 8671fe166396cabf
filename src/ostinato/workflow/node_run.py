"""NodeRun: one run of one node, and how what the node gives becomes events of it.

The scheduler runs it; a graph and `ctx.run_node` make it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from .. import types
from ..context.context import Context
from ..context.invocation import InvocationContext
from ..context.node import BaseNode
from ..errors import NodeError, NodeSchemaError
from ..events.event import EVENT_TEMPLATE, Event, NodeInfo
from ..events.event_actions import EventActions
from ..events.request_input import RequestInput
from ..sessions.log.ordered_delta import OrderedDelta
from ..sessions.state import check_state
from .lanes import Lanes
from .past import mark_end, read_past
from .rehydrate import PastRun
from .stored_output import PLACES, StoredOutput, to_output
from .values import check_value

if TYPE_CHECKING:
    from ..sessions.store.durable_store import JournalRow


@dataclass(frozen=True, slots=True)
class Last:
    """What a node yields when it knows that nothing comes after it."""

    value: Any


@dataclass(slots=True)
class NodeRun:
    """One run of a node.

    Attributes:
      node: the node.
      path: where it runs: segments `name@run_id`, joined by `/`.
      invocation: the run's context, on the branch of this node.
      node_input: its input.
      author: author of the events it yields without one.
      output_for: paths of the runs whose output its output is; its own first.
      parent: the run that runs it; None for the root of a graph.
      attempt: number of this attempt, from 1.
      output, has_output, route: what it gave.
      delegated: whether its output came from a node below it, whose event says so.
      interrupts: ids of what it waits for.
      silent: whether no event tells yet that it ended.
      children: runs that it began with `ctx.run_node`, by path.
      counts: how many of these it began, by name.
      lanes: in which those run.
      rows: rows of the journal that are committed with the next event of this run.
    """

    node: BaseNode
    path: str
    invocation: InvocationContext
    node_input: Any
    author: str
    output_for: list[str]
    parent: NodeRun | None = None
    context: Context | None = None
    attempt: int = 1
    output: Any = None
    has_output: bool = False
    route: Any = None
    delegated: bool = False
    ended: bool = False
    interrupts: set[str] = field(default_factory=set[str])
    children: dict[str, Child] = field(default_factory=dict[str, "Child"])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lanes: Lanes[str] | None = None
    rows: Sequence[JournalRow] = ()

    @property
    def past(self) -> PastRun | None:
        """What the log says about it, or None if it says nothing."""
        return read_past(self.invocation).runs.get(self.path)

    def is_over(self) -> bool:
        """Return whether the log says that it has ended, so that nothing of it is left to do."""
        past = self.past
        if past is None or past.finished is None:
            return False
        if past.said and past.has_new_answer:
            return False  # its agent spoke before a result that it waits for came
        return past.closed or not (past.said and self.invocation.is_resumable)

    def has_answer(self) -> bool:
        """Return whether a person has answered, and nothing below the node has acted on it yet."""
        past = self.past
        return past is not None and (past.has_new_answer or past.has_turn)

    def begin_attempt(self, resume_inputs: dict[str, Any]) -> Context:
        """Begin an attempt; return the node's context."""
        self.output, self.has_output, self.route = None, False, None
        self.delegated = self.ended = False
        self.interrupts = set()
        self.children, self.counts = {}, {}
        self.context = ctx = Context(
            self.invocation,
            node=self.node,
            node_path=self.path,
            run_id=self.path.rpartition("@")[2],
            resume_inputs=resume_inputs,
            attempt_count=self.attempt,
            parent_ctx=self.parent.context if self.parent is not None else None,
        )
        ctx.event_author, ctx.node_run, ctx.interrupt_ids = self.author, self, self.interrupts
        return ctx

    def deliver_output(self, output: Any) -> None:
        """Take an output that a node below it gave and whose event says so.

        Raises:
          NodeSchemaError: it does not fit the node's output schema.
        """
        if self.node.output_schema is not None:
            output = self._fit_output(output).value
        self.output, self.has_output, self.delegated = output, True, True

    def take_item(self, item: Any) -> Event | None:
        """Return the event for an item that the node yielded, or None."""
        if isinstance(item, Last):
            self.ended = True
            event = self.take_item(item.value)
            if event is None or not self._tells_end(event):
                self._mark_end()
            return event
        if item is None:
            return None
        event = self._make_event(item)
        if self.delegated and event.content is None and event.actions.is_empty():
            return None  # nothing but an output, and a node below it has given that
        if event.node_info.path:  # of a run below this one
            self.interrupts.update(event.long_running_tool_ids or ())
            return event
        self._stamp_event(event)
        return event

    def attach_rows(self, event: Event) -> None:
        """Let an event take the rows of the journal that wait for it."""
        journal, rows, self.rows = self.invocation.run_state.journal, self.rows, ()
        if journal is not None:
            journal.attach(event.id, rows)

    def leave_effects(self) -> None:
        """Let the next event of the run take the effects that wait for one of this cancelled node.

        Its call stays in doubt.
        """
        journal, rows, self.rows = self.invocation.run_state.journal, self.rows, ()
        if rows and journal is not None:
            journal.add(row for row in rows if row.status == "effect")

    def last_event(self) -> Event | None:
        """Return the event of what is left to say when the node has ended."""
        ctx = self.context
        assert ctx is not None
        if ctx.output is not None and not self.has_output:
            pending = self._pending_effects(ctx)
            if pending is not None:
                return pending
            event = EVENT_TEMPLATE.create(output=ctx.output)
            ctx.output = None
            if ctx.route is not None:
                event.actions.route, ctx.route = ctx.route, None
            self._stamp_event(event)
            return event
        if ctx.route is not None and self.route is None:
            event = Event(actions=EventActions(route=ctx.route))
            ctx.route = None
            self._mark_unless_waiting()
            self._stamp_event(event)
            return event
        event = self._pending_effects(ctx)
        if not self.ended:
            self._mark_unless_waiting()
        return event

    def _mark_unless_waiting(self) -> None:
        self.ended = True
        if not self.interrupts and (not self.has_output or self.delegated):
            if not (self.delegated and self.node.runs_graph):
                self._mark_end()

    def _pending_effects(self, ctx: Context) -> Event | None:
        if not ctx.actions.state_delta and not ctx.actions.artifact_delta:
            return None
        event = Event()
        self._stamp_event(event)
        return event

    def _mark_end(self) -> None:
        route = self.route if self.context is None or not self.context.route else self.context.route
        mark_end(self.invocation, self.path, route, self.output if self.delegated else None)
        journal, rows, self.rows = self.invocation.run_state.journal, self.rows, ()
        if rows and journal is not None:
            journal.add(rows)  # with the mark

    def _tells_end(self, event: Event) -> bool:
        return self.has_output or bool(event.long_running_tool_ids)

    def _make_event(self, item: Any) -> Event:
        if isinstance(item, Event):
            return item
        if isinstance(item, RequestInput):
            content = types.Content(role="model", parts=[item.part()])
            return Event(content=content, long_running_tool_ids={item.interrupt_id})
        return EVENT_TEMPLATE.create(output=item)

    def _stamp_event(self, event: Event) -> None:
        """Fill in where an event comes from, and take what it says about the run."""
        assert self.context is not None
        event.author = event.author or self.author
        event.invocation_id = self.invocation.invocation_id
        if event.branch is None:
            event.branch = self.invocation.branch
        if event.isolation_scope is None:
            event.isolation_scope = self.invocation.isolation_scope
        info = event.node_info
        if self.delegated:  # a node below it has given the output
            event.output, info.message_as_output = None, None
        if event.output is not None or info.message_as_output:
            self._take_output(event)
            event.node_info = NodeInfo(
                path=self.path,
                output_for=list(self.output_for),
                message_as_output=info.message_as_output,
            )
        else:
            event.node_info = NodeInfo(path=self.path)
        if event.partial:
            return
        if self.rows:
            self.attach_rows(event)
        self._take_effects(event, self.context)
        if event.long_running_tool_ids:
            self.interrupts.update(event.long_running_tool_ids)

    def _take_output(self, event: Event) -> None:
        if self.has_output:
            raise NodeError(
                f"Output already set: node {self.path} gave a second output. A node can produce at "
                "most one; yield Event(message=...) for what is said on the way."
            )
        assert self.context is not None
        value = event.output
        if value is None:
            value = self.context.output if self.context.output is not None else _join_texts(event)
            self.context.output = None
        else:
            event.output, places = self._fit_output(value)
            value = event.output
            if places:
                event.custom_metadata = {**(event.custom_metadata or {}), PLACES: places}
        self.output, self.has_output = value, True

    def _fit_output(self, value: Any) -> StoredOutput:
        """Return an output in the type that the node declares, as the next node gets it.

        Raises:
          NodeSchemaError: it does not fit, or cannot be stored.
        """
        if self.node.output_schema is not None:
            value = check_value(value, self.node.output_schema, f"The output of node {self.path}")
        try:
            return to_output(value)
        except ValueError as error:
            raise NodeSchemaError(
                f"The output of node {self.path} holds what JSON cannot carry: {error}. Give text, "
                "numbers, bytes, lists, dicts, a Content or a pydantic model; put anything else "
                "into an artifact."
            ) from None

    def _take_effects(self, event: Event, ctx: Context) -> None:
        """Let an event carry what the node wrote into its context."""
        actions, own = event.actions, ctx.actions
        if ctx.state_schema is not None:
            check_state(ctx.state_schema, own.state_delta)
            check_state(ctx.state_schema, actions.state_delta)
        if actions is not own:
            if own.state_delta:
                actions.state_delta = _join_deltas(own.state_delta, actions.state_delta)
                own.state_delta.clear()
            if own.artifact_delta:
                actions.artifact_delta = {**own.artifact_delta, **actions.artifact_delta}
                own.artifact_delta.clear()
        if actions.route is not None:
            self.route = actions.route


def _join_deltas(written: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return what a node wrote into its context, and what its event says, which counts more."""
    if not isinstance(written, OrderedDelta):
        return {**written, **given}
    joined = written.without(())
    joined.update(given)
    return joined


class Child:
    """A run begun by `ctx.run_node`, and who waits for it."""

    __slots__ = ("ended", "error", "run")

    def __init__(self, run: NodeRun) -> None:
        self.run = run
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.error: BaseException | None = None

    def note_end(self, error: BaseException | None) -> None:
        """Note its end."""
        self.error = error
        if not self.ended.done():
            self.ended.set_result(None)


def _join_texts(event: Event) -> str:
    parts = event.content.parts if event.content is not None else None
    return "".join(p.text for p in parts or () if p.text and not p.thought)


def plain_model(value: Any) -> Any:
    """Return a model as a dict, any other value unchanged."""
    return value.model_dump() if isinstance(value, BaseModel) else value


def as_response(result: Any) -> dict[str, Any] | None:
    """Return a tool's result as the response that an agent's model would read."""
    plain: Any = plain_model(result)
    if plain is None or isinstance(plain, dict):
        return cast("dict[str, Any] | None", plain)
    return {"result": plain}
