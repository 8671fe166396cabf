"""RunnerDriver: takes a request through its turn in the session: loads, sets up, drives the agent,
commits each event before handing it on. `Runner` adds what callers call.

Read top-down: `_run`, then its parts in the order they happen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

from .. import context, types
from .._aclosing import Aclosing
from ..agents.guarded_run import GuardrailStop, has_tripped, is_guardrail_stop
from ..context.callbacks import plugin_answer
from ..context.deps import NOT_GIVEN
from ..context.invocation import InvocationContext
from ..durable.running import SessionKey, inside
from ..durable.session_locks import SESSION_LOCKS
from ..errors import (
    InputValidationError,
    LeaseLostError,
    RunCancelledError,
    SessionBusyError,
    SessionNotFoundError,
    StaleSessionError,
)
from ..events.event import Event
from ..sessions._durable_store import Fence, Place
from ..sessions._resume import waits_for_answer
from ..sessions.session import Session, log_of
from ..telemetry.tracing import span
from .backlog import Backlog
from .compaction import compact
from .guarding import guards_above
from .live import is_stored
from .message import as_content
from .recovery import Recovery, busy_error
from .request import RunRequest
from .run_table import keyed_invocation_id, stored_events
from .sealing import error_event, seal
from .setup import RunnerSetup
from .task_choice import after_tasks
from .turn import Turn
from .turns import TURNS, InTurn

_R = TypeVar("_R")


class RunnerDriver(RunnerSetup):
    """Runs requests over the services of `RunnerSetup`."""

    def _key(self, place: Place) -> SessionKey:
        return (id(self.session_service), place.app_name, place.user_id, place.session_id)

    def _held(self, session: Session) -> tuple[Place, Fence] | None:
        """Return the place of a session and the fence under which it runs here, if it does."""
        place = Place(session.app_name, session.user_id, session.id)
        fence = TURNS.fence(self._key(place))
        return None if fence is None else (place, fence)

    def _recovery(self, config: context.RunConfig, deps: Any = NOT_GIVEN) -> Recovery | None:
        """Return who goes on with what others left behind; None where there are no others."""
        keeper = self._keeper()
        if keeper is None:
            return None
        return Recovery(
            self._store,
            keeper,
            make_turn=self._turn,
            run=self._invocation,
            key=self._key,
            unattended=self._unattended,
            max_attempts=self.max_attempts,
            config=config,
            deps=deps,
        )

    def backlog(self, config: context.RunConfig | None = None) -> Backlog:
        """Return what waits in the store for this app, for engines.

        Args:
          config: settings for what it runs.

        Raises:
          InputValidationError: no other process reaches the store.
        """
        keeper = self._keeper()
        recovery = self._recovery(config or context.RunConfig())
        if keeper is None or recovery is None:
            raise InputValidationError(
                "Requests wait for other processes only in a store that these reach: use a "
                "SqliteSessionService on a file, or a DatabaseSessionService."
            )
        create = self.auto_create_session
        return Backlog(self.app_name, self._store, keeper, recovery, create=create)

    def _run(self, request: RunRequest, idempotency_key: str | None) -> AsyncGenerator[Event, None]:
        """Run a request; one that names itself, once."""
        if idempotency_key is None:
            return self._run_in_session(request)
        request.id, request.once = keyed_invocation_id(request.place, idempotency_key), True
        return self._run_once(request)

    async def _run_once(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        """Run an invocation unless its key names one that has begun; then yield that one's
        events.
        """
        following = self._runs.follow(request.id)
        if following is not None:
            async for event in following:
                yield event
            return
        with self._runs.entry(request.id) as entry:
            async with Aclosing(self._run_in_session(request)) as events:
                async for event in events:
                    entry.add(event)
                    yield event

    def _in_turn(self, request: RunRequest) -> InTurn:
        """Return the block in which a request has its turn."""
        return InTurn(self._key(request.place), self._turn(request), self._on_busy)

    async def _run_in_session(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        """Wait for the request's turn in its session, and take it."""
        request.message = message = as_content(request.message)
        if message is None and request.invocation_id is None and request.live is None:
            raise InputValidationError(
                "run_async needs new_message, or the invocation_id of an invocation to resume."
            )
        async with self._in_turn(request) as turn:
            events = self._invocation(turn)
            try:
                async for event in events:
                    try:
                        yield event
                    except GeneratorExit:
                        SESSION_LOCKS.closing(self._key(request.place))
                        raise
            finally:
                await events.aclose()

    async def _on_busy(self, turn: Turn) -> None:
        """Do as a request wants that finds its session taken by a run of this process."""
        policy, place = turn.request.config.on_busy, turn.request.place
        if policy == "reject":
            raise busy_error(place)
        if policy == "interrupt":
            reason = RunCancelledError("A newer message interrupted the run.")
            TURNS.stop(self._key(place), reason)
        if self.auto_create_session:
            await self._store.load(place, create=True)  # its inbox needs a session
        await turn.queue()

    async def _when_free(self, turn: Turn, act: Callable[[Session, Turn], Awaitable[_R]]) -> _R:
        """Load the session and act, again where somebody else had it or it moved on meanwhile.

        A new message is begun upon what this process remembers of the session: its claim finds
        whether that is how it is stored.
        """
        asks = turn.takes_over or not turn.unclaimed or turn.request.needs_all
        while True:
            session = turn.session = await self._get_or_create_session(turn.request, asks=asks)
            try:
                return await act(session, turn)
            except LeaseLostError:
                raise
            except (SessionBusyError, StaleSessionError, SessionNotFoundError) as error:
                if turn.takes_over or not turn.unclaimed:
                    raise
                asked, asks = asks, True
                if not asked and not isinstance(error, SessionBusyError):
                    continue
                if isinstance(error, SessionNotFoundError):
                    raise
            recovery = self._recovery(turn.request.config)
            assert recovery is not None
            await recovery.clear_way(turn)

    async def _begin(self, session: Session, turn: Turn) -> InvocationContext | None:
        """Set up the context (Spec 2 §1.1).

        Returns:
          None where the request's invocation has begun before, and only its events are wanted.
        """
        request = turn.request
        if request.ends_live:
            await self._end_live_run(session, turn)
            return None
        if request.live is not None:
            return await self._setup_context_for_live_run(session, turn)
        if request.once and log_of(session).start_of(request.id) is not None:
            return None
        if await turn.was_taken():
            if turn.takes_over:
                raise SessionBusyError(f"Another process has begun with message {request.id!r}.")
            answered, _ = self._answered(session, request.message or types.Content())
            turn.invocation_id = answered.invocation_id if answered else request.id
            return None
        if request.once or request.invocation_id is None:
            return await self._setup_context_for_new_invocation(session, turn)
        return await self._setup_context_for_resumed_invocation(session, turn)

    async def _begun_before(self, turn: Turn) -> Session:
        """Wait for the request's invocation, which somebody else began, and load the session."""
        recovery = self._recovery(turn.request.config, turn.request.deps)
        if recovery is not None and not turn.takes_over:  # who takes over looks again by itself
            await recovery.wait_for_end(turn.request.place, turn.invocation_id)
        return await self._get_or_create_session(turn.request)

    async def _invocation(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Set up the context, run the agent with the plugins, compact (Spec 2 §1.1)."""
        request, key = turn.request, self._key(turn.request.place)
        place = request.place
        tracing = span(
            "invocation", session_id=place.session_id, app=place.app_name, user=place.user_id
        )
        tracing.resume()
        error: BaseException | None = None
        try:
            with inside(key, request.invocation_id), turn.step:
                ctx = await self._when_free(turn, self._begin)
            if ctx is None:
                with inside(key, request.invocation_id), turn.step:
                    session = await self._begun_before(turn)
                async for event in stored_events(
                    session, turn.invocation_id, newest=not request.once
                ):
                    yield event
                return
            if tracing.recording:
                tracing.set(invocation_id=ctx.invocation_id)
            if request.yield_user_message and request.message is not None:
                tracing.suspend()
                turn.number(ctx.log.records[-1])
                yield ctx.log.records[-1].event()
                tracing.resume()
            if ctx.end_of_agents.get(ctx.agent.name):
                return
            execute = ctx.agent.run_async if request.live is None else self._run_live
            if ctx.log.scopes and request.live is None:
                execute = after_tasks(execute)
            run = self._exec_with_plugin(ctx, execute)
            mark, begun = inside(key, ctx.invocation_id), False
            try:
                while True:
                    with mark, turn.step:
                        begun = True
                        event = await anext(run, None)
                    if event is None:
                        break
                    tracing.suspend()
                    turn.number(event)
                    yield event
                    tracing.resume()
            finally:
                with mark:  # one that was stopped before it began seals nothing by itself
                    await (run.aclose() if begun else seal(ctx, GeneratorExit()))
            if ctx.events_compaction_config is not None:
                with mark, turn.step:
                    await compact(ctx, self.agent, lambda: self._store.load(request.place))
            turn.paused = turn.fence is not None and waits_for_answer(
                ctx.log, ctx.invocation_id, tasks=ctx.is_resumable
            )
        except Exception as raised:  # boundary: the span records the error, nobody hides it
            error = raised
            raise
        finally:
            tracing.suspend()
            tracing.end(error)

    async def _run_live(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent live; calls that were open when the user left are answered as cancelled."""
        async with Aclosing(ctx.agent.run_live(ctx)) as events:
            async for event in events:
                yield event
        await seal(ctx, asyncio.CancelledError())

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
            elif ctx.ports.resumed and has_tripped(ctx):
                raise GuardrailStop
            else:
                ctx.ports.guards = guards_above(self.app, ctx.agent)
                events = execute_fn(ctx)
                try:
                    async for event in events:
                        yield await self._commit(ctx, event, config)
                finally:
                    await events.aclose()
        except LeaseLostError:
            raise  # the session is another owner's now, who goes on with the invocation
        except Exception as error:  # boundary: the log says how it ended, the caller gets the error
            await seal(ctx, error)
            if ctx.ports.recorded is not error:  # a workflow node's error is told with its place
                yield await self._commit(ctx, error_event(ctx, error), config)
            if hooks.overrides("on_run_error_callback"):
                await hooks.run_on_run_error_callback(invocation_context=ctx, error=error)
            raise
        except BaseException as stop:  # boundary: cancelled, closed, or a tool ends the program
            await seal(ctx, stop)
            if not is_guardrail_stop(stop):
                raise
        await hooks.run_after_run_callback(invocation_context=ctx)

    async def _commit(
        self, ctx: InvocationContext, event: Event, config: context.RunConfig | None
    ) -> Event:
        """Let plugins change an event, store it if it is to be, and return what to yield."""
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
        if is_stored(ctx, event):
            ports = ctx.ports
            rows = () if ports.journal is None else ports.journal.rows_with(event)
            await ports.commit((event,), rows)
        return event
