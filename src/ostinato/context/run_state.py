"""RunState: the mutable state of one invocation that is stored in no event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .. import types
from ..events.event import Event
from ..sessions.log.checkpoints import Checkpoint
from ..sessions.log.event_log import EventRecord
from ..sessions.log.ordered_delta import WriteOrder
from ..sessions.log.resume import Resume

if TYPE_CHECKING:
    from ..sessions.store.durable_store import JournalRow
    from ._ports import RunJournal, SendsEvents

_turns: ContextVar[tuple[object, ...]] = ContextVar("ostinato_turns", default=())


class SerialCalls:
    """Runs one call at a time, in their order.

    A nested call, which the running one makes and waits for, runs at once to avoid a deadlock.
    """

    __slots__ = ("_current", "_lock")

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._current: object | None = None

    async def run(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run `call` when the earlier ones have ended, and return its result.

        A cancelled call ends its turn, even if its thread still runs.
        """
        within = _turns.get()
        if self._current is not None and self._current in within:
            return await call()
        async with self._lock:
            self._current = turn = object()
            token = _turns.set((*within, turn))
            try:
                return await call()
            finally:
                _turns.reset(token)
                self._current = None


class RunState:
    """State of one invocation, shared by all its contexts.

    Attributes:
      journal: tool calls and checkpoints of the run; None if nothing outlives the process.
      past: results of workflow nodes, created on first use by `workflow.past`.
      recorded_error: the error of a workflow node that is already stored.
      failure: the newest error of an agent, with path, name and branch of the innermost agent run
        that it ended.
      mistakes: the model's mistakes in a row, by tool name or kind.
      finished_responses: uncommitted response events of finished calls, by call id.
      silent_call_ids: ids of long-running calls whose tool has returned nothing in this run, or may
        have in an earlier one.
      other_answers: answered calls of the user's message, of agents that run after the first one.
      started_call_ids: ids of the calls whose tool this run has started.
      unstarted_call_ids: ids of this run's long-running calls whose tool has not started.
      doubtful_calls: of calls of workflow nodes that this run gave up with an unknown outcome, and
        that no journal keeps: which doubt it is, by call id.
      edited_calls: calls that have not run yet and that a plugin changed in their event, as the log
        has them, by call id; None without one.
      repeated_call_ids: ids of calls that may have run before, by the id of the call that ran them.
      relays: relays of the events of agents that run within a call, by call id.
      initial_prompts: the first content for called agents, by isolation scope.
      cleanup_callbacks: clean-up after a call's response is committed, by call id.
      transfer_counts: how often each agent has run, by its path without the last number; created by
        the first transfer.
      is_resumed: whether the run resumes an earlier invocation.
      is_sealed: whether the end of the run has closed its calls.
      resume: the resume data of that invocation; None in a new one.
      checkpoints: the checkpoints of its agents, oldest first.
      guards: guardrails of the app and of the agents above the first agent.
      policy_decisions: what the policy decided on calls, by call id, for the events of their
        responses; None without a decision.
      write_order: numbers the state writes of a run with parallel branches; None without them.
    """

    __slots__ = (
        "_serial_calls",
        "checkpoints",
        "cleanup_callbacks",
        "doubtful_calls",
        "edited_calls",
        "failure",
        "finished_responses",
        "guards",
        "initial_prompts",
        "is_resumed",
        "is_sealed",
        "journal",
        "mistakes",
        "other_answers",
        "past",
        "policy_decisions",
        "recorded_error",
        "relays",
        "repeated_call_ids",
        "resume",
        "silent_call_ids",
        "started_call_ids",
        "transfer_counts",
        "unstarted_call_ids",
        "write_order",
    )

    def __init__(self, journal: RunJournal | None = None) -> None:
        self.journal = journal
        self.mistakes: dict[str, int] = {}
        self.finished_responses: dict[str, Event] = {}
        # Nodes have copies of this state, which share what is not assigned anew.
        self.silent_call_ids: set[str] = set()
        self.started_call_ids: set[str] = set()
        self.unstarted_call_ids: set[str] = set()
        self.relays: dict[str, SendsEvents] = {}
        self.initial_prompts: dict[str, types.Content] = {}
        self.doubtful_calls: dict[str, int] = {}
        self.repeated_call_ids: dict[str, list[str]] = {}
        self.cleanup_callbacks: dict[str, Callable[[], Awaitable[None]]] = {}
        self.is_resumed = False
        self.is_sealed = False
        self.resume: Resume | None = None
        self.other_answers: Sequence[EventRecord] = ()
        self.checkpoints: Sequence[Checkpoint] = ()
        self.guards: Any = None
        self.past: Any = None
        self.failure: tuple[BaseException, str, str, str | None] | None = None
        self.transfer_counts: dict[str, int] | None = None
        self.recorded_error: BaseException | None = None
        self._serial_calls: SerialCalls | None = None
        self.write_order: WriteOrder | None = None
        self.policy_decisions: dict[str, dict[str, Any]] | None = None
        self.edited_calls: dict[str, types.FunctionCall] | None = None

    def earlier_row(self, call_id: str | None) -> JournalRow | None:
        """Return the row that an earlier process stored for a call, or None, as without a journal.

        Args:
          call_id: the call.
        """
        return None if self.journal is None else self.journal.earlier_row(call_id)

    def order_writes(self) -> None:
        """Number the state writes from now on: branches of the run may write the same keys."""
        if self.write_order is None:
            self.write_order = WriteOrder()

    async def run_serially(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a plain function that receives the context when no other one of the run does."""
        if self._serial_calls is None:
            self._serial_calls = SerialCalls()
        return await self._serial_calls.run(call)
