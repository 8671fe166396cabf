"""InvocationRunner: runs a request in its turn: loads, sets up, runs the agent, commits each event.

Read top-down: `run`, then its parts in their order.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from .. import context, types
from .._aclosing import Aclosing
from .._adk_mode import follows_adk
from ..agents.guarded_run import GuardrailStop, has_tripped, is_guardrail_stop
from ..apps.app import App
from ..context.callbacks import plugin_answer
from ..context.deps import NOT_GIVEN
from ..context.invocation import InvocationContext
from ..durable.run_scope import RunScope, SessionKey
from ..durable.session_locks import SESSION_LOCKS
from ..errors import (
    InputValidationError,
    LeaseLostError,
    RunCancelledError,
    SessionBusyError,
    SessionNotFoundError,
    StaleSessionError,
    StoreError,
)
from ..events.event import Event
from ..flows.llm_flows.resume.user_answers import has_call_answers
from ..sessions.session import Session, log_of
from ..sessions.store.durable_store import Fence, Place
from ..sessions.store.keyed_requests import check_begun, check_repeated, keyed_invocation_id
from ..telemetry.tracing import attach_caller, detach_caller, span
from .agent_runs import act_on_answers, answer_early, guards_above, have_agents_ended
from .context_factory import ContextFactory, begins_as_named, end_broken_run, note_pause
from .history_compaction import compact_history
from .live_runs import has_inline_media, run_allowed_calls
from .recovery.backlog import Backlog
from .recovery.closing import error_event, report_error, seal, try_to_seal
from .recovery.detached_tasks import DetachedTasks
from .recovery.recovery import Recovery, check_key
from .recovery.yield_ending import YieldEnding
from .request_checks import apply_event_hooks
from .rewind import append_rewind
from .routing.task_choice import after_tasks
from .run_request import Execute, RunnerAccess, RunRequest, as_content
from .run_table import KeyHasEnded, RunTable, stored_events
from .step import Step
from .store_access import store_checked_answers
from .turn import Turn
from .turns import TURNS, TurnGuard

_R = TypeVar("_R")

# How often a request restarts because its session changed just before its claim, and the longest
# pause in seconds before the second attempt; it grows with each attempt.
_LONGEST_BUSY_PAUSE = 0.25  # seconds
_STALE_TRIES, _STALE_PAUSE = 20, 0.02


class InvocationRunner:
    """Runs the requests of a runner.

    It does not hold the runner; each request brings it.

    Args:
      contexts: makes turns and contexts.
    """

    def __init__(self, contexts: ContextFactory) -> None:
        self._contexts = contexts
        self._store = contexts.store
        self._runs, self._detached = RunTable(), DetachedTasks()

    def session_key(self, place: Place) -> SessionKey:
        return (id(self._store.service), place.app_name, place.user_id, place.session_id)

    def find_fence(self, session: Session) -> tuple[Place, Fence] | None:
        """Return the place and the fence of a session that runs in this process, or None."""
        place = Place(session.app_name, session.user_id, session.id)
        fence = TURNS.fence(self.session_key(place))
        return None if fence is None else (place, fence)

    def make_recovery(
        self, runner: RunnerAccess, config: context.RunConfig, deps: Any = NOT_GIVEN
    ) -> Recovery | None:
        """Return the recovery of abandoned work, or None if no other process reaches the store."""
        keeper = self._contexts.keeper()
        if keeper is None:
            return None
        return Recovery(
            self._store,
            keeper,
            runner=runner,
            make_turn=self._contexts.make_turn,
            run=self._run_invocation,
            key=self.session_key,
            detached=self._detached,
            config=config,
            deps=deps,
        )

    def make_backlog(
        self, runner: RunnerAccess, config: context.RunConfig | None = None
    ) -> Backlog:
        """Return the pending work of the app; see `Runner.backlog`."""
        keeper = self._contexts.keeper()
        recovery = self.make_recovery(runner, config or context.RunConfig())
        if keeper is None or recovery is None:
            raise InputValidationError(
                "A backlog needs a store that other processes reach: use a SqliteSessionService on "
                "a file, or a DatabaseSessionService."
            )
        create = runner.host.auto_create_session
        return Backlog(runner.host.app_name, self._store, keeper, recovery, create=create)

    def run(self, request: RunRequest, idempotency_key: str | None) -> AsyncGenerator[Event, None]:
        """Run a request; one with an idempotency key runs once."""
        if idempotency_key is None:
            return self._run_in_session(request)
        return self._run_once(request, keyed_invocation_id(request.place, idempotency_key))

    def stop_request(self, request: RunRequest) -> bool:
        """Stop a request's run, unless other requests with the same key follow it."""
        entry = self._runs.find(request.id)
        if entry is not None:
            reason = RunCancelledError(f"Following run {request.id!r} was cancelled.")
            if entry.leave(request, reason):
                return True
            if entry.is_followed:
                return False
        return self.stop(request.place, request.id)

    def stop(self, place: Place, invocation_id: str | None) -> bool:
        """Stop the run of a session in this process; return whether there was one.

        Args:
          place: the session.
          invocation_id: this invocation, running or waiting, or None for the running one.
        """
        return TURNS.stop(self.session_key(place), _cancel_reason(place), invocation_id)

    async def cancel(
        self,
        place: Place,
        invocation_id: str | None = None,
        reason: RunCancelledError | None = None,
    ) -> bool:
        """Cancel the run of a session, in this process or in another one.

        Args:
          place: the session.
          invocation_id: this invocation, running or waiting; None for the running one.
          reason: the error for its caller in this process.

        Returns:
          Whether there was a run to cancel; another process reacts within a second.
        """
        key, reason = self.session_key(place), reason or _cancel_reason(place)
        if TURNS.stop(key, reason, invocation_id, claimed=True):
            return True
        durable, is_asked = self._store.durable, False
        if durable is not None and durable.shared:
            await self._store.flush()
            is_asked = await durable.request_cancel(place, invocation_id)
            if is_asked and invocation_id is None:
                return True
        return TURNS.stop(key, reason, invocation_id) or is_asked

    async def rewind(self, request: RunRequest, invocation_id: str) -> None:
        """Rewind the request's session to before an invocation.

        Raises:
          NotFoundError: the session has no such invocation.
          SessionBusyError: a message that waits answers a call that the rewind would hide.
        """

        async with self.take_turn(request) as turn:
            act = partial(append_rewind, store=self._store, invocation_id=invocation_id)
            await self.retry_while_busy(turn, act)

    async def close(self) -> None:
        """Hand over detached runs."""
        await self._detached.end()

    async def _run_once(
        self, request: RunRequest, invocation_id: str
    ) -> AsyncGenerator[Event, None]:
        """Run the invocation of a key; if it runs for the same request, yield that one's events."""
        request.use_key(invocation_id)
        following = self._runs.find(request.id)
        if following is not None and following.is_same(request.digests):
            request.accept()
            async with Aclosing(following.follow(request)) as events:
                async for event in events:
                    yield event
            return
        with self._runs.entry(request.id, request.digests) as entry:
            async with Aclosing(self._run_in_session(request)) as events:
                async for event in events:
                    entry.add(event)
                    yield event

    def take_turn(self, request: RunRequest) -> TurnGuard:
        """Return the guard of a request's turn."""
        return TurnGuard(
            self.session_key(request.place), self._contexts.make_turn(request), self._on_busy
        )

    async def _run_in_session(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        """Wait for the request's turn in its session, and take it."""
        request.message = message = as_content(request.message)
        begins = request.invocation_id is None and request.live is None
        if message is None and begins and not follows_adk():
            raise InputValidationError(
                "run_async needs new_message, or the invocation_id of an invocation to resume."
            )
        holding = self.take_turn(request)
        request.leave = holding.leave
        try:
            async with holding as turn:
                events = self._run_invocation(turn, holding)
                try:
                    async for event in events:
                        try:
                            yield event
                        except GeneratorExit:
                            holding.closing()
                            raise
                finally:
                    await events.aclose()
        except KeyHasEnded as ended:
            async for event in stored_events(ended.session, request.id):
                yield event
        finally:
            request.leave = None  # the turn holds its request

    async def _on_busy(self, turn: Turn) -> None:
        """Apply the request's `on_busy` policy."""
        policy, place = turn.request.config.on_busy, turn.request.place
        self._find_first(turn)
        if policy == "reject":
            await self._check_key(turn)
        if policy != "interrupt" and SESSION_LOCKS.is_held_by_current_task(self.session_key(place)):
            raise SessionBusyError(
                f"Session {place.session_id!r} is held by a run that this task has read only some "
                "events of, so waiting for it would never end: read its run_async generator to "
                'the end, close it with aclose(), or set RunConfig(on_busy="interrupt").'
            )
        if policy == "reject":
            return  # the run of its key is stored or waits
        if turn.request.answers_calls and self._store.durable is not None:
            await self._check_answers(turn)
        if turn.request.runner.host.auto_create_session:
            await self._store.load(place, create=True)  # its inbox needs a session
        await turn.watch.begin_waiting()
        if turn.request.once:
            await self._enqueue(turn)  # before it interrupts: the key may be used
        if policy == "interrupt" and not turn.is_repeated:
            reason = RunCancelledError("A newer message interrupted the run.")
            turn.has_interrupted = await self.cancel(place, reason=reason)
        await self._enqueue(turn)

    async def _enqueue(self, turn: Turn) -> None:
        await store_checked_answers(turn.queue, partial(self._check_answers, turn))

    async def _check_answers(self, turn: Turn) -> None:
        """Check the answers of a message that is to be enqueued against the stored session."""
        await turn.adopt_waiting_message()
        session = await turn.request.runner.load_session(turn.request, asks=True)
        await self._contexts.check_answers_of(session, turn)

    def _find_first(self, turn: Turn) -> None:
        """Notice an earlier request of this process under the key of a turn.

        Raises:
          IdempotencyKeyReusedError: it is another one, in a store that no other process reaches;
            a shared store compares them.
        """
        if not turn.request.once:
            return
        first = TURNS.find_first(self.session_key(turn.request.place), turn)
        if first is None or (self._store.durable is not None and self._store.durable.shared):
            return
        if first.request.digests is not None:
            check_repeated(first.request.digests, turn.request.digests)
        turn.is_repeated = True

    async def _check_key(self, turn: Turn) -> None:
        """Refuse a request that does not wait, unless its key has been accepted before.

        Raises:
          SessionBusyError: it has no key, or the key is new.
          KeyHasEnded: the run of its key has ended.
        """
        request = turn.request
        if request.once and TURNS.has_accepted(self.session_key(request.place), turn):
            return
        await check_key(request, self.make_recovery(request.runner, request.config))

    async def retry_while_busy(
        self, turn: Turn, act: Callable[[Session, Turn], Awaitable[_R]]
    ) -> _R:
        """Load the session and act; retry while it is busy or was changed meanwhile.

        A new message starts from the cached session: its claim detects a stale one.
        """
        request = turn.request
        asks = turn.takes_over or not turn.unclaimed or request.needs_all
        stale, busy = 0, 0
        while True:  # `_STALE_TRIES` bounds it, and it pauses while the session is busy
            session = turn.session = await request.runner.load_session(request, asks=asks)
            turn.watch.check(session)
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
                if isinstance(error, StaleSessionError):
                    await turn.adopt_waiting_message()
                    stale += 1
                    if stale == _STALE_TRIES:
                        raise
                    await asyncio.sleep(random.random() * _STALE_PAUSE * stale)
            recovery = self.make_recovery(request.runner, request.config)
            assert recovery is not None
            try:
                await recovery.drain_predecessors(turn)
            except LeaseLostError:
                raise
            except StaleSessionError:  # its answers are checked again
                stale += 1
                if stale == _STALE_TRIES:
                    raise
            busy += 1
            await asyncio.sleep(min(_LONGEST_BUSY_PAUSE, 0.001 * (busy - 1)))

    async def _begin_turn(self, session: Session, turn: Turn) -> InvocationContext | None:
        """Set up the context (Spec 2 §1.1).

        Returns:
          None if the request's invocation has started before: the caller gets its stored events.
        """
        request = turn.request
        if request.ends_live:
            return await self._contexts.set_up_live_end(session, turn)
        if request.live is not None:
            return await self._contexts.set_up_live(session, turn)
        if request.once and check_begun(log_of(session), request.id, request.digests):
            return None
        if request.answers_calls and turn.unclaimed:
            await turn.adopt_waiting_message()
        # A keyed message that is gone and has not started was withdrawn by another caller.
        if (turn.takes_over or not request.once) and await turn.is_message_claimed():
            if turn.takes_over:
                raise SessionBusyError(f"Another process has started message {request.id!r}.")
            answered, _ = self._contexts.find_target(
                request, session, request.message or types.Content()
            )
            turn.invocation_id = answered.invocation_id if answered else request.id
            return None
        if request.once or request.invocation_id is None or begins_as_named(session, request):
            return await request.runner.set_up_new(session, turn)
        return await request.runner.set_up_resumed(session, turn)

    async def _wait_and_reload(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Wait for the request's invocation in another process; return its events."""
        request = turn.request
        request.accept()
        recovery = self.make_recovery(request.runner, request.config, request.deps)
        if recovery is not None and not turn.takes_over:  # a recovery checks again by itself
            await recovery.wait_for_end(request.place, turn.invocation_id)
        session = await request.runner.load_session(request, asks=True)
        turn.watch.check(session)
        return stored_events(session, turn.invocation_id, newest=not request.once)

    async def _run_invocation(
        self, turn: Turn, holding: TurnGuard | None = None
    ) -> AsyncGenerator[Event, None]:
        """Set up the context, run the agent with the plugins, compact (Spec 2 §1.1).

        `holding` releases the session if the turn is stopped while it waits for its caller.
        """
        request, step, key = turn.request, turn.step, self.session_key(turn.request.place)
        tracing = _start_span(request.place, request.trace)
        shown = tracing if tracing.recording else None
        ending = YieldEnding(turn, holding, key, tracing)
        scope = RunScope(key, request.invocation_id, turn, step=step, span=shown)
        error: BaseException | None = None
        try:
            with scope:
                ctx = await self.retry_while_busy(turn, self._begin_turn)
                stored = await self._wait_and_reload(turn) if ctx is None else None
            step.end_at_yield, ending.ctx = ending, ctx
            if stored is not None:
                async for event in stored:
                    yield event
                return
            assert ctx is not None
            tracing.set(invocation_id=ctx.invocation_id)
            run = ending.run = self._agents_of(ctx, request)
            scope.own_id = ctx.invocation_id
            has_ended, is_suspended = have_agents_ended(ctx), False
            try:
                for event in _list_first_events(ctx, turn):
                    yield event
                if has_ended:
                    return
                while True:
                    is_suspended = True
                    with scope:
                        is_suspended = False
                        event = await anext(run, None)
                        if event is None:
                            has_ended, step.end_at_yield = True, None
                            await self._finish_run(ctx, turn)
                            return
                    turn.record_event_number(event)
                    step.yields += 1
                    yield event
            except GeneratorExit:  # the reader left, or an agent raised it
                is_suspended = True
                raise
            finally:
                if not has_ended:
                    await step.wait_for_ending()
                    with RunScope(key, ctx.invocation_id, turn, span=shown):
                        await _close_run(run, step)
                        await end_broken_run(ctx, turn, is_suspended)
        except BaseException as raised:  # boundary: the span records the error
            error = raised
            await turn.raise_cause(raised)
            raise
        finally:
            tracing.end(error, "paused" if turn.paused else None)
            await step.wait_for_ending()

    def _agents_of(
        self, ctx: InvocationContext, request: RunRequest
    ) -> AsyncGenerator[Event, None]:
        """Return the unstarted run of the agents."""
        execute, log = ctx.agent.run_async if request.live is None else self._run_live, ctx.log
        if request.ends_live:
            execute = run_allowed_calls
        elif (log.scopes or log.unanswered) and request.live is None:
            execute = after_tasks(execute)
        if request.live is None and not request.ends_live and has_call_answers(ctx):
            app, root_agent = request.runner.host.app, self._contexts.root_agent
            execute = act_on_answers(execute, app, root_agent)
        return request.runner.execute(ctx, execute)

    async def _finish_run(self, ctx: InvocationContext, turn: Turn) -> None:
        """Compact the history after a run, and record whether the run waits for an answer."""
        if ctx.events_compaction_config is not None:
            place = turn.request.place
            await compact_history(ctx, self._contexts.root_agent, lambda: self._store.load(place))
        note_pause(ctx, turn)

    async def _run_live(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run the agent live; calls that are open at the end are closed as cancelled."""
        async with Aclosing(ctx.agent.run_live(ctx)) as events:
            async for event in events:
                yield event
        await seal(ctx, asyncio.CancelledError())

    async def run_with_plugins(
        self, app: App, ctx: InvocationContext, execute_fn: Execute
    ) -> AsyncGenerator[Event, None]:
        """Run the agent between the run's hooks and commit its events (Spec 2 §1.5).

        If the run ends early, every call still gets a response. A run that is closed between two
        events is sealed by its caller: an event loop that ends closes both at once.
        """
        hooks, config = ctx.plugin_manager, ctx.run_config
        has_hooks = hooks.overrides("on_event_callback") or bool(
            config is not None and config.custom_metadata
        )
        is_hook = False  # whether `on_event_callback` is what raised
        try:
            early = await plugin_answer(
                hooks.run_before_run_callback(invocation_context=ctx),
                types.Content,
                "before_run_callback",
                ctx.agent.name,
            )
            if early is None and ctx.run_state.is_resumed and has_tripped(ctx):
                raise GuardrailStop
            ctx.run_state.guards = guards_above(app, ctx.agent)
            events = execute_fn(ctx) if early is None else answer_early(ctx, early)
            try:
                async for event in events:
                    if has_hooks:
                        is_hook = True
                        event = await apply_event_hooks(ctx, event, config)
                        is_hook = False
                    yield await self._store_event(ctx, event)
            finally:
                await events.aclose()
        except LeaseLostError:
            raise  # the new owner of the session resumes the invocation
        except Exception as error:  # boundary: store the error and raise it to the caller
            event = await self._record_error(ctx, error, config, asks_plugins=not is_hook)
            if event is not None:
                yield event
            await report_error(ctx, error, has_agent_failed=not is_hook)
            raise
        except GeneratorExit:
            raise
        except BaseException as stop:  # boundary: cancelled, or a tool ends the program
            failure = await try_to_seal(ctx, stop)
            if not is_guardrail_stop(stop):
                raise
            if failure is not None:
                raise failure from None
        await hooks.run_after_run_callback(invocation_context=ctx)

    async def _record_error(
        self,
        ctx: InvocationContext,
        error: Exception,
        config: context.RunConfig | None,
        *,
        asks_plugins: bool,
    ) -> Event | None:
        """Seal the run and store its error.

        Returns:
          The error's event; None if the log has it already, or the store failed.
        """
        if await try_to_seal(ctx, error) is not None or ctx.run_state.recorded_error is error:
            return None  # a workflow node's error is stored with its place
        try:
            event = error_event(ctx, error)
            if asks_plugins:  # else the hook raised, and would raise again
                event = await apply_event_hooks(ctx, event, config)
            return await self._store_event(ctx, event)
        except StoreError:  # the next owner of the invocation seals it
            return None

    async def _store_event(self, ctx: InvocationContext, event: Event) -> Event:
        """Store an event if required (Spec 2 §7.3), and return it to be yielded."""
        if not event.partial and not (
            ctx.live_request_queue is not None and has_inline_media(event)
        ):
            journal = ctx.run_state.journal
            rows = () if journal is None else journal.rows_with(event)
            await ctx.services.commit((event,), rows)
        return event


def _list_first_events(ctx: InvocationContext, turn: Turn) -> list[Event]:
    """Return what the caller gets before the run's own events."""
    request = turn.request
    events = [*(request.recovered or ())]
    if request.yield_user_message and request.message is not None:
        turn.record_event_number(ctx.log.records[-1])
        events.append(ctx.log.records[-1].event())
    return events


def _cancel_reason(place: Place) -> RunCancelledError:
    return RunCancelledError(f"The run in session {place.session_id!r} was cancelled.")


async def _close_run(run: AsyncGenerator[Event, None], step: Step) -> None:
    """Close the run of the agents; a run whose event loop stalled cannot be sealed."""
    try:
        await run.aclose()
    except LeaseLostError:
        if not step.is_loop_stalled:
            raise


def _start_span(place: Place, trace: Mapping[str, str] | None) -> Any:
    """Return the span of an invocation, in its sender's trace if given."""
    caller = None if trace is None else attach_caller(trace)
    try:
        tracing = span(
            "invocation", session_id=place.session_id, app=place.app_name, user=place.user_id
        )
    finally:
        detach_caller(caller)
    return tracing
