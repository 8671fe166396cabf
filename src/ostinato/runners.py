"""Runner: appends the user's message, picks the agent, drives it, commits each event before handing
it on.

Read top-down: `run_async`, then its parts in the order they happen. `Run` (in `_run.py`) is the
handle that `start` gives.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import nullcontext
from typing import Any

from . import types
from ._aclosing import Aclosing
from ._agent_choice import (
    find_agent_to_run,
    is_transferable_across_agent_tree,
    summarizing_model,
    toolsets_of,
)
from ._debug_run import print_event
from ._message import as_content, save_blobs
from ._rewind import rewind_event
from ._run import Run, RunEntry, RunTable, keyed_invocation_id
from ._sealing import error_event, sealing_events
from ._store_access import StoreAccess
from ._sync_run import drive
from .agents.base_agent import BaseAgent
from .apps.app import App, check_tree
from .artifacts.in_memory_artifact_service import InMemoryArtifactService
from .context.app_config import ResumabilityConfig
from .context.invocation import InvocationContext, RunPorts, new_invocation_context_id
from .context.run_config import RunConfig
from .durable.lease import SESSION_LOCKS
from .durable.running import SessionKey, each_inside, inside
from .errors import AgentConfigError, InputValidationError, NothingToResumeError
from .events.event import Event
from .events.event_actions import EventActions
from .flows.llm_flows.compaction import compact_by_tokens, compact_sliding_window
from .memory.in_memory_memory_service import InMemoryMemoryService
from .models.context_cache_config import ContextCacheConfig
from .plugins.base_plugin import BasePlugin
from .plugins.plugin_manager import PluginManager
from .sessions.base_session_service import BaseSessionService
from .sessions.event_log import EventRecord
from .sessions.in_memory_session_service import InMemorySessionService
from .sessions.session import Session, log_of
from .telemetry.tracing import span


class Runner:
    """Runs an app's agents over sessions (Spec 1 §3, Spec 2 §1).

    Args:
      app: the app; or `agent` and `app_name` instead.
      app_name: name of the app where only an agent is given.
      agent: root agent where no app is given.
      plugins: hooks around every run where no app is given.
      artifact_service: keeps files.
      session_service: keeps sessions.
      memory_service: keeps long-term memories.
      credential_service: keeps credentials.
      plugin_close_timeout: seconds that a plugin may take to close.
      auto_create_session: create a session that does not exist instead of raising.

    Raises:
      AgentConfigError: neither app nor agent is given, both are, or two agents have one name.
    """

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
    ) -> None:
        if node is not None:
            raise NotImplementedError(
                "Runner(node=...): running workflow nodes as root is not built yet in Ostinato."
            )
        self.app = self._resolve_app(app, app_name, agent, plugins)
        check_tree(self.app.root_agent)
        self.app_name = app_name or self.app.name
        self.agent: BaseAgent = self.app.root_agent
        self.artifact_service = artifact_service
        self.session_service = session_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.auto_create_session = auto_create_session
        self.context_cache_config: ContextCacheConfig | None = self.app.context_cache_config
        self.resumability_config: ResumabilityConfig | None = self.app.resumability_config
        self.plugin_manager = PluginManager(self.app.plugins, close_timeout=plugin_close_timeout)
        self._store = StoreAccess(session_service)
        self._runs = RunTable()

    @staticmethod
    def _resolve_app(
        app: App | None,
        app_name: str | None,
        agent: BaseAgent | None,
        plugins: list[BasePlugin] | None,
    ) -> App:
        if app is not None:
            if agent is not None or plugins is not None:
                raise AgentConfigError(
                    "Give the Runner either app, or agent and plugins; not both."
                )
            return app
        if agent is None or not app_name:
            raise AgentConfigError("Give the Runner either app, or agent and app_name.")
        # An app name that no App would take, such as a folder's, is checked where sessions are
        # made.
        return App.model_construct(
            name=app_name,
            root_agent=agent,
            plugins=plugins or [],
            events_compaction_config=None,
            context_cache_config=None,
            resumability_config=None,
            tool_errors="raise",
        )

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
          idempotency_key: names this request; repeated, it starts nothing and yields the first
            invocation's events, following it while it runs.

        Yields:
          Events; a non-partial one is committed before it is yielded and before the agent goes on.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: there is neither a message nor an invocation, or it answers a call
            that does not exist.
          NothingToResumeError: the invocation to resume does not exist.
          Exception: what the agent's code raised.
        """
        config = run_config or RunConfig()
        message = as_content(new_message)
        if message is None and invocation_id is None:
            raise InputValidationError(
                "run_async needs new_message, or the invocation_id of an invocation to resume."
            )
        key: SessionKey = (id(self.session_service), self.app_name, user_id, session_id)
        starting = invocation_id is None
        entry = nullcontext[RunEntry | None](None)
        if idempotency_key is not None:
            invocation_id = keyed_invocation_id(key, idempotency_key)
            following = self._runs.follow(invocation_id)
            if following is not None:
                async for event in following:
                    yield event
                return
            entry = self._runs.entry(invocation_id)
        with entry as shared:
            async with SESSION_LOCKS.held(key):
                session = await self._get_or_create_session(user_id, session_id, config)
                if shared is not None and log_of(session).start_of(invocation_id or "") is not None:
                    events = _stored_events(session, invocation_id or "")
                else:
                    events = self._invocation(
                        key, session, message, invocation_id, state_delta, config, starting
                    )
                async with Aclosing(events):
                    async for event in events:
                        if event.author == "user" and not yield_user_message:
                            continue
                        if shared is not None:
                            shared.add(event)
                        yield event

    async def _get_or_create_session(
        self, user_id: str, session_id: str, config: RunConfig
    ) -> Session:
        return await self._store.load(
            app_name=self.app_name,
            user_id=user_id,
            session_id=session_id,
            config=config.get_session_config,
            create=self.auto_create_session,
        )

    async def _invocation(
        self,
        key: SessionKey,
        session: Session,
        message: types.Content | None,
        invocation_id: str | None,
        state_delta: dict[str, Any] | None,
        config: RunConfig,
        starting: bool,
    ) -> AsyncGenerator[Event, None]:
        """Set up the context, run the agent with the plugins, compact (Spec 2 §1.1)."""
        tracing = span("invocation", session_id=session.id, app=self.app_name)
        tracing.resume()
        error: BaseException | None = None
        try:
            with inside(key, invocation_id):
                if starting:
                    setup = self._setup_context_for_new_invocation
                else:
                    setup = self._setup_context_for_resumed_invocation
                ctx = await setup(session, message, invocation_id, config, state_delta)
            if message is not None:
                tracing.suspend()
                yield log_of(session).records[-1].event()
                tracing.resume()
            if ctx.end_of_agents.get(ctx.agent.name):
                return
            run = each_inside(
                self._exec_with_plugin(ctx, ctx.agent.run_async), key, ctx.invocation_id
            )
            async with Aclosing(run) as events:
                async for event in events:
                    tracing.suspend()
                    yield event
                    tracing.resume()
            with inside(key, ctx.invocation_id):
                await self._compact(ctx)
        except Exception as raised:  # boundary: the span records the error, nobody hides it
            error = raised
            raise
        finally:
            tracing.suspend()
            tracing.end(error)

    async def _setup_context_for_new_invocation(
        self,
        session: Session,
        new_message: types.Content | None,
        invocation_id: str | None,
        run_config: RunConfig,
        state_delta: dict[str, Any] | None,
    ) -> InvocationContext:
        """Build the context, append the message, pick the agent (Spec 2 §1.2).

        A message that answers a call goes on with that call's invocation.
        """
        new_message = new_message or types.Content()
        answered = self._answered_call(session, new_message)
        if answered is not None and invocation_id is None:
            invocation_id = answered.invocation_id
        ctx = self._new_invocation_context(session, invocation_id, new_message, run_config)
        if answered is not None:
            ctx.populate_invocation_agent_states()
            ctx.ports.resumed = True
        await self._append_new_message(
            ctx, new_message, state_delta, answered.branch if answered else None
        )
        if not (ctx.is_resumable and self.agent.name in ctx.agent_states):
            ctx.agent = self._find_agent_to_run(session, self.agent)
            ctx.branch = answered.branch if answered is not None else None
        return ctx

    async def _setup_context_for_resumed_invocation(
        self,
        session: Session,
        message: types.Content | None,
        invocation_id: str | None,
        run_config: RunConfig,
        state_delta: dict[str, Any] | None,
    ) -> InvocationContext:
        """Rebuild the context of an invocation from its events (Spec 1 §19, FEATURES rows 26, 27).

        Raises:
          NothingToResumeError: the session has no such invocation.
        """
        log = log_of(session)
        start = log.start_of(invocation_id or "")
        if start is None:
            raise NothingToResumeError(
                f"Invocation {invocation_id!r} is not in session {session.id!r}: there is nothing "
                "to resume. To start a new invocation, leave invocation_id out."
            )
        first = log.records[start]
        content = message or (first.event().content if first.author == "user" else None)
        ctx = self._new_invocation_context(session, invocation_id, content, run_config)
        ctx.ports.resumed = True
        if message is not None:
            answered = self._answered_call(session, message)
            await self._append_new_message(
                ctx, message, state_delta, answered.branch if answered else None
            )
        ctx.populate_invocation_agent_states()
        # Without a trace of the root, the invocation began with the agent that an earlier one ended
        # at.
        if self.agent.name not in ctx.end_of_agents:
            ctx.agent = self._find_agent_to_run(session, self.agent)
        return ctx

    def _new_invocation_context(
        self,
        session: Session,
        invocation_id: str | None,
        user_content: types.Content | None,
        run_config: RunConfig,
    ) -> InvocationContext:
        ports = RunPorts(
            spawn=self._spawn,
            commit=lambda event: self._store.commit(session, event),
            tool_errors=run_config.tool_errors or self.app.tool_errors,
        )
        return InvocationContext(
            artifact_service=self.artifact_service,
            session_service=self.session_service,
            memory_service=self.memory_service,
            credential_service=self.credential_service,
            plugin_manager=self.plugin_manager,
            context_cache_config=self.context_cache_config,
            events_compaction_config=self.app.events_compaction_config,
            resumability_config=self.resumability_config,
            invocation_id=invocation_id or new_invocation_context_id(),
            agent=self.agent,
            session=session,
            user_content=user_content,
            run_config=run_config,
            ports=ports,
        )

    def _answered_call(self, session: Session, message: types.Content) -> EventRecord | None:
        """Return the record whose call the message answers; None for a message without answers.

        Raises:
          InputValidationError: it answers a call that does not exist.
        """
        for part in message.parts or ():
            if part.function_response is None:
                continue
            answer = part.function_response
            record = log_of(session).find_call(answer.id or "")
            if record is None:
                raise InputValidationError(
                    f"The message answers function call {answer.id!r} ({answer.name}), which is "
                    f"not in session {session.id!r}. Use the id of the call as it was yielded."
                )
            return record
        return None

    async def _append_new_message(
        self,
        ctx: InvocationContext,
        message: types.Content,
        state_delta: dict[str, Any] | None,
        branch: str | None,
    ) -> None:
        """Let plugins change the message, then commit it as the user's event (Spec 2 §1.2)."""
        if self.plugin_manager.overrides("on_user_message_callback"):
            changed = await self.plugin_manager.run_on_user_message_callback(
                user_message=message, invocation_context=ctx
            )
            if changed is not None:
                ctx.user_content = message = changed
        if not message.parts:
            raise InputValidationError("No parts in the new_message.")
        if ctx.run_config is not None and ctx.run_config.save_input_blobs_as_artifacts:
            ctx.user_content = message = await save_blobs(ctx, message)
        event = Event(
            invocation_id=ctx.invocation_id,
            author="user",
            content=message,
            branch=branch,
            actions=EventActions(state_delta=dict(state_delta or {})),
            custom_metadata=ctx.run_config.custom_metadata if ctx.run_config else None,
        )
        await self._store.commit(ctx.session, event)

    def _find_agent_to_run(self, session: Session, root_agent: BaseAgent) -> BaseAgent:
        """Return the agent that goes on with the conversation (Spec 2 §1.4)."""
        return find_agent_to_run(log_of(session), root_agent)

    def _is_transferable_across_agent_tree(self, agent_to_run: BaseAgent) -> bool:
        """Tell whether control can pass from an agent up to the root (Spec 2 §1.4)."""
        return is_transferable_across_agent_tree(agent_to_run)

    async def _exec_with_plugin(
        self,
        invocation_context: InvocationContext,
        execute_fn: Callable[[InvocationContext], AsyncGenerator[Event, None]],
    ) -> AsyncGenerator[Event, None]:
        """Run the agent between the run's hooks and commit its events (Spec 2 §1.5).

        Whatever ends the run early, no call is left without a response.
        """
        ctx, hooks, config = invocation_context, self.plugin_manager, invocation_context.run_config
        try:
            early = await hooks.run_before_run_callback(invocation_context=ctx)
            if early is not None:
                event = Event(invocation_id=ctx.invocation_id, author="model", content=early)
                yield await self._commit(ctx, event, config)
            else:
                async with Aclosing(execute_fn(ctx)) as events:
                    async for event in events:
                        yield await self._commit(ctx, event, config)
        except Exception as error:  # boundary: the log says how it ended, the caller gets the error
            await self._store.commit_all(ctx.session, sealing_events(ctx, error))
            yield await self._commit(ctx, error_event(ctx, error), config)
            if hooks.overrides("on_run_error_callback"):
                await hooks.run_on_run_error_callback(invocation_context=ctx, error=error)
            raise
        except (asyncio.CancelledError, GeneratorExit) as stop:
            await self._store.commit_all(ctx.session, sealing_events(ctx, stop))
            raise
        await hooks.run_after_run_callback(invocation_context=ctx)

    async def _commit(
        self, ctx: InvocationContext, event: Event, config: RunConfig | None
    ) -> Event:
        """Let plugins change an event, store it unless it is partial, and return what to yield."""
        if config is not None and config.custom_metadata:
            event.custom_metadata = {**(event.custom_metadata or {}), **config.custom_metadata}
        if self.plugin_manager.overrides("on_event_callback"):
            changed = await self.plugin_manager.run_on_event_callback(
                invocation_context=ctx, event=event
            )
            if changed is not None:
                changed.id, changed.invocation_id = event.id, event.invocation_id
                changed.timestamp = event.timestamp
                event = changed
        if not event.partial:
            await self._store.commit(ctx.session, event)
        return event

    async def _compact(self, ctx: InvocationContext) -> None:
        """Summarise history where that is due; the events are stored, not yielded (Spec 1 §20)."""
        config = self.app.events_compaction_config
        if config is None:
            return
        model = None if config.summarizer else summarizing_model(self.agent)
        event = await compact_by_tokens(ctx.log, config, model)
        if event is None:
            event = await compact_sliding_window(ctx.log, config, model)
        if event is not None:
            await self._store.commit(ctx.session, event)

    async def _spawn(
        self,
        *,
        agent: BaseAgent,
        parent: InvocationContext,
        call_id: str | None,
        message: types.Content,
        state: dict[str, Any],
        include_plugins: bool,
    ) -> AsyncGenerator[Event, None]:
        """Run another agent in a hidden session of the same store; the port behind AgentTool."""
        service = self.session_service if self._store.durable else InMemorySessionService()
        child = Runner(
            agent=agent,
            app_name=self.app_name,
            plugins=self.app.plugins if include_plugins else None,
            artifact_service=self.artifact_service,
            session_service=service,
            memory_service=self.memory_service or InMemoryMemoryService(),
            credential_service=self.credential_service,
        )
        store = StoreAccess(service)
        session_id = await store.create_hidden(parent.session, call_id, state)
        run = child.run_async(
            user_id=parent.user_id,
            session_id=session_id,
            new_message=message,
            run_config=parent.run_config,
        )
        async with Aclosing(run) as events:
            async for event in events:
                yield event
        await store.delete_hidden(parent.session, session_id)

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
    ) -> Run:
        """Start an invocation in the background and return its handle; arguments as in `run_async`.

        The run goes on whether or not its events are read. Needs a running event loop.
        """
        return Run(
            self.run_async(
                user_id=user_id,
                session_id=session_id,
                invocation_id=invocation_id,
                new_message=new_message,
                state_delta=state_delta,
                run_config=run_config,
                idempotency_key=idempotency_key,
            )
        )

    def run(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: types.Content | dict[str, Any] | str,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
    ) -> Generator[Event, None, None]:
        """Run one invocation without an event loop; for scripts and tests (Spec 3 "Async is
        Primary").

        The run has a thread and an event loop of its own, and ends early if the generator is
        closed.
        """
        return drive(
            lambda: self.run_async(
                user_id=user_id,
                session_id=session_id,
                new_message=new_message,
                state_delta=state_delta,
                run_config=run_config,
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
        """Take a session back to before an invocation: history, state and artifacts.

        Raises:
          SessionNotFoundError: there is no such session.
          NotFoundError: the session has no such invocation.
        """
        config = run_config or RunConfig()
        key: SessionKey = (id(self.session_service), self.app_name, user_id, session_id)
        async with SESSION_LOCKS.held(key):
            session = await self._get_or_create_session(user_id, session_id, config)
            event = await rewind_event(
                session,
                rewind_before_invocation_id,
                initial_state=await self._store.initial_state(session),
                artifacts=self.artifact_service,
            )
            await self._store.commit(session, event)

    async def run_live(self, **_: Any) -> AsyncGenerator[Event, None]:
        """Run over a live connection.

        Raises:
          NotImplementedError: live mode is not built yet.
        """
        raise NotImplementedError("Live mode is not built yet in Ostinato; use run_async.")
        yield

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
        """Run messages one after another in one session, printing what is said; for a first look.

        Args:
          user_messages: one message or several.
          quiet: print nothing.
          verbose: print calls and results too.

        Returns:
          All events.
        """
        await self._store.load(
            app_name=self.app_name, user_id=user_id, session_id=session_id, config=None, create=True
        )
        collected: list[Event] = []
        for text in [user_messages] if isinstance(user_messages, str) else user_messages:
            if not quiet:
                print(f"\nUser > {text}")
            async for event in self.run_async(
                user_id=user_id, session_id=session_id, new_message=text, run_config=run_config
            ):
                collected.append(event)
                if not quiet:
                    print_event(event, verbose)
        return collected

    async def close(self) -> None:
        """Close toolsets and plugins; call it once when the runner is no longer needed."""
        for toolset in toolsets_of(self.agent):
            await toolset.close()
        await self.plugin_manager.close()

    async def __aenter__(self) -> Runner:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _stored_events(session: Session, invocation_id: str) -> AsyncGenerator[Event, None]:
    """Yield the stored events of an invocation, oldest first."""
    for record in reversed(list(log_of(session).invocation(invocation_id))):
        yield record.event()


class InMemoryRunner(Runner):
    """Runner with all services in memory; for tests and first steps.

    Args:
      agent: root agent, or `app` instead.
      app_name: name of the app; `InMemoryRunner` where neither is given.
      plugins: hooks, where no app is given.
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
            artifact_service=InMemoryArtifactService(),
            session_service=InMemorySessionService(),
            memory_service=InMemoryMemoryService(),
            plugin_close_timeout=plugin_close_timeout,
        )
