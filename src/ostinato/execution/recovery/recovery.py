"""Recovery of abandoned invocations and queued messages."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ... import context
from ..._aclosing import Aclosing
from ..._log import get_logger
from ..._shielded import run_shielded
from ..._task_group import TaskGroup
from ...auth.redaction import public_message
from ...context.deps import NOT_GIVEN
from ...context.invocation import new_invocation_context_id
from ...durable.inbox import Work
from ...durable.lease import LeaseKeeper
from ...durable.run_scope import SessionKey, is_inside_invocation
from ...durable.session_locks import SESSION_LOCKS
from ...errors import (
    MissingDepsError,
    NothingToResumeError,
    SessionBusyError,
    SessionNotFoundError,
    StaleSessionError,
    StoreError,
)
from ...events.event import Event
from ...sessions.base_session_service import HIDDEN_PREFIX
from ...sessions.session import log_of
from ...sessions.store.durable_store import InboxMessage, Lease, Place
from ...sessions.store.keyed_requests import check_begun, digests_of_payload
from ..live_runs import was_live
from ..run_request import RunnerAccess, RunRequest
from ..run_table import KeyHasEnded
from ..store_access import StoreAccess
from ..turn import Turn
from ..turns import TURNS
from .blockers import BUSY, is_abandoned, is_open, is_own_abandoned, next_blocker
from .detached_tasks import DetachedTasks

logger = get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = (
    0.02,
    0.25,
)  # seconds between polls of a session that another owner holds
_LOOKED_AT = 20  # sessions per scan for abandoned messages
_ROUNDS = 20  # attempts of one request at the same invocation


Outcome = Literal["finished", "paused", "failed", "stuck", "taken", "handed over"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The outcome of a recovered invocation.

    Attributes:
      place: the session.
      invocation_id: the invocation.
      outcome: `finished`, `paused` if it waits for an answer, `failed` if it raised, `stuck` if it
        was parked, `taken` if another process claimed it first, `handed over` if another process is
        to resume it.
      reason: the error's text, or why it was parked.
      seconds: how long it took.
    """

    place: Place
    invocation_id: str
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0


