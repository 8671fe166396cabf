"""Protocols through which lower layers use higher ones: agents, plugins, nodes, spawned runs.

The runner puts the implementations into the invocation.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from .. import types
from ..events.event import Event
from ..models.base_llm import BaseLlm
from ..models.llm_request import LlmRequest
from ..models.llm_response import LlmResponse
from ..sessions.log.checkpoints import Checkpoint
from ..sessions.log.event_log import EventLog
from ..sessions.store.durable_store import CallChanges, JournalRow
from .live_request_queue import LiveRequestQueue

Callback = Callable[..., Any]


class ChecksCalls(Protocol):
    """What decides on tool calls before they run; `PolicyGate` does."""

    def nest(self, session_id: str) -> ChecksCalls: ...
    def with_policy(self, policy: Any) -> ChecksCalls: ...
    async def check(
        self,
        ctx: Any,
        call: types.FunctionCall,
        tool: Any,
        args: dict[str, Any],
        context: Any,
        *,
        can_ask: bool = True,
        in_doubt: str = "",
    ) -> dict[str, Any] | None: ...


class GatesNodeCalls(Protocol):
    """What every call of a tool by a workflow node passes; evaluation and replay set one."""

    async def run_call(
        self,
        tool: Any,
        args: dict[str, Any],
        context: Any,
        path: str,
        run: Callable[[], Awaitable[Any]],
    ) -> Any: ...


class AgentLike(Protocol):
    """An agent as contexts, processors and tools see it; `BaseAgent` and `LlmAgent` are."""

    name: str
    description: str

    @property
    def parent_agent(self) -> Any: ...
    @property
    def sub_agents(self) -> Sequence[Any]: ...
    @property
    def root_agent(self) -> Any: ...
    def find_agent(self, name: str) -> Any: ...
    def run_async(self, parent_context: Any) -> AsyncGenerator[Event, None]: ...


class LlmAgentLike(AgentLike, Protocol):
    """An agent that calls a model, as the flow sees it; `LlmAgent` is."""

    tools: list[Any]
    output_schema: Any
    output_key: str | None
    include_contents: Literal["default", "none"]
    generate_content_config: types.GenerateContentConfig | None
    instruction: Any
    static_instruction: Any
    global_instruction: Any
    planner: Any
    code_executor: Any
    disallow_transfer_to_parent: bool
    disallow_transfer_to_peers: bool
    mode: str | None

    @property
    def delegates(self) -> Mapping[str, Any]: ...
    @property
    def finish_tool(self) -> Any: ...

    @property
    def canonical_model(self) -> BaseLlm: ...
    @property
    def canonical_before_model_callbacks(self) -> Sequence[Callback]: ...
    @property
    def canonical_after_model_callbacks(self) -> Sequence[Callback]: ...
    @property
    def canonical_on_model_error_callbacks(self) -> Sequence[Callback]: ...
    @property
    def canonical_before_tool_callbacks(self) -> Sequence[Callback]: ...
    @property
    def canonical_after_tool_callbacks(self) -> Sequence[Callback]: ...
    @property
    def canonical_on_tool_error_callbacks(self) -> Sequence[Callback]: ...
    async def canonical_instruction(self, ctx: Any) -> tuple[str, bool]: ...
    async def canonical_global_instruction(self, ctx: Any) -> tuple[str, bool]: ...
    async def canonical_tools(self, ctx: Any = None) -> list[Any]: ...


class Hooks(Protocol):
    """The plugins' side of every hook; `PluginManager` is one."""

    @property
    def plugins(self) -> Sequence[Any]: ...
    def overrides(self, hook_name: str) -> bool: ...
    async def run_on_user_message_callback(
        self, *, user_message: types.Content, invocation_context: Any
    ) -> types.Content | None: ...
    async def run_before_run_callback(self, *, invocation_context: Any) -> types.Content | None: ...
    async def run_after_run_callback(self, *, invocation_context: Any) -> None: ...
    async def run_on_event_callback(
        self, *, invocation_context: Any, event: Event
    ) -> Event | None: ...
    async def run_before_agent_callback(
        self, *, agent: Any, callback_context: Any
    ) -> types.Content | None: ...
    async def run_after_agent_callback(
        self, *, agent: Any, callback_context: Any
    ) -> types.Content | None: ...
    async def run_before_model_callback(
        self, *, callback_context: Any, llm_request: LlmRequest
    ) -> LlmResponse | None: ...
    async def run_after_model_callback(
        self, *, callback_context: Any, llm_response: LlmResponse
    ) -> LlmResponse | None: ...
    async def run_on_model_error_callback(
        self, *, callback_context: Any, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None: ...
    async def run_before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None: ...
    async def run_after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None: ...
    async def run_on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: Exception
    ) -> dict[str, Any] | None: ...
    async def run_on_agent_error_callback(
        self, *, agent: Any, callback_context: Any, error: Exception
    ) -> None: ...
    async def run_on_run_error_callback(
        self, *, invocation_context: Any, error: Exception
    ) -> None: ...
    async def close(self) -> None: ...


