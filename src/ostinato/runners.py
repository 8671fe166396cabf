"""Runner: appends the user's message, picks the agent, drives it, commits each event before handing
it on.

Read top-down: `run_async`, then its parts in the order they happen. `Run` (in `running/run.py`) is
the handle that `start` gives.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Any

from . import artifacts, context, memory, running, sessions, types
from ._aclosing import Aclosing
from .agents.base_agent import BaseAgent
from .apps.app import App
from .context.callbacks import plugin_answer
from .context.invocation import InvocationContext
from .durable.lease import SESSION_LOCKS
from .durable.running import SessionKey, inside
from .errors import InputValidationError
from .events.event import Event
from .plugins.base_plugin import BasePlugin
from .running.agent_choice import toolsets_of
from .running.compaction import compact
from .running.message import as_content
from .running.run_table import keyed_invocation_id, stored_events
from .running.sealing import error_event, seal
from .running.setup import RunnerSetup
from .running.store_access import StoreAccess
from .sessions.session import Session, log_of
from .telemetry.tracing import span

if TYPE_CHECKING:
    from .artifacts.base_artifact_service import BaseArtifactService
    from .context.run_config import RunConfig


class Runner(RunnerSetup):
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
        config = run_config or context.RunConfig()
        message = as_content(new_message)
        if message is None and invocation_id is None:
            raise InputValidationError(
                "run_async needs new_message, or the invocation_id of an invocation to resume."
            )
        place = (user_id, session_id)
        if idempotency_key is None:
            run = self._run_in_session(
                place, message, invocation_id, state_delta, config, yield_user_message
            )
        else:
            run = self._run_once(place, message, idempotency_key, state_delta, config)
        async with Aclosing(run) as events:
            async for event in events:
                yield event

    async def _run_once(
        self,
        place: tuple[str, str],
        message: types.Content | None,
        idempotency_key: str,
        state_delta: dict[str, Any] | None,
        config: RunConfig,
    ) -> AsyncGenerator[Event, None]:
        """Run an invocation unless its key names one that has begun; then yield that one's
        events.
        """
        invocation_id = keyed_invocation_id((self.app_name, *place), idempotency_key)
        following = self._runs.follow(invocation_id)
        if following is not None:
            async for event in following:
                yield event
            return
        with self._runs.entry(invocation_id) as entry:
            run = self._run_in_session(
                place, message, invocation_id, state_delta, config, once=True
            )
            async with Aclosing(run) as events:
                async for event in events:
                    entry.add(event)
                    yield event

    async def _run_in_session(
        self,
        place: tuple[str, str],
        message: types.Content | None,
        invocation_id: str | None,
        state_delta: dict[str, Any] | None,
        config: RunConfig,
        yield_user_message: bool = False,
        once: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Hold the session, load it, and run; with `once`, only what its log does not hold yet."""
        key: SessionKey = (id(self.session_service), self.app_name, *place)
        async with SESSION_LOCKS.held(key):
            session = await self._get_or_create_session(*place, config)
            if once and log_of(session).start_of(invocation_id or "") is not None:
                run = stored_events(session, invocation_id or "")
            else:
                starting = once or invocation_id is None
                run = self._invocation(
                    key,
                    session,
                    message,
                    invocation_id,
                    state_delta,
                    config,
                    starting,
                    yield_user_message,
                )
            async with Aclosing(run) as events:
                async for event in events:
                    try:
                        yield event
                    except GeneratorExit:
                        SESSION_LOCKS.closing(key)
                        raise

    async def _invocation(
        self,
        key: SessionKey,
        session: Session,
        message: types.Content | None,
        invocation_id: str | None,
        state_delta: dict[str, Any] | None,
        config: RunConfig,
        starting: bool,
        yield_user_message: bool,
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
            if yield_user_message and message is not None:
                tracing.suspend()
                yield log_of(session).records[-1].event()
                tracing.resume()
            if ctx.end_of_agents.get(ctx.agent.name):
                return
            run = self._exec_with_plugin(ctx, ctx.agent.run_async)
            mark = inside(key, ctx.invocation_id)
            try:
                while True:
                    with mark:
                        event = await anext(run, None)
                    if event is None:
                        break
                    tracing.suspend()
                    yield event
                    tracing.resume()
            finally:
                with mark:
                    await run.aclose()
            with mark:
                await compact(ctx, self.agent)
        except Exception as raised:  # boundary: the span records the error, nobody hides it
            error = raised
            raise
        finally:
            tracing.suspend()
            tracing.end(error)

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
            early = await plugin_answer(
                hooks.run_before_run_callback(invocation_context=ctx),
                types.Content,
                "before_run_callback",
                ctx.agent.name,
            )
            if early is not None:
                event = Event(invocation_id=ctx.invocation_id, author="model", content=early)
                yield await self._commit(ctx, event, config)
            else:
                async with Aclosing(execute_fn(ctx)) as events:
                    async for event in events:
                        yield await self._commit(ctx, event, config)
        except Exception as error:  # boundary: the log says how it ended, the caller gets the error
            await seal(ctx, error)
            yield await self._commit(ctx, error_event(ctx, error), config)
            if hooks.overrides("on_run_error_callback"):
                await hooks.run_on_run_error_callback(invocation_context=ctx, error=error)
            raise
        except BaseException as stop:  # boundary: cancelled, closed, or a tool ends the program
            await seal(ctx, stop)
            raise
        await hooks.run_after_run_callback(invocation_context=ctx)

    async def _commit(
        self, ctx: InvocationContext, event: Event, config: RunConfig | None
    ) -> Event:
        """Let plugins change an event, store it unless it is partial, and return what to yield."""
        if config is not None and config.custom_metadata:
            event.custom_metadata = {**(event.custom_metadata or {}), **config.custom_metadata}
        if self.plugin_manager.overrides("on_event_callback"):
            changed = await plugin_answer(
                self.plugin_manager.run_on_event_callback(invocation_context=ctx, event=event),
                Event,
                "on_event_callback",
                ctx.agent.name,
            )
            if changed is not None:
                changed.id, changed.invocation_id = event.id, event.invocation_id
                changed.timestamp = event.timestamp
                event = changed
        if not event.partial:
            ports = ctx.ports
            rows = () if ports.journal is None else ports.journal.rows_with(event)
            await ports.commit((event,), rows)
        return event

    def _spawn(
        self, *, agent: BaseAgent, include_plugins: bool, **request: Any
    ) -> AsyncGenerator[Event, None]:
        """Run another agent in a hidden session of the same store; the port behind AgentTool."""
        service = self.session_service if self._store.durable else sessions.InMemorySessionService()

        def make_runner(files: BaseArtifactService | None) -> Runner:
            return Runner(
                agent=agent,
                app_name=self.app_name,
                plugins=self.app.plugins if include_plugins else None,
                artifact_service=files,
                session_service=service,
                memory_service=self.memory_service,
                credential_service=self.credential_service,
            )

        return running.spawn(StoreAccess(service), make_runner, **request)

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
    ) -> running.Run:
        """Start an invocation in the background and return its handle; arguments as in `run_async`.

        The run goes on whether or not its events are read. Needs a running event loop.
        """
        return running.Run(
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
        return running.drive(
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
        config = run_config or context.RunConfig()
        key: SessionKey = (id(self.session_service), self.app_name, user_id, session_id)
        async with SESSION_LOCKS.held(key):
            session = await self._get_or_create_session(user_id, session_id, config)
            event = await running.rewind_event(
                session,
                rewind_before_invocation_id,
                initial_state=await self._store.initial_state(session),
                artifacts=self.artifact_service,
            )
            await self._store.commit(session, (event,))

    async def run_live(self, **_: Any) -> AsyncGenerator[Event, None]:
        """Raise NotImplementedError: live mode is not built yet."""
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
        return await running.debug_run(
            [user_messages] if isinstance(user_messages, str) else user_messages,
            lambda text: self.run_async(
                user_id=user_id, session_id=session_id, new_message=text, run_config=run_config
            ),
            quiet=quiet,
            verbose=verbose,
        )

    async def close(self) -> None:
        """Close toolsets and plugins; call it once when the runner is no longer needed."""
        for toolset in toolsets_of(self.agent):
            await toolset.close()
        await self.plugin_manager.close()


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
            artifact_service=artifacts.InMemoryArtifactService(),
            session_service=sessions.InMemorySessionService(),
            memory_service=memory.InMemoryMemoryService(),
            plugin_close_timeout=plugin_close_timeout,
        )