class _Rounds:
    """Counts a request's attempts at each invocation ahead of it.

    Args:
      place: the session.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._counts: Counter[str] = Counter()

    async def count(self, invocation_id: str) -> None:
        """Count an attempt; pause before each but the first.

        Raises:
          SessionBusyError: there were too many.
        """
        self._counts[invocation_id] += 1
        count = self._counts[invocation_id]
        if count > _ROUNDS:
            raise SessionBusyError(
                f"Invocation {invocation_id!r} in session {self._place.session_id!r} can neither "
                "be resumed nor skipped; see `ostinato sessions`, or delete the session."
            )
        if count > 1:
            await asyncio.sleep(min(_LONGEST_PAUSE, _FIRST_PAUSE * count))


class TurnFactory(Protocol):
    """Makes the turn of a request."""

    def __call__(
        self, request: RunRequest, *, over: Lease | InboxMessage | None = None
    ) -> Turn: ...


class Recovery:
    """Runs abandoned invocations and queued messages in their order.

    Args:
      store: the store, which processes share.
      keeper: the leases of this process.
      runner: the runner that gets the requests.
      make_turn: makes a turn for a request.
      run: runs a turn.
      key: returns the lock key of a session.
      detached: runs recovered work beyond the request that found it.
      config: settings of the runs.
      deps: deps of the runs.
    """

    def __init__(
        self,
        store: StoreAccess,
        keeper: LeaseKeeper,
        *,
        runner: RunnerAccess,
        make_turn: TurnFactory,
        run: Callable[[Turn], AsyncGenerator[Event, None]],
        key: Callable[[Place], SessionKey],
        detached: DetachedTasks,
        config: context.RunConfig | None = None,
        deps: Any = NOT_GIVEN,
    ) -> None:
        assert store.durable is not None
        self._store = store
        self._durable = store.durable
        self._keeper = keeper
        self._make_turn = make_turn
        self._run = run
        self._key = key
        self._detached = detached
        self._runner = runner
        self._config = config or context.RunConfig()
        self._deps = deps

    async def drain_predecessors(self, turn: Turn) -> None:
        """Wait for earlier requests; recover those whose owner died.

        Raises:
          SessionBusyError: a live owner runs, and the request does not wait, or is part of it.
          KeyHasEnded: it does not wait, and the run of its key has ended.
        """
        request, pause = turn.request, _FIRST_PAUSE
        rounds = _Rounds(turn.request.place)
        while True:  # `_Rounds` bounds the attempts; it pauses while busy
            ahead = await next_blocker(self._store, self._keeper, request.place, request.id)
            if ahead is None:
                return
            if ahead is not BUSY:
                await rounds.count(ahead.invocation_id)
                if ahead.invocation_id == turn.invocation_id:
                    await self._run_blocker(request.place, ahead, own=request)
                else:
                    await self._run_detached(request.place, ahead)
                continue
            if request.config.on_busy == "reject":
                await check_key(request, self)
            await self._refuse_nested(request.place)
            await turn.watch.begin_waiting()
            if request.once:
                await turn.queue()  # before it interrupts: the key may be used
            interrupts = request.config.on_busy == "interrupt" and not turn.is_repeated
            if interrupts and not turn.has_interrupted:
                turn.has_interrupted = await self._durable.request_cancel(request.place)
            await turn.queue()
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def _refuse_nested(self, place: Place) -> None:
        """Refuse to wait for the run that the current code is part of.

        Raises:
          SessionBusyError: that run has the session through another session service.
        """
        lease = await self._durable.lease(place)
        if lease is not None and is_inside_invocation(place, lease.invocation_id):
            raise SessionBusyError(
                f"Session {place.session_id!r} is held by invocation {lease.invocation_id!r}, "
                "which this code is part of, so waiting for it would never end. Use another "
                "session, call the agent as a tool (AgentTool), yield what is to be stored, or "
                "give this runner the same session service object as that of the invocation."
            )

    async def wait_for_end(self, place: Place, invocation_id: str) -> None:
        """Wait for an invocation of another process; resume it if that process dies."""
        pause, rounds = _FIRST_PAUSE, _Rounds(place)
        while True:  # as in `drain_predecessors`
            lease = await self._durable.lease(place)
            if lease is None or not is_open(lease) or lease.invocation_id != invocation_id:
                return
            left = is_abandoned(lease) or await is_own_abandoned(self._store, self._keeper, lease)
            if lease.owner == self._keeper.owner and not left:
                return
            if left:
                await rounds.count(invocation_id)
                await self._run_detached(place, lease)
            else:
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def ensure(self, place: Place, invocation_id: str) -> list[Recovered]:
        """Run an invocation, unless it is done or another owner runs it.

        An abandoned one is resumed; a queued one starts once its predecessors have ended.

        Returns:
          The outcome of each invocation that ran.
        """
        done: list[Recovered] = []
        pause, rounds = _FIRST_PAUSE, _Rounds(place)
        async with SESSION_LOCKS.hold_session(self._key(place)):
            while True:  # as in `drain_predecessors`
                lease = await self._durable.lease(place)
                if lease is not None and is_open(lease) and lease.invocation_id == invocation_id:
                    if is_abandoned(lease) or await is_own_abandoned(
                        self._store, self._keeper, lease
                    ):
                        done.append(await self._run_blocker(place, lease))
                    return done
                message = await self._find_message(place, invocation_id)
                if message is None:
                    return done
                ahead = await next_blocker(self._store, self._keeper, place, invocation_id)
                if ahead is not BUSY:
                    await rounds.count((ahead or message).invocation_id)
                    done.append(await self._run_blocker(place, ahead or message))
                    if done[-1].outcome == "handed over":
                        return done
                    continue
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def is_open(self, place: Place, invocation_id: str) -> bool:
        """Return whether an invocation is queued or running."""
        # A claim turns the message into a lease, so this order misses none.
        if await self._find_message(place, invocation_id) is not None:
            return True
        lease = await self._durable.lease(place)
        return lease is not None and is_open(lease) and lease.invocation_id == invocation_id

    async def _find_message(self, place: Place, invocation_id: str) -> InboxMessage | None:
        for message in await self._durable.messages(place):
            if message.invocation_id == invocation_id:
                return message
        return None

    async def find_abandoned(self, app_name: str) -> list[Lease]:
        """Return the abandoned invocations of an app."""
        return [
            lease
            for lease in await self._durable.open_leases(app_name)
            if is_abandoned(lease) and not lease.place.session_id.startswith(HIDDEN_PREFIX)
        ]

    async def find_abandoned_messages(self, app_name: str) -> list[tuple[Place, str]]:
        """Return the next messages of an app whose owner died before its lease expired.

        Reads the sessions whose messages have waited longest.

        Returns:
          Sessions, each with the message's invocation id.
        """
        found: list[tuple[Place, str]] = []
        for place in await self._durable.waiting_places(app_name, limit=_LOOKED_AT):
            ahead = await next_blocker(self._store, self._keeper, place, None)
            if isinstance(ahead, InboxMessage) and ahead.owner and ahead.left > 0:
                found.append((place, ahead.invocation_id))
        return found

    async def resume_open(self, app_name: str, limit: int) -> list[Recovered]:
        """Run all abandoned work of an app.

        Args:
          app_name: the app.
          limit: how many sessions at once.
        """
        places = {lease.place: None for lease in await self.find_abandoned(app_name)}
        places.update(dict.fromkeys(await self._durable.waiting_places(app_name)))
        gate = asyncio.Semaphore(limit)
        async with TaskGroup() as group:
            tasks = [group.create_task(self._run_abandoned(place, gate)) for place in places]
        return [recovered for task in tasks for recovered in task.result()]

    async def _run_abandoned(self, place: Place, gate: asyncio.Semaphore) -> list[Recovered]:
        """Run all abandoned work of one session."""
        done: list[Recovered] = []
        rounds = _Rounds(place)
        async with gate, SESSION_LOCKS.hold_session(self._key(place)):
            while True:  # as in `drain_predecessors`
                ahead = await next_blocker(self._store, self._keeper, place, None)
                if ahead is None or ahead is BUSY:
                    return done
                try:
                    await rounds.count(ahead.invocation_id)
                    recovered = await self._run_blocker(place, ahead)
                except (
                    StoreError,
                    SessionBusyError,
                ) as error:  # must not block the other sessions
                    logger.warning(
                        "Session %s is left to another owner: %s", place.session_id, error
                    )
                    return done
                done.append(recovered)
                if recovered.outcome in ("taken", "handed over"):
                    return done

    async def _run_detached(self, place: Place, left: Lease | InboxMessage) -> None:
        """Run abandoned work for a request; it outlives the request."""
        await self._detached.run_detached(self._key(place), self._run_blocker(place, left))

    async def _run_blocker(
        self, place: Place, left: Lease | InboxMessage, *, own: RunRequest | None = None
    ) -> Recovered:
        """Resume an invocation, or run a message; its errors are stored, not raised.

        A task that is cancelled meanwhile hands it over to the next owner.

        Raises:
          StoreError: the store failed; the next owner tries again.

        Args:
          own: the caller's request, if it is for this invocation: cancelling the task then cancels
            the invocation, and the request's deps apply.
        """
        request = await self._make_request(place, left)
        if own is not None:
            request.deps, request.numbers = own.deps, own.numbers
        turn = self._make_turn(request, over=left)
        if own is None:
            turn.detach_caller()
        begun = time.monotonic()
        outcome, reason = await self._run_turn(turn, left, own)
        if turn.stopped is not None:
            if own is not None:
                raise turn.stopped
        elif turn.kept and outcome not in ("taken", "handed over"):
            # It could not start, or had started before; it must not block the inbox.
            await self._durable.leave_message(place, request.id, keep=False)
        elif outcome == "failed" and turn.fence is None:
            with suppress(SessionBusyError, StaleSessionError, SessionNotFoundError):
                await run_shielded(
                    self._park_invocation(self._make_turn(request, over=left), reason)
                )
        # A message that answers a call runs in the invocation of that call.
        seconds = time.monotonic() - begun
        return Recovered(place, turn.invocation_id, outcome, reason, seconds)

    async def _run_turn(
        self, turn: Turn, left: Lease | InboxMessage, own: RunRequest | None
    ) -> tuple[Outcome, str]:
        session_id = turn.request.place.session_id
        try:
            if isinstance(left, Lease):
                reason = self._why_stuck(left, turn.digest)
                if reason:
                    turn.digest = (
                        left.digest
                    )  # or the next owner would take the new agents for its own
                    await run_shielded(self._park_invocation(turn, reason))
                    return "stuck", reason
                logger.warning(
                    "Resuming abandoned invocation %s in session %s (attempt %d).",
                    left.invocation_id,
                    session_id,
                    left.attempts + 1,
                )
            await self._read_events(turn, own)
        except (SessionBusyError, StaleSessionError, SessionNotFoundError) as error:
            return "handed over" if turn.handed_over else "taken", str(error)
        except MissingDepsError as error:
            if turn.fence is None:  # nothing ran yet: park it until a caller passes deps
                await run_shielded(
                    self._park_invocation(self._make_turn(turn.request, over=left), str(error))
                )
                return "stuck", str(error)
            return "failed", str(error)
        except StoreError:
            raise  # nothing was stored, and the turn handed the invocation over
        except Exception as error:  # boundary: the error is stored; the caller is gone
            if error is turn.stopped:
                logger.info(
                    "Cancelled invocation %s of session %s.", turn.invocation_id, session_id
                )
            else:
                logger.exception(
                    "Invocation %s in session %s failed.", turn.invocation_id, session_id
                )
            return "failed", f"{type(error).__name__}: {error}"
        return "paused" if turn.paused else "finished", ""

    async def _read_events(self, turn: Turn, own: RunRequest | None) -> None:
        """Run a turn to its end, and keep its events for the caller who asked for them; cancelling
        the task hands it over.
        """
        key = self._key(turn.request.place)
        TURNS.add(key, turn)
        turn.holds_session = True
        try:
            async with Aclosing(self._run(turn)) as events:
                async for event in events:
                    if own is not None and not event.partial:
                        own.recovered = own.recovered or []
                        own.recovered.append(event)
        except NothingToResumeError:
            await turn.claim()  # its process died before it stored anything; release it
        finally:
            TURNS.remove(key, turn)
            await turn.end(None)

    async def _make_request(self, place: Place, left: Lease | InboxMessage) -> RunRequest:
        message: InboxMessage | None
        if isinstance(left, Lease):
            message = await self._find_message(place, left.invocation_id)
        else:
            message = left
        if message is None:
            request = RunRequest(
                self._runner,
                place,
                new_invocation_context_id(),
                None,
                left.invocation_id,
                None,
                self._config,
            )
            request.ends_live = isinstance(left, Lease) and was_live(left)
            request.deps = self._deps
            return request
        work = Work.read(place, message.invocation_id, message.payload)
        config = self._config
        if work.metadata:
            config = config.model_copy(update={"custom_metadata": work.metadata})
        return RunRequest(
            self._runner,
            place,
            work.invocation_id,
            work.message,
            None,
            work.state_delta,
            config,
            once=work.once,
            trace=work.trace,
            deps=self._deps,
            digests=digests_of_payload(work.invocation_id, message.payload) if work.once else None,
        )

    def _why_stuck(self, lease: Lease, digest: str) -> str:
        if lease.attempts >= self._runner.host.max_attempts:
            return f"It was started {lease.attempts} times, and its process died each time."
        if lease.digest != digest:
            return (
                "The agents have changed since it was started (their names, kinds, parents or "
                "tools), so it cannot be resumed at the right place."
            )
        return ""

    async def _park_invocation(self, turn: Turn, reason: str) -> None:
        """Park an invocation, so that it is not resumed automatically."""
        place = turn.request.place
        turn.session = await self._store.load(place)
        if (
            turn.kept and turn.request.message is not None
        ):  # so that it is stored and can be resumed
            content = public_message(turn.request.message)
            event = Event(author="user", invocation_id=turn.invocation_id, content=content)
            await turn.commit((event,))
        else:
            await turn.claim()
        await turn.park(reason)
        logger.error(
            "Invocation %s in session %s is stuck: %s Resume it with run_async(invocation_id=...), "
            "or send a new message.",
            turn.invocation_id,
            place.session_id,
            reason,
        )


async def check_key(request: RunRequest, recovery: Recovery | None) -> None:
    """Refuse a request that does not wait, unless its key has been accepted before.

    Args:
      request: the request, which found its session busy.
      recovery: None if the session lives in this process only.

    Raises:
      SessionBusyError: it has no key, or the key is new.
      IdempotencyKeyReusedError: its key was used for another request.
      KeyHasEnded: the run of its key has ended.
    """
    if request.once:
        if recovery is not None and await recovery.is_open(request.place, request.id):
            return
        session = await request.runner.load_session(request, asks=True)
        if check_begun(log_of(session), request.id, request.digests):
            request.accept()
            raise KeyHasEnded(session)
    raise busy_error(request.place)


def busy_error(place: Place) -> SessionBusyError:
    """Return the error for a request that does not wait."""
    return SessionBusyError(
        f"Another invocation runs in session {place.session_id!r}. Wait for it, or use "
        "RunConfig(on_busy='queue')."
    )
