"""InvocationContext: the data of one run, passed through agents, flow and tools.

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
from ..sessions.log.checkpoints import Checkpoint, recorded_checkpoints
from ..sessions.log.event_log import EventLog
from ..sessions.session import Session, log_of
from ..types.record_template import RecordTemplate
from .app_config import EventsCompactionConfig, ResumabilityConfig
from .deps import require_deps
from .live_request_queue import LiveRequestQueue
from .live_state import LiveState
from .run_state import RunState
from .services import RunServices

if TYPE_CHECKING:
    from ._ports import Hooks
    from .run_config import RunConfig
else:  # for the type checker only; fields do not check them
    Hooks = RunConfig = Any

logger = get_logger(__name__)


class NoHooks:
    """Implements the `Hooks` port without any plugin."""

    plugins: tuple[Any, ...] = ()

    def overrides(self, hook_name: str) -> bool:
        """Return False: there is no plugin to override a hook."""
        return False

    async def _none(self, **_: Any) -> None:
        return None

    run_on_user_message_callback = _none
    run_before_run_callback = _none
    run_after_run_callback = _none
    run_on_event_callback = _none
    run_before_agent_callback = _none
    run_after_agent_callback = _none
    run_before_model_callback = _none
    run_after_model_callback = _none
    run_on_model_error_callback = _none
    run_before_tool_callback = _none
    run_after_tool_callback = _none
    run_on_tool_error_callback = _none
    run_on_agent_error_callback = _none
    run_on_run_error_callback = _none

    async def close(self) -> None:
        """Nothing to close."""


class BaseAgentState(BaseModel):
    """Checkpoint of an agent; subclasses add what they need to resume (Spec 1 §19)."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class RealtimeCacheEntry(BaseModel):
    """A chunk of audio or video of a live run, to be stored.

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
        """Count one model call; raise LlmCallsLimitExceededError past the limit."""
        self._number_of_llm_calls += 1
        limit = run_config.max_llm_calls if run_config else 0
        if 0 < limit < self._number_of_llm_calls:
            raise LlmCallsLimitExceededError(f"Max number of llm calls limit of `{limit}` exceeded")


def new_invocation_context_id() -> str:
    """Return a new invocation id: `e-` and a UUID (Spec 2 §1.3)."""
    return "e-" + _clock.new_id()


class InvocationContext(BaseModel):
    """State of one invocation (Spec 1 §4, Spec 2 §1.3, Spec 4 §10).

    Agents get copies that share session, counters, services and state; `agent`, `branch` and
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
      run_path: path of the events of agents outside of graphs; empty in graphs, and below a root
        that is not an LlmAgent.
      last_calls: last arguments and result of each tool in this run of the agent, and how often in
        a row they were the same.
      services: services of the runner for the invocation.
      run_state: mutable state that no event stores.
      live_state: state of a live run; None in others.
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
    run_path: SkipValidation[str] = Field(default="", exclude=True, repr=False)
    last_calls: SkipValidation[dict[Any, Any]] = Field(
        default_factory=dict[Any, Any], exclude=True, repr=False
    )
    credential_by_key: SkipValidation[dict[str, Any]] = Field(default_factory=dict)
    services: SkipValidation[RunServices] = Field(
        default_factory=RunServices, exclude=True, repr=False
    )
    run_state: SkipValidation[RunState] = Field(default_factory=RunState, exclude=True, repr=False)
    live_state: SkipValidation[LiveState | None] = Field(default=None, exclude=True, repr=False)

    _invocation_cost_manager: _InvocationCostManager = PrivateAttr(
        default_factory=_InvocationCostManager
    )

    @property
    def is_resumable(self) -> bool:
        """Whether the run may pause and be resumed."""
        return self.resumability_config is not None and self.resumability_config.is_resumable

    @property
    def is_single_turn(self) -> bool:
        """Whether the agent answers its input alone: in that mode, or as a node without a mode."""
        if self.agent.mode is not None:
            return self.agent.mode == "single_turn"
        return bool(self.node_path) and self.agent.parent_agent is None

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
        """The deps that the program passed to this run; see `ReadonlyContext.deps`.

        Raises:
          MissingDepsError: it passed none.
        """
        return require_deps(self.services.deps, self.agent.name if self.agent else "")

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
        return None

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
        run_state = self.run_state
        if run_state.resume is not None and state is not None:
            run_state.resume.leave(agent_name, self.branch)
        if run_state.journal is not None and not self.is_resumable:
            records = self.log.records
            after = records[-1].id if records else None
            noted = f"{self.node_path}:{agent_name}" if self.node_path else agent_name
            run_state.journal.checkpoint(noted, self.branch, after, state, end_of_agent)

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
        elif self.run_state.journal is not None:
            marks = self.run_state.journal.checkpoints(self.log)
        else:
            return
        self.run_state.checkpoints = marks
        self.restore_agent_states(marks)

    def restore_agent_states(
        self, marks: Sequence[Checkpoint], only: Container[int] | None = None, tree: Any = None
    ) -> None:
        """Restore the checkpoints of agents.

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
                    # The sub-agent wrote its checkpoints before this one: they are outdated.
                    below = self.forget_agent_states(root.find_agent(name))
                    anew.update(dict.fromkeys(below, mark.at))
        if self.is_resumable:
            self._note_speakers(anew, only)

    def _note_speakers(self, anew: dict[str, int], only: Container[int] | None) -> None:
        """Treat an agent with events but no checkpoint as started: give it an empty one."""
        for index in reversed([*self.log.indexes_of(self.invocation_id)]):
            name = self.log.records[index].author
            if name == "user":
                continue
            if only is not None and index not in only:
                continue
            if name not in self.end_of_agents and index >= anew.get(name, 0):
                self.agent_states[name] = {}
                self.end_of_agents[name] = False

    def forget_agent_states(self, agent: Any) -> list[str]:
        """Drop the checkpoints of an agent and of all agents below it.

        Returns:
          Their names.
        """
        names = _names_below(agent) if agent is not None else []
        for name in names:
            self.end_of_agents.pop(name, None)
            self.agent_states.pop(name, None)
        return names

    async def begin_call(self, call_id: str | None, tool_name: str) -> None:
        """Store that a tool starts, unless the event with its call did so.

        Args:
          call_id: the call.
          tool_name: name of the tool.
        """
        state = self.run_state
        if call_id in state.unstarted_call_ids:
            state.unstarted_call_ids.discard(call_id)
        if state.journal is not None:
            rows = state.journal.begin(call_id, tool_name)
            if rows:
                await self.services.commit((), rows)
        if call_id:  # only now: a run that is cancelled before starts no tool
            state.started_call_ids.add(call_id)

    def increment_llm_call_count(self) -> None:
        """Count one model call (Spec 2 §5.5).

        Raises:
          LlmCallsLimitExceededError: `RunConfig.max_llm_calls` is exceeded.
          BudgetExceededError: the budget has no room for it.
        """
        if self.services.budget_usage is not None:
            self.services.budget_usage.begin_model_call(self.agent)
        private = self.__pydantic_private__ or {}  # by attribute it costs a handful of calls
        costs: _InvocationCostManager = private["_invocation_cost_manager"]
        costs.increment_and_enforce_llm_calls_limit(self.run_config)

    def count_mistake(self, kind: str, message: str) -> None:
        """Count one mistake of the model; a success of the same kind resets the count.

        Args:
          kind: the tool's name, or another kind of mistake.
          message: the mistake, for the error message.

        Raises:
          ModelRetriesExceededError: the model made it too often in a row.
        """
        limit = self.run_config.max_model_retries if self.run_config else 5
        count = self.run_state.mistakes[kind] = self.run_state.mistakes.get(kind, 0) + 1
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
        """Return whether `event` calls a long-running tool (Spec 2 §10.2, FEATURES A.27 X4)."""
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


def ensure_live_state(ctx: InvocationContext) -> LiveState:
    """Return the live state of a run; a context made without a Runner gets one."""
    if ctx.live_state is None:
        ctx.live_state = LiveState()
    return ctx.live_state


INVOCATION_TEMPLATE = RecordTemplate(
    lambda: InvocationContext(
        session_service=None,
        invocation_id="",
        session=cast(Session, None),
    ),
    default_factories={"plugin_manager": NoHooks},
    track_fields_set=False,
)
"""Makes the context of an invocation; the runner gives it session, services and state."""


def _names_below(agent: Any) -> list[str]:
    return [agent.name, *(name for below in agent.sub_agents for name in _names_below(below))]
