"""InvocationContext: everything one run carries through agents, flow and tools.

The runner makes it; `ostinato.agents.invocation_context` is its public face.
"""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SkipValidation

from .. import _clock, types
from .._log import get_logger
from ..errors import LlmCallsLimitExceededError as LlmCallsLimitExceededError
from ..errors import ModelRetriesExceededError
from ..events.event import Event
from ..models.context_cache_config import ContextCacheConfig
from ..sessions._checkpoints import Checkpoint, recorded_checkpoints
from ..sessions.event_log import EventLog
from ..sessions.session import Session, log_of
from ..types.blank import Blank
from .app_config import EventsCompactionConfig, ResumabilityConfig
from .deps import checked_deps
from .live_request_queue import LiveRequestQueue
from .no_hooks import NoHooks
from .run_ports import RunPorts as RunPorts

if TYPE_CHECKING:
    from ._ports import Hooks
    from .run_config import RunConfig
else:  # ports are for the type checker; fields do not check them
    Hooks = RunConfig = Any

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
    last_calls: SkipValidation[dict[Any, Any]] = Field(
        default_factory=dict[Any, Any], exclude=True, repr=False
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
    def deps(self) -> Any:
        """What the program handed to this run; see `ReadonlyContext.deps`.

        Raises:
          MissingDepsError: it handed over nothing.
        """
        return checked_deps(self.ports.deps, self.agent.name if self.agent else "")

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
        return (self.__pydantic_private__ or {})["_state_schema"]  # by its name is slow to find

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
            noted = f"{self.node_path}:{agent_name}" if self.node_path else agent_name
            ports.journal.checkpoint(noted, self.branch, after, state, end_of_agent)

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
        self.restore_agent_states(marks)

    def restore_agent_states(
        self, marks: Sequence[Checkpoint], only: Container[int] | None = None, tree: Any = None
    ) -> None:
        """Restore what agents had noted.

        Args:
          marks: their checkpoints, oldest first.
          only: indexes of the records that count; all where None.
          tree: the tree they are in; that of the current agent where None.
        """
        root = tree or (self.agent.root_agent if self.agent is not None else None)
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
                if name and root is not None:
                    # What its sub-agent had noted, it had before it came to it again.
                    below = self.forget_agent_states(root.find_agent(name))
                    anew.update(dict.fromkeys(below, mark.at))
        if self.is_resumable:
            self._note_speakers(anew, only)

    def _note_speakers(self, anew: dict[str, int], only: Container[int] | None) -> None:
        """Take an agent that spoke without a checkpoint for begun; an empty one says so."""
        first = self.log.start_of(self.invocation_id) or 0
        for index, record in enumerate(self.log.records[first:], first):
            name = record.author
            if record.invocation_id != self.invocation_id or name == "user":
                continue
            if only is not None and index not in only:
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
        if call_id in ports.unbegun:
            ports.unbegun -= {call_id}
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
        private = self.__pydantic_private__ or {}  # by attribute it costs a handful of calls
        costs: _InvocationCostManager = private["_invocation_cost_manager"]
        costs.increment_and_enforce_llm_calls_limit(self.run_config)

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


NEW_RUN = Blank(
    lambda: InvocationContext(
        session_service=None,
        invocation_id="",
        session=cast(Session, None),
    ),
    fresh={"plugin_manager": NoHooks},
    notes_given=False,
)
"""Makes the context of an invocation; the runner gives it services, session and ports."""


def _names_below(agent: Any) -> list[str]:
    return [agent.name, *(name for below in agent.sub_agents for name in _names_below(below))]