class Spawn(Protocol):
    """Runs another agent in a session of its own beside this invocation; the runner provides it."""

    def __call__(
        self,
        *,
        agent: Any,
        parent: Any,
        call_id: str | None,
        message: types.Content,
        state: dict[str, Any],
        include_plugins: bool,
    ) -> AsyncGenerator[Event, None]: ...


class Commit(Protocol):
    """Stores events of a run and rows of its journal; the runner provides it."""

    async def __call__(
        self,
        events: Sequence[Event],
        rows: Sequence[JournalRow] = (),
        changes: CallChanges | None = None,
    ) -> object: ...


class LiveAnswers(Protocol):
    """Checks the answers in a message of a live run; the runner provides it."""

    async def __call__(self, ctx: Any, message: types.Content) -> CallChanges | None: ...


class ClosesCutCalls(Protocol):
    """Makes the responses to calls that a failed attempt of a node, or of an agent, cut; the runner
    provides it."""

    def __call__(
        self, ctx: Any, cause: Exception, path: str, agent: str = "", branch: str = ""
    ) -> Sequence[Event]: ...


class RunJournal(Protocol):
    """Record of tool calls and checkpoints of a run; `durable.journal.Journal` is one."""

    def rows_with(self, event: Event) -> Sequence[JournalRow]:
        """Return the rows to be committed with an event."""
        ...

    def earlier_row(self, call_id: str | None) -> JournalRow | None:
        """Return the row that an earlier process stored for a call, if it has not run here."""
        ...

    def list_calls_in_doubt(self) -> list[str]:
        """Return the calls that began in an earlier process or attempt and have no end there."""
        ...

    def finished_rows(self) -> Sequence[tuple[JournalRow, bool]]:
        """Return the rows of calls that finished in earlier processes, each with whether the log
        has its response."""
        ...

    def expect(
        self, event_id: str, call_id: str, tool: str, status: Literal["started", "state"]
    ) -> None:
        """Note a call that an event asks for; the row is stored with the event."""
        ...

    def begin(self, call_id: str | None, tool: str) -> Sequence[JournalRow]:
        """Return the rows to commit before a tool runs; empty if they are stored."""
        ...

    def finish(
        self,
        call_id: str | None,
        tool: str,
        result: str,
        response: dict[str, Any] | None = None,
    ) -> Sequence[JournalRow]:
        """Return the rows to be committed when a call has ended."""
        ...

    def end_attempt(self, call_id: str | None, tool: str) -> Sequence[JournalRow]:
        """Return the rows to commit when a tool's body ended and its call stays open."""
        ...

    def leave_in_doubt(self, call_id: str | None, tool: str) -> None:
        """Note that this process gave up a call whose outcome is unknown."""
        ...

    def take_effect(
        self, call_id: str | None, response: dict[str, Any] | None
    ) -> Sequence[JournalRow]:
        """Return the ledger's row of a call that no response event answers."""
        ...

    def attach(self, event_id: str, rows: Iterable[JournalRow]) -> None:
        """Add rows to the commit of an event."""
        ...

    @property
    def keeps_effects(self) -> bool:
        """Whether rows of the effects ledger go with the journal's."""
        ...

    def take_effects(
        self, responses: Mapping[str | None, dict[str, Any] | None]
    ) -> Sequence[JournalRow]:
        """Return the ledger's rows of all calls that began and have none yet."""
        ...

    @property
    def caller(self) -> Any:
        """Who called the run's agent as a tool, or None."""
        ...

    def note_effect(self, call_id: str | None, note: Any) -> None:
        """Describe a call for the effects ledger."""
        ...

    def effect(self, call_id: str | None) -> Any:
        """Return the description of a running call, or None."""
        ...

    def add(self, rows: Iterable[JournalRow]) -> None:
        """Let rows be stored with the next commit."""
        ...

    def checkpoint(
        self,
        agent: str,
        branch: str | None,
        after: str | None,
        state: dict[str, Any] | None,
        ended: bool,
    ) -> None:
        """Note an agent's checkpoint; it is stored with the next commit."""
        ...

    def take_pending(self) -> Sequence[JournalRow]:
        """Return the rows of the next commit, to commit them now."""
        ...

    def checkpoints(self, log: EventLog) -> Sequence[Checkpoint]:
        """Return the stored checkpoints, oldest first."""
        ...


class Streams(Protocol):
    """Tools that stream results to the model during a live run; the live flow provides it."""

    def input_of(self, tool: str) -> LiveRequestQueue:
        """Return the queue in which a tool finds what the user sends from now on."""
        ...

    def start(self, tool: str, results: AsyncGenerator[Any, None]) -> dict[str, Any]:
        """Tell the model each of a tool's results as it comes; return the answer to the call."""
        ...


class SendsEvents(Protocol):
    """Takes the events of a run within a call; `Relay` does."""

    async def send(self, event: Event) -> None: ...
    def offer(self, event: Event) -> None: ...


class NodeLike(Protocol):
    """A node that a graph or `Context.run_node` can run."""

    name: str

    def run(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]: ...


Schedule = Callable[..., Awaitable[Any]]
