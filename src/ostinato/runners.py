"""Runner: what callers call to run an app's agents over sessions.

How a request is run (its turn, the set-up, driving the agent, committing each event before handing
it on) is in `running/driver.py`; `Run` (in `running/run.py`) is the handle that `start` gives.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from . import artifacts, context, memory, running, sessions, types
from ._aclosing import Aclosing
from ._log import get_logger
from .agents.base_agent import BaseAgent
from .apps.app import App
from .context.deps import NOT_GIVEN
from .context.invocation import new_invocation_context_id
from .durable.inbox import Work
from .errors import InputValidationError, RunCancelledError
from .events.event import Event
from .plugins.base_plugin import BasePlugin
from .running.agent_choice import open_models_of, toolsets_of
from .running.driver import RunnerDriver
from .running.live import live_config
from .running.message import as_content
from .running.request import RunRequest
from .running.run_table import keyed_invocation_id
from .running.store_access import StoreAccess
from .running.turn import Turn
from .running.turns import TURNS
from .sessions._durable_store import Place
from .sessions.session import Session

if TYPE_CHECKING:
    from .artifacts.base_artifact_service import BaseArtifactService
    from .context.live_request_queue import LiveRequestQueue
    from .context.run_config import RunConfig
    from .running.recovery import Recovered

logger = get_logger(__name__)


class Runner(RunnerDriver):
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
      lease_seconds: how long a session stays another process's, where processes share the store,
        after the process that held it was last heard of.
      max_attempts: how often an invocation is begun, by crash and resume, before it is parked.
      make_deps: makes the deps of a run that is passed none; where None, the app's does.

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
          idempotency_key: names this request; repeated, it starts nothing and yields the first
            invocation's events, following it while it runs.
          deps: what tools, instructions and callbacks find as `ctx.deps`; never stored.

        Yields:
          Events; a non-partial one is committed before it is yielded and before the agent goes on.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: there is neither a message nor an invocation, or it answers a call
            that does not exist.
          NothingToResumeError: the invocation to resume does not exist.
          Exception: what the agent's code raised.
        """
        place = user_id, session_id
        request = self._request(place, new_message, invocation_id, state_delta, run_config, deps)
        request.yield_user_message = yield_user_message
        events = self._run(request, idempotency_key)
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
        return RunRequest(
            Place(self.app_name, *place),
            new_invocation_context_id(),
            new_message,
            invocation_id,
            state_delta,
            run_config or context.DEFAULT_RUN.fill(),
            deps=deps,
        )

    def _spawn(
        self, *, agent: BaseAgent, include_plugins: bool, **request: Any
    ) -> AsyncGenerator[Event, None]:
        """Run another agent in a hidden session of the same store; the port behind AgentTool."""
        service = self.session_service if self._store.durable else sessions.InMemorySessionService()

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
            runner.spending = request["parent"].ports.spending
            runner.within = partial(self._held, request["parent"].session)
            return runner

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
        deps: Any = NOT_GIVEN,
    ) -> running.Run:
        """Start an invocation in the background and return its handle; arguments as in `run_async`.

        The run goes on whether or not its events are read. Needs a running event loop.
        """
        place = (user_id, session_id)
        request = self._request(place, new_message, invocation_id, state_delta, run_config, deps)
        numbers: dict[str, int] = {}
        request.numbers = numbers
        return running.Run(
            self._run(request, idempotency_key),
            lambda: self._stop(request.place, request.id),
            lambda: TURNS.hand_over(self._key(request.place), request.id),
            numbers,
        )

    async def cancel(
        self, *, user_id: str, session_id: str, invocation_id: str | None = None
    ) -> bool:
        """Cancel what runs in a session, in this process or in another one.

        Model call and tools are cancelled, calls without a result are answered as cancelled, and
        the session can go on. The run raises RunCancelledError to its caller.

        Args:
          user_id: the user.
          session_id: the session.
          invocation_id: only this invocation; one that waits for its turn is taken out.

        Returns:
          Whether there was something to cancel; another process hears of it within a second.
        """
        place = Place(self.app_name, user_id, session_id)
        if self._stop(place, invocation_id):
            return True
        durable = self._store.durable
        if durable is None or not durable.shared:
            return False
        await self._store.flush()
        return await durable.request_cancel(place, invocation_id)

    def _stop(self, place: Place, invocation_id: str | None) -> bool:
        reason = RunCancelledError(f"The run in session {place.session_id!r} was cancelled.")
        return TURNS.stop(self._key(place), reason, invocation_id)

    async def submit(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: types.Content | dict[str, Any] | str,
        state_delta: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Store a message for whichever worker comes first, and do not wait for its answer.

        Workers run the messages of a session one after another, in the order they came.

        Args:
          user_id: the user.
          session_id: the session.
          new_message: the user's message, or function responses.
          state_delta: state changes that go with the message.
          idempotency_key: names this request; repeated, it starts nothing more.

        Returns:
          The id of the invocation that the message will begin.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: the message is empty or cannot be stored, or no other process
            reaches the store.
        """
        place = Place(self.app_name, user_id, session_id)
        invocation_id = new_invocation_context_id()
        if idempotency_key is not None:
            invocation_id = keyed_invocation_id(place, idempotency_key)
        once = idempotency_key is not None
        message = as_content(new_message)
        work = Work(place, invocation_id, message, state_delta, once=once)
        return await self.backlog().put(work)

    async def resume_open(
        self, *, run_config: RunConfig | None = None, limit: int = 10, deps: Any = NOT_GIVEN
    ) -> list[Recovered]:
        """Go on with the invocations of this app that a crash left open, and run messages whose
        caller is gone; servers and workers call it when they start.

        An invocation that was begun too often, or whose agents have changed since, is parked:
        `ostinato sessions list --stuck` shows it.

        Args:
          run_config: settings for these runs.
          limit: how many sessions at once.
          deps: deps of these runs; where none are given, `make_deps` makes them.

        Returns:
          What became of each; nothing where no other process reaches the store.
        """
        recovery = self._recovery(run_config or context.RunConfig(), deps)
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
        return running.drive(
            lambda: self.run_async(
                user_id=user_id,
                session_id=session_id,
                new_message=new_message,
                state_delta=state_delta,
                run_config=run_config,
                deps=deps,
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
        place = Place(self.app_name, user_id, session_id)
        request = RunRequest.internal(place, run_config or context.RunConfig())

        async def rewind(session: Session, turn: Turn) -> None:
            await turn.claim()
            event = await running.rewind_event(
                session,
                rewind_before_invocation_id,
                initial_state=await self._store.initial_state(session),
                artifacts=self.artifact_service,
            )
            await turn.commit((event,))

        async with self._in_turn(request) as turn:
            await self._when_free(turn, rewind)

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
        """Run a live conversation, with sound both ways (Spec 1 §17).

        It has the session to itself until the queue is closed, the generator is closed, or the last
        agent of a sequence says that its task is done.

        Args:
          user_id: the user.
          session_id: the session.
          live_request_queue: what the user sends; its `close` ends the run.
          run_config: settings; the model answers with sound unless `response_modalities` says
            otherwise.
          session: the session, in place of its ids; deprecated.

        Yields:
          Events; inline sound and partial ones are not stored, any other is committed before.

        Raises:
          SessionNotFoundError: there is no such session.
          InputValidationError: user or session is missing.
          ProviderError: the connection cannot be opened, or broke and cannot be gone on with.
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
        async with Aclosing(self._run(request, None)) as events:
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
        """Run messages one after another in one session, printing what is said; for a first look.

        Args:
          user_messages: one message or several.
          quiet: print nothing.
          verbose: print calls and results too.

        Returns:
          All events.
        """
        await self._store.load(Place(self.app_name, user_id, session_id), create=True)
        return await running.debug_run(
            [user_messages] if isinstance(user_messages, str) else user_messages,
            lambda text: self.run_async(
                user_id=user_id, session_id=session_id, new_message=text, run_config=run_config
            ),
            quiet=quiet,
            verbose=verbose,
        )

    async def close(self) -> None:
        """Close toolsets, models and plugins, once the runner is no longer needed.

        Models may be used again afterwards: they open new connections. What a dead process had
        left, and is gone on with for a caller who is gone, is handed over.
        """
        await self._unattended.end()
        for toolset in toolsets_of(self.agent):
            await toolset.close()
        for model in open_models_of(self.agent):
            await model.aclose()
        await self.plugin_manager.close()
        await self._store.flush()
        keeper = self._keeper()
        if keeper is not None:
            keeper.stop()  # its thread ends by itself; this loop's executor may be gone already


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
