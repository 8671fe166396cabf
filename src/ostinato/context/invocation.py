"""InvocationContext: everything one run carries through agents, flow and tools.

The runner makes it; `ostinato.agents.invocation_context` is its public face.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SkipValidation

from .. import _clock, types
from .._log import get_logger
from ..errors import LlmCallsLimitExceededError as LlmCallsLimitExceededError
from ..errors import ModelRetriesExceededError
from ..events.event import Event
from ..models.context_cache_config import ContextCacheConfig
from ..sessions._resume import Checkpoint, Resume, recorded_checkpoints
from ..sessions.event_log import EventLog
from ..sessions.session import Session, log_of
from .app_config import EventsCompactionConfig, ResumabilityConfig
from .budget import Spending
from .live_request_queue import LiveRequestQueue
from .no_hooks import NoHooks

if TYPE_CHECKING:
    from ..sessions._durable_store import JournalRow
    from ._ports import Commit, Hooks, RunJournal, Schedule, Spawn
    from .run_config import RunConfig
else:  # ports are for the type checker; fields do not check them
    Commit = Hooks = JournalRow = RunConfig = RunJournal = Schedule = Spawn = Any

logger = get_logger(__name__)


class BaseAgentState(BaseModel):
    """Checkpoint of an agent; subclasses add what they need to go on (Spec 1 §19)."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class RealtimeCacheEntry(BaseModel):
    """A piece of audio or video of a live run that waits to be stored.

    Attributes:
      role: who sent it.
      data: the bytes.
      timestamp: seconds since 1970.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    role: str
    data: types.Blob
    timestamp: float


class _InvocationCostManager:
    """Counts the model calls of one invocation; shared by all contexts of it (Spec 2 §5.5)."""

    __slots__ = ("_number_of_llm_calls",)

    def __init__(self) -> None:
        self._number_of_llm_calls = 0

    def increment_and_enforce_llm_calls_limit(self, run_config: RunConfig | None) -> None:
        """Count one model call; raise LlmCallsLimitExceededError where that is one too many."""
        self._number_of_llm_calls += 1
        limit = run_config.max_llm_calls if run_config else 0
        if 0 < limit < self._number_of_llm_calls:
            raise LlmCallsLimitExceededError(f"Max number of llm calls limit of `{limit}` exceeded")


async def _no_commit(events: Sequence[Event], rows: Sequence[JournalRow] = ()) -> None:
    """Commit nothing: there is no runner."""


class RunPorts:
    """What the runner lends to one invocation; shared by all contexts of it.

    Attributes:
      spawn: runs another agent in a session of its own, for AgentTool.
      commit: stores events and rows of the journal, together where the store can.
      journal: what the run has done beside its events; None where nothing outlives the process.
      schedule: runs a workflow node, for `Context.run_node`.
      tool_errors: what a raising tool does to the run.
      mistakes: the model's mistakes in a row, by tool name or kind.
      finished: response events of calls that ended and are not committed yet, by call id.
      unbegun: ids of this run's long-running calls whose tool has not begun.
      repeated: ids of calls that may have been run before, by the call that ran them.
      leftovers: what to tidy up once a call's response is committed, by call id.
      resumed: whether the run goes on with an earlier invocation.
      resume: what that invocation had done; None where the run is a new one.
      checkpoints: what its agents had noted, oldest first.
      spending: what the invocation has used of its budget; None where it has none.
    """

    __slots__ = (
        "checkpoints",
        "commit",
        "finished",
        "journal",
        "leftovers",
        "mistakes",
        "repeated",
        "resume",
        "resumed",
        "schedule",
        "spawn",
        "spending",
        "tool_errors",
        "unbegun",
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
        self.unbegun: set[str] = set()
        self.repeated: dict[str, list[str]] = {}
        self.leftovers: dict[str, Callable[[], Awaitable[None]]] = {}
        self.resumed = False
        self.resume: Resume | None = None
        self.checkpoints: Sequence[Checkpoint] = ()


def new_invocation_context_id() -> str:
    """Return a new invocation id: `e-` and a UUID (Spec 2 §1.3)."""
    return "e-" + _clock.new_id()


class InvocationContext(BaseModel):
    """State of one invocation (Spec 1 §4, Spec 2 §1.3, Spec 4 §10).

    Agents get copies that share the session, the counters and the ports; `agent`, `branch` and
    `end_invocation` are each copy's own.

    Attributes:
      invocation_id: id of the run, on every event of it.
      agent: the agent that runs now.
      session: the conversation.
      user_content: the message that started the run.
      branch: dotted path of parallel branches; None outside of them.
      agent_states: agents' checkpoints by agent name, for resumable runs.
      end_of_agents: agents that have finished, by name.
      end_invocation: set True to stop the run at the next check.
      plugin_manager: hooks of the plugins.
      last_calls: last arguments and result of each tool in this run of the agent, and how often in
        a row they were the same.
      ports: what the runner lends to the invocation.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    artifact_service: SkipValidation[Any] = None
    session_service: SkipValidation[Any]
    memory_service: SkipValidation[Any] = None
    credential_service: SkipValidation[Any] = None
    context_cache_config: SkipValidation[ContextCacheConfig | None] = None
    invocation_id: str
    branch: str | None = None
    isolation_scope: str | None = None
    agent: SkipValidation[Any] = None
    user_content: SkipValidation[types.Content | None] = None
    session: SkipValidation[Session]
    node_path: str | None = None
    agent_states: dict[str, dict[str, Any]] = Field(default_factory=dict)
    end_of_agents: dict[str, bool] = Field(default_factory=dict)
    end_invocation: bool = False
    live_request_queue: SkipValidation[LiveRequestQueue | None] = None
    active_streaming_tools: SkipValidation[dict[str, Any] | None] = None
    transcription_cache: SkipValidation[list[Any] | None] = None
    live_session_resumption_handle: str | None = None
    input_realtime_cache: SkipValidation[list[RealtimeCacheEntry] | None] = None
    output_realtime_cache: SkipValidation[list[RealtimeCacheEntry] | None] = None
    run_config: SkipValidation[RunConfig | None] = None
    resumability_config: SkipValidation[ResumabilityConfig | None] = None
    events_compaction_config: SkipValidation[EventsCompactionConfig | None] = None
    token_compaction_checked: bool = False
    plugin_manager: SkipValidation[Hooks] = Field(default_factory=NoHooks)
    canonical_tools_cache: SkipValidation[list[Any] | None] = None
    last_calls: SkipValidation[dict[Any, Any] | None] = Field(
        default=None, exclude=True, repr=False
    )
    credential_by_key: SkipValidation[dict[str, Any]] = Field(default_factory=dict)
    ports: SkipValidation[RunPorts] = Field(default_factory=RunPorts, exclude=True, repr=False)

    _invocation_cost_manager: _InvocationCostManager = PrivateAttr(
        default_factory=_InvocationCostManager
    )
    _state_schema: type[BaseModel] | None = PrivateAttr(default=None)

    @property
    def is_resumable(self) -> bool:
        """Whether the run may pause and be resumed."""
        return self.resumability_config is not None and self.resumability_config.is_resumable

    @property
    def app_name(self) -> str:
        """Name of the app."""
        return self.session.app_name

    @property
    def user_id(self) -> str:
        """Id of the user."""
        return self.session.user_id

    @property
    def log(self) -> EventLog:
        """The session's records, as the runtime reads them."""
        return log_of(self.session)

    @property
    def state_schema(self) -> type[BaseModel] | None:
        """Schema of unprefixed state writes: that of the agent or of its nearest ancestor with
        one.
        """
        node = self.agent
        while node is not None:
            schema = getattr(node, "state_schema", None)
            if schema is not None:
                return schema
            node = getattr(node, "parent_agent", None)
        return self._state_schema

    def set_agent_state(
        self,
        agent_name: str,
        *,
        agent_state: BaseAgentState | None = None,
        end_of_agent: bool = False,
    ) -> None:
        """Save an agent's checkpoint, mark it as finished, or clear both (Spec 1 §4).

        Args:
          agent_name: the agent.
          agent_state: the checkpoint; ignored where `end_of_agent` is set.
          end_of_agent: whether the agent has finished.
        """
        state = None
        if end_of_agent:
            self.end_of_agents[agent_name] = True
            self.agent_states.pop(agent_name, None)
        elif agent_state is not None:
            state = self.agent_states[agent_name] = agent_state.model_dump(mode="json")
            self.end_of_agents[agent_name] = False
        else:
            ended = self.end_of_agents.pop(agent_name, None)
            if self.agent_states.pop(agent_name, None) is None and ended is None:
                return
        ports = self.ports
        if ports.resume is not None and state is not None:
            ports.resume.leave(agent_name, self.branch)
        if ports.journal is not None and not self.is_resumable:
            records = self.log.records
            after = records[-1].id if records else None
            ports.journal.checkpoint(agent_name, self.branch, after, state, end_of_agent)

    def reset_sub_agent_states(self, agent_name: str) -> None:
        """Clear the checkpoints of everything below an agent, so that it runs from its start."""
        agent = self.agent.find_agent(agent_name) if self.agent is not None else None
        for sub_agent in agent.sub_agents if agent is not None else ():
            self.set_agent_state(sub_agent.name)
            self.reset_sub_agent_states(sub_agent.name)

    def populate_invocation_agent_states(self) -> None:
        """Restore checkpoints: in resumable runs from this invocation's events, in others from its
        journal.
        """
        if self.is_resumable:
            marks = recorded_checkpoints(self.log, self.invocation_id)
        elif self.ports.journal is not None:
            marks = self.ports.journal.checkpoints(self.log)
        else:
            return
        self.ports.checkpoints = marks
        anew: dict[str, int] = {}  # where agents began again: index of the first record after it
        for mark in marks:
            self.end_of_agents.pop(mark.agent, None)
            self.agent_states.pop(mark.agent, None)
            if mark.ended:
                self.end_of_agents[mark.agent] = True
            elif mark.state is not None:
                self.agent_states[mark.agent] = mark.state
                self.end_of_agents[mark.agent] = False
                name = mark.state.get("current_sub_agent")
                if name and self.agent is not None:
                    # What its sub-agent had noted, it had before it came to it again.
                    below = self.forget_agent_states(self.agent.root_agent.find_agent(name))
                    anew.update(dict.fromkeys(below, mark.at))
        if self.is_resumable:
            self._note_speakers(anew)

    def _note_speakers(self, anew: dict[str, int]) -> None:
        """Take an agent that spoke without a checkpoint for begun; an empty one says so."""
        first = self.log.start_of(self.invocation_id) or 0
        for index, record in enumerate(self.log.records[first:], first):
            name = record.author
            if record.invocation_id != self.invocation_id or name == "user":
                continue
            if name not in self.end_of_agents and index >= anew.get(name, 0):
                self.agent_states[name] = {}
                self.end_of_agents[name] = False

    def forget_agent_states(self, agent: Any) -> list[str]:
        """Forget what an agent and those below it had noted, for they begin anew.

        Returns:
          Their names.
        """
        names = _names_below(agent) if agent is not None else []
        for name in names:
            self.end_of_agents.pop(name, None)
            self.agent_states.pop(name, None)
        return names

    async def begin_call(self, call_id: str | None, tool_name: str) -> None:
        """Store that a tool begins, unless the event with its call said so already.

        Args:
          call_id: the call.
          tool_name: name of the tool.
        """
        ports = self.ports
        ports.unbegun.discard(call_id or "")
        if ports.journal is not None:
            rows = ports.journal.begin(call_id, tool_name)
            if rows:
                await ports.commit((), rows)

    def increment_llm_call_count(self) -> None:
        """Count one model call (Spec 2 §5.5).

        Raises:
          LlmCallsLimitExceededError: it is one more than `RunConfig.max_llm_calls` allows.
          BudgetExceededError: the budget has no room for it.
        """
        if self.ports.spending is not None:
            self.ports.spending.begin_model_call(self.agent)
        self._invocation_cost_manager.increment_and_enforce_llm_calls_limit(self.run_config)

    def count_mistake(self, kind: str, message: str) -> None:
        """Count one mistake of the model; a success of the same kind resets the count.

        Args:
          kind: tool name, or what else the mistake was made with.
          message: what was wrong, for the error.

        Raises:
          ModelRetriesExceededError: it was made more often in a row than is allowed.
        """
        limit = self.run_config.max_model_retries if self.run_config else 5
        count = self.ports.mistakes[kind] = self.ports.mistakes.get(kind, 0) + 1
        if count > limit:
            raise ModelRetriesExceededError(
                f"Agent {self.agent.name!r}: the model made the same mistake with {kind!r} "
                f"{count} times in a row; max_model_retries is {limit}. The last one: {message}"
            )

    def _get_events(
        self, *, current_invocation: bool = False, current_branch: bool = False
    ) -> list[Event]:
        """Return the session's events; of this invocation or branch only if asked (Spec 1 §4).

        The user's events outside of branches count as being on every branch.
        """
        if current_invocation:
            records = list(self.log.invocation(self.invocation_id))
            events = [record.event() for record in reversed(records)]
        else:
            events = list(self.session.events)
        if not current_branch:
            return events
        return [
            e for e in events if e.branch == self.branch or (e.author == "user" and not e.branch)
        ]

    def should_pause_invocation(self, event: Event) -> bool:
        """Tell whether `event` calls a long-running tool (Spec 2 §10.2, FEATURES A.27 X4)."""
        if not event.long_running_tool_ids:
            return False
        return any(c.id in event.long_running_tool_ids for c in event.get_function_calls())

    def _find_matching_function_call(self, function_response_event: Event) -> Event | None:
        """Return the event of this invocation whose call the first response answers."""
        responses = function_response_event.get_function_responses()
        if not responses:
            return None
        for record in self.log.invocation(self.invocation_id):
            if any(call == responses[0].id for call, _ in record.calls):
                return record.event()
        return None


def _names_below(agent: Any) -> list[str]:
    return [agent.name, *(name for below in agent.sub_agents for name in _names_below(below))]
