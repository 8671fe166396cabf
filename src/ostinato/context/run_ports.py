"""RunPorts: what the runner lends to one invocation, and what its parts tell each other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import types
from ..events.event import Event
from ..sessions._checkpoints import Checkpoint
from ..sessions._resume import Resume
from .budget import Spending
from .deps import NOT_GIVEN

if TYPE_CHECKING:
    from ..sessions._durable_store import JournalRow
    from ._ports import Commit, RunJournal, Schedule, SendsEvents, Spawn, Streams


# Shared: each empty set is 216 bytes, and most runs need none.
NO_NAMES: frozenset[str] = frozenset()


async def _no_commit(events: Sequence[Event], rows: Sequence[JournalRow] = ()) -> None:
    """Commit nothing: there is no runner."""


class RunPorts:
    """What the runner lends to one invocation; shared by all contexts of it.

    Attributes:
      spawn: runs another agent in a session of its own, for AgentTool.
      commit: stores events and rows of the journal, together where the store can.
      journal: what the run has done beside its events; None where nothing outlives the process.
      schedule: runs a workflow node, for `Context.run_node`.
      past: what the invocation's workflow nodes had done; made by whoever asks first.
      recorded: the error of a workflow node that is on record already.
      tool_errors: what a raising tool does to the run.
      mistakes: the model's mistakes in a row, by tool name or kind.
      finished: response events of calls that ended and are not committed yet, by call id.
      unbegun: ids of this run's long-running calls whose tool has not begun.
      repeated: ids of calls that may have been run before, by the call that ran them.
      relays: take what agents do that run within a call, or that its tool shows, by call id.
      told: what agents that were called were told first, by isolation scope.
      leftovers: what to tidy up once a call's response is committed, by call id.
      resumed: whether the run goes on with an earlier invocation.
      resume: what that invocation had done; None where the run is a new one.
      checkpoints: what its agents had noted, oldest first.
      spending: what the invocation has used of its budget; None where it has none.
      streams: where streaming tools put their results; None outside of live runs.
      live_input: check what the user writes in a live run before the model gets it; each yields
        events, and raises to end the run.
      guards: guardrails of the app and of the agents above the one that the run begins with.
      with_end: names of agents whose live model says itself that its task is done.
      deps: what the program hands to tools, instructions and callbacks; `NOT_GIVEN` where nothing.
    """

    __slots__ = (
        "checkpoints",
        "commit",
        "deps",
        "finished",
        "guards",
        "journal",
        "leftovers",
        "live_input",
        "mistakes",
        "past",
        "recorded",
        "relays",
        "repeated",
        "resume",
        "resumed",
        "schedule",
        "spawn",
        "spending",
        "streams",
        "told",
        "tool_errors",
        "unbegun",
        "with_end",
    )

    def __init__(
        self,
        *,
        spawn: Spawn | None = None,
        schedule: Schedule | None = None,
        commit: Commit | None = None,
        journal: RunJournal | None = None,
        tool_errors: str = "raise",
        spending: Spending | None = None,
    ) -> None:
        self.commit: Commit = commit or _no_commit
        self.journal = journal
        self.spawn = spawn
        self.schedule = schedule
        self.tool_errors = tool_errors
        self.spending = spending
        self.mistakes: dict[str, int] = {}
        self.finished: dict[str, Event] = {}
        self.unbegun: frozenset[str] = NO_NAMES
        self.relays: dict[str, SendsEvents] = {}
        self.told: dict[str, types.Content] = {}
        self.repeated: dict[str, list[str]] = {}
        self.leftovers: dict[str, Callable[[], Awaitable[None]]] = {}
        self.resumed = False
        self.resume: Resume | None = None
        self.checkpoints: Sequence[Checkpoint] = ()
        self.streams: Streams | None = None
        self.live_input: Sequence[Callable[[types.Content], AsyncGenerator[Event, None]]] = ()
        self.with_end: frozenset[str] = NO_NAMES
        self.deps: Any = NOT_GIVEN
        self.guards: Any = None
        self.past: Any = None
        self.recorded: BaseException | None = None
