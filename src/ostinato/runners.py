"""Runner: the public API to run an app's agents over sessions.

It holds an `InvocationRunner`, which runs requests, and a `ContextFactory`, which sets them up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from . import artifacts, context, execution, memory, sessions, types
from ._aclosing import Aclosing
from ._log import get_logger
from .agents.base_agent import BaseAgent
from .agents.node_agent import as_root
from .apps.app import App, check_tree
from .context.app_config import ResumabilityConfig
from .context.budget import BudgetUsage
from .context.deps import NOT_GIVEN, MakeDeps
from .context.invocation import InvocationContext, new_invocation_context_id
from .context.live_request_queue import LiveRequestQueue
from .context.run_config import RunConfig as RunConfig
from .durable.effect_notes import EffectCaller, nest_caller
from .durable.lease import DEFAULT_SECONDS
from .errors import InputValidationError
from .events.event import Event
from .execution.context_factory import ContextFactory
from .execution.invocation_runner import InvocationRunner
from .execution.live_runs import live_config
from .execution.recovery.backlog import Backlog
from .execution.recovery.recovery import Recovered
from .execution.request_checks import check_run_config, check_state_delta
from .execution.resolved_app import resolve_app
from .execution.routing.agent_choice import (
    check_mode,
    find_agent_to_run,
    is_transferable_across_agent_tree,
    open_models_of,
    toolsets_of,
)
from .execution.run_request import Execute, RunnerAccess, RunRequest
from .execution.store_access import StoreAccess
from .execution.turn import Turn
from .execution.turns import TURNS
from .models.context_cache_config import ContextCacheConfig
from .plugins.base_plugin import BasePlugin
from .plugins.plugin_manager import PluginManager
from .sessions.base_session_service import BaseSessionService
from .sessions.session import Session, log_of
from .sessions.store.durable_store import Fence, Place
from .sessions.store.keyed_requests import keyed_invocation_id
from .tools.finish_task_tool import FINISH_TASK_SUCCESS_RESULT as FINISH_TASK_SUCCESS_RESULT
from .tools.finish_task_tool import FINISH_TASK_TOOL_NAME as FINISH_TASK_TOOL_NAME

if TYPE_CHECKING:
    from .artifacts.base_artifact_service import BaseArtifactService
    from .context._ports import ChecksCalls, GatesNodeCalls
    from .tools.policy.policy import Policy

logger = get_logger(__name__)


class Runner:
    """Runs an app's agents over sessions (Spec 1 §3, Spec 2 §1).

    Args:
      app: the app.
      agent, app_name, plugins: root agent, name and hooks, without an app.
      artifact_service: stores files.
      session_service: stores sessions.
      memory_service, credential_service: store long-term memories, and credentials.
      plugin_close_timeout: seconds that a plugin may take to close.
      auto_create_session: create a session that does not exist instead of raising.
      lease_seconds: length of a session's lease in a shared store; after a crash, another process
        can claim the session when it has expired.
      max_attempts: how often an invocation is started, by crash and resume, before it is parked.
      make_deps: makes the deps of runs without any; by default, the app's.
      policy: rules about tool calls, beside those of the app.

    Raises:
      AgentConfigError: neither app nor agent is given, both are, or two agents have one name.
    """

    # Defaults on the class, so that a mock with this class as its spec has them.
    artifact_service: Any = None
    memory_service: Any = None
    credential_service: Any = None
    context_cache_config: ContextCacheConfig | None = None
    resumability_config: ResumabilityConfig | None = None

    def __init__(
        self,
        *,
        app: App | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        node: Any = None,
        plugins: list[BasePlugin] | None = None,
        artifact_service: Any = None,
        session_service: BaseSessionService,
        memory_service: Any = None,
        credential_service: Any = None,
        plugin_close_timeout: float = 5.0,
        auto_create_session: bool = False,
        lease_seconds: float = DEFAULT_SECONDS,
        max_attempts: int = 3,
        make_deps: MakeDeps | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.app = resolve_app(app, app_name, agent, plugins, node)
        self.app_name = app_name or self.app.name
        self.artifact_service = artifact_service
        self.session_service = session_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.auto_create_session = auto_create_session
        self.context_cache_config = self.app.context_cache_config
        self.resumability_config = self.app.resumability_config
        self.max_attempts = max_attempts
        self._root = self.app.root_agent
        root_agent = as_root(self._root)
        check_tree(root_agent)
        check_mode(root_agent)
        self.plugin_manager = PluginManager(self.app.plugins, close_timeout=plugin_close_timeout)
        self._contexts = ContextFactory(
            session_service,
            root_agent,
            lease_seconds=lease_seconds,
            make_deps=make_deps or self.app.make_deps,
            policies=(self.app.policy, policy),
        )
        self._invocations = InvocationRunner(self._contexts)

    @property
    def agent(self) -> Any:
        """The root as given: an agent, a workflow or another node."""
        return self._root

    @agent.setter
    def agent(self, root: Any) -> None:
        self._root = root
        self._contexts.root_agent = as_root(root)

    def work_for(
        self,
        usage: BudgetUsage | None,
        within: Callable[[], tuple[Place, Fence] | None],
        policy: ChecksCalls | None = None,
        caller: EffectCaller | None = None,
    ) -> None:
        """Count this runner's runs as parts of another run; see `ContextFactory.join_run`."""
        self._contexts.join_run(usage, within, policy, caller)

    def gate_node_calls(self, gate: GatesNodeCalls | None) -> None:
        """Let the tool calls of workflow nodes pass a gate, in spawned runs too; None for none."""
        self._contexts.node_gate = gate

    def backlog(self, config: RunConfig | None = None) -> Backlog:
        """Return the pending work of this app in the store, for engines.

        Args:
          config: settings of its runs.

        Raises:
          InputValidationError: no other process reaches the store.
        """
        return self._invocations.make_backlog(self._access(), config)

    # The methods below have the names of the specification; subclasses may override them.

    def _get_or_create_session(
        self, request: RunRequest, *, asks: bool = True
    ) -> Awaitable[Session]:
        return self._contexts.load_session(request, asks=asks)

    def _setup_context_for_new_invocation(
        self, session: Session, turn: Turn
    ) -> Awaitable[InvocationContext | None]:
        return self._contexts.set_up_new(session, turn)

    def _setup_context_for_resumed_invocation(
        self, session: Session, turn: Turn
    ) -> Awaitable[InvocationContext | None]:
        return self._contexts.set_up_resumed(session, turn)

    def _new_invocation_context(
        self, session: Session, turn: Turn, user_content: types.Content | None
    ) -> Awaitable[InvocationContext]:
        return self._contexts.make_context(session, turn, user_content)

    def _find_agent_to_run(self, session: Session, root_agent: BaseAgent) -> BaseAgent:
        """Return the agent that handles the next message (Spec 2 §1.4)."""
        return find_agent_to_run(log_of(session), root_agent)

    def _is_transferable_across_agent_tree(self, agent_to_run: BaseAgent) -> bool:
        """Return whether an agent can transfer control up to the root (Spec 2 §1.4)."""
        return is_transferable_across_agent_tree(agent_to_run)

    def _exec_with_plugin(
        self, invocation_context: InvocationContext, execute_fn: Execute
    ) -> AsyncGenerator[Event, None]:
        return self._invocations.run_with_plugins(self.app, invocation_context, execute_fn)

    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: types.Content | dict[str, Any] | str | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
        idempotency_key: str | None = None,
        deps: Any = NOT_GIVEN,
    ) -> AsyncGenerator[Event, None]:
        """Run one invocation (Spec 2 §1.1).

        Args:
          user_id: the user.
          session_id: the session.
          invocation_id: an invocation to resume.
          new_message: the user's message, or function responses.
          state_delta: state changes that go with the message.
          run_config: settings of this run.
          yield_user_message: yield the message's own event first.
          idempotency_key: deduplicates the request: a repeated one yields the events of the first
            invocation, following it while it runs. A message with a key starts an invocation.
          deps: `ctx.deps` of tools, instructions and callbacks; never stored.

        Yields:
          Events; a non-partial one is committed before it is yielded and before the agent
            continues.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: there is neither a message nor an invocation.
          CallNotOpenError, CallAlreadyAnsweredError, InvalidAnswerError: the message answers a call
            that does not wait, has another answer, or needs another one. Nothing is stored.
          IdempotencyKeyReusedError: the key was first used for another request, which waits, runs
            or has ended.
          NothingToResumeError: the invocation to resume does not exist.
          Exception: an error of the agent's code.
        """
        place = user_id, session_id
        request = self._request(place, new_message, invocation_id, state_delta, run_config, deps)
        request.yield_user_message = yield_user_message
        events = self._invocations.run(request, idempotency_key)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    def _request(
        self,
        place: tuple[str, str],
        new_message: types.Content | dict[str, Any] | str | None,
        invocation_id: str | None,
        state_delta: dict[str, Any] | None,
        run_config: RunConfig | None,
        deps: Any = NOT_GIVEN,
    ) -> RunRequest:
        if state_delta:
            check_state_delta(self._contexts.root_agent, state_delta)
        if run_config is not None:
            check_run_config(run_config)
        return RunRequest(
            self._access(),
            Place(self.app_name, *place),
            new_invocation_context_id(),
            new_message,
            invocation_id,
            state_delta,
            run_config or context.RUN_CONFIG_TEMPLATE.create(),
            deps=deps,
        )

    def _access(self) -> RunnerAccess:
        # Made for each call: subclasses and tests override these methods.
        return RunnerAccess(
            self,
            self._get_or_create_session,
            self._setup_context_for_new_invocation,
            self._setup_context_for_resumed_invocation,
            self._new_invocation_context,
            self._find_agent_to_run,
            self._exec_with_plugin,
            self._spawn_agent,
        )

    def _spawn_agent(
        self, *, agent: BaseAgent, include_plugins: bool, **request: Any
    ) -> AsyncGenerator[Event, None]:
        """Run another agent in a hidden session of the same store, for AgentTool."""
        is_durable = self._contexts.store.durable is not None
        service = self.session_service if is_durable else sessions.InMemorySessionService()
        find_fence = self._invocations.find_fence

        def make_runner(files: BaseArtifactService | None) -> Runner:
            runner = Runner(
                agent=agent,
                app_name=self.app_name,
                plugins=self.app.plugins if include_plugins else None,
                artifact_service=files,
                session_service=service,
                memory_service=self.memory_service,
                credential_service=self.credential_service,
            )
            parent: InvocationContext = request["parent"]
            session, services = parent.session, parent.services
            nested = services.policy and services.policy.nest(session.id)
            caller = nest_caller(parent.run_state.journal, session.id, parent.agent.name)
            runner.work_for(services.budget_usage, partial(find_fence, session), nested, caller)
            runner.gate_node_calls(services.node_gate)
            runner.app.context = services.context_policy
            return runner

        return execution.spawn(StoreAccess(service), make_runner, **request)

    def start(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: types.Content | dict[str, Any] | str | None = None,
        invocation_id: str | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        idempotency_key: str | None = None,
        deps: Any = NOT_GIVEN,
    ) -> execution.Run:
        """Start an invocation in the background and return its handle; arguments as in `run_async`.

        The run continues if its events are not read. Needs a running event loop.
        """
        place = user_id, session_id
        request = self._request(place, new_message, invocation_id, state_delta, run_config, deps)
        numbers: dict[str, int] = {}
        request.numbers = numbers
        request.accepted = asyncio.get_running_loop().create_future()
        return execution.Run(
            self._invocations.run(request, idempotency_key),
            lambda: self._invocations.stop_request(request),
            lambda: TURNS.hand_over(self._invocations.session_key(request.place), request.id),
            numbers,
            request.accepted,
            request.release,
        )

    async def cancel(
        self, *, user_id: str, session_id: str, invocation_id: str | None = None
    ) -> bool:
        """Cancel the run of a session, in this process or in another one; see `Run.cancel`.

        Messages that wait for their turn stay. If the run's process is dead, the process that takes
        the run over cancels it before it runs anything.

        Args:
          user_id: the user.
          session_id: the session.
          invocation_id: only this invocation; a message that waits in this process is removed.

        Returns:
          Whether there was a run to cancel; another process reacts within a second.
        """
        place = Place(self.app_name, user_id, session_id)
        return await self._invocations.cancel(place, invocation_id)

    async def submit(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: types.Content | dict[str, Any] | str,
        state_delta: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Enqueue a message for the next free worker; do not wait for its answer.

        Workers run the messages of a session one after another, in the order they came.

        Args:
          user_id, session_id, new_message, state_delta: as for `run_async`.
          idempotency_key: deduplicates the request: a repeated one starts nothing.

        Returns:
          The id of the invocation that the message will start.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: the message is empty or cannot be stored, or no other process
            reaches the store.
          CallNotOpenError, CallAlreadyAnsweredError, InvalidAnswerError,
          IdempotencyKeyReusedError: as for `run_async`.
        """
        request = self._request((user_id, session_id), new_message, None, state_delta, None)
        if idempotency_key is not None:
            request.use_key(keyed_invocation_id(request.place, idempotency_key))
        return await self.backlog().submit(request, self._contexts)

    async def resume_open(
        self, *, run_config: RunConfig | None = None, limit: int = 10, deps: Any = NOT_GIVEN
    ) -> list[Recovered]:
        """Resume the abandoned invocations of this app, and run messages of dead callers.

        It looks once, returns when these runs have ended, and skips unexpired leases of other hosts
        (or of a recreated container): a service that must resume by itself runs a `WorkerPool`.
        What was begun too often, or whose agents have changed, is parked (`sessions list --stuck`).

        Args:
          run_config: settings for these runs.
          limit: how many sessions at once.
          deps: deps of these runs; by default, `make_deps` makes them.

        Returns:
          The outcome of each; empty if no other process reaches the store.
        """
        config = run_config or context.RunConfig()
        recovery = self._invocations.make_recovery(self._access(), config, deps)
        if recovery is None:
            return []
        return await recovery.resume_open(self.app_name, limit)

    def run(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: types.Content | dict[str, Any] | str,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        deps: Any = NOT_GIVEN,
    ) -> Generator[Event, None, None]:
        """Run one invocation without an event loop; for scripts and tests (Spec 3 "Async is
        Primary").

        The run has a thread and an event loop of its own, and ends early if the generator is
        closed.
        """
        # A subclass may override `run_async` with google-adk's parameters, without deps.
        own: dict[str, Any] = {} if deps is NOT_GIVEN else {"deps": deps}
        return execution.drive(
            lambda: self.run_async(
                user_id=user_id,
                session_id=session_id,
                new_message=new_message,
                state_delta=state_delta,
                run_config=run_config,
                **own,
            )
        )

    async def rewind_async(
        self,
        *,
        user_id: str,
        session_id: str,
        rewind_before_invocation_id: str,
        run_config: RunConfig | None = None,
    ) -> None:
        """Rewind a session to before an invocation: history, state and artifacts.

        Raises:
          SessionNotFoundError: there is no such session.
          NotFoundError: the session has no such invocation.
          SessionBusyError: a message that waits answers a call that the rewind would hide.
        """
        place = Place(self.app_name, user_id, session_id)
        request = RunRequest.internal(self._access(), place, run_config or context.RunConfig())
        await self._invocations.rewind(request, rewind_before_invocation_id)

    async def run_live(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        live_request_queue: LiveRequestQueue,
        run_config: RunConfig | None = None,
        session: Session | None = None,
        deps: Any = NOT_GIVEN,
    ) -> AsyncGenerator[Event, None]:
        """Run a live conversation, with audio both ways (Spec 1 §17).

        It holds the session until the queue or the generator is closed, or the last agent of a
        sequence reports that its task is done.

        Args:
          user_id, session_id: as for `run_async`.
          live_request_queue: the user's input; its `close` ends the run.
          run_config: settings; the model answers with audio by default, see `response_modalities`.
          session: the session, in place of its ids; deprecated.

        Yields:
          Events; all but inline audio and partial ones are committed first.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: user or session is missing.
          ProviderError: the connection cannot be opened, or broke and cannot be resumed.
          Exception: what the agent's code raised.
        """
        if session is not None:
            logger.warning("run_live(session=...) is deprecated; give user_id and session_id.")
            user_id, session_id = session.user_id, session.id
        if not user_id or not session_id:
            raise InputValidationError("run_live needs user_id and session_id.")
        config = live_config(run_config)
        request = self._request((user_id, session_id), None, None, None, config, deps)
        request.live = live_request_queue
        async with Aclosing(self._invocations.run(request, None)) as events:
            async for event in events:
                yield event

    async def run_debug(
        self,
        user_messages: str | list[str],
        *,
        user_id: str = "debug_user_id",
        session_id: str = "debug_session_id",
        run_config: RunConfig | None = None,
        quiet: bool = False,
        verbose: bool = False,
    ) -> list[Event]:
        """Run messages in one session, print the answers and return the events; for a first look.

        Args:
          user_messages: one message or several.
          quiet: print nothing.
          verbose: print calls and results too.
        """
        await self._contexts.store.load(Place(self.app_name, user_id, session_id), create=True)
        return await execution.debug_run(
            [user_messages] if isinstance(user_messages, str) else user_messages,
            lambda text: self.run_async(
                user_id=user_id, session_id=session_id, new_message=text, run_config=run_config
            ),
            quiet=quiet,
            verbose=verbose,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close toolsets, models and plugins; `async with` a runner calls it at the end.

        Models can be used again afterwards: they open new connections. Detached runs are handed
        over.
        """
        await self._invocations.close()
        root_agent = self._contexts.root_agent
        for toolset in toolsets_of(root_agent):
            await toolset.close()
        for model in open_models_of(root_agent):
            await model.aclose()
        await self.plugin_manager.close()
        await self._contexts.store.flush()
        keeper = self._contexts.keeper()
        if keeper is not None:
            keeper.stop()  # its thread ends by itself; this loop's executor may be gone already


class InMemoryRunner(Runner):
    """Runner with all services in memory; for tests and first steps.

    Args:
      agent: root agent, or `app` instead.
      app_name: name of the app; by default, `InMemoryRunner`.
      plugins: hooks, without an app.
      app: the app.
    """

    def __init__(
        self,
        agent: BaseAgent | None = None,
        *,
        node: Any = None,
        app_name: str | None = None,
        plugins: list[BasePlugin] | None = None,
        app: App | None = None,
        plugin_close_timeout: float = 5.0,
    ) -> None:
        super().__init__(
            app=app,
            app_name=app_name or (None if app is not None else "InMemoryRunner"),
            agent=agent,
            node=node,
            plugins=plugins,
            artifact_service=artifacts.InMemoryArtifactService(),
            session_service=sessions.InMemorySessionService(),
            memory_service=memory.InMemoryMemoryService(),
            plugin_close_timeout=plugin_close_timeout,
        )
