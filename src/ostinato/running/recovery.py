"""Going on with what others left behind: open invocations and messages whose process is gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .. import context
from .._aclosing import Aclosing
from .._log import get_logger
from .._shielded import shielded
from .._task_group import TaskGroup
from ..auth.redaction import public_message
from ..context.deps import NOT_GIVEN
from ..context.invocation import new_invocation_context_id
from ..durable.inbox import Work
from ..durable.lease import LeaseKeeper
from ..durable.running import SessionKey
from ..durable.session_locks import SESSION_LOCKS
from ..errors import (
    MissingDepsError,
    NothingToResumeError,
    SessionBusyError,
    SessionNotFoundError,
    StaleSessionError,
)
from ..events.event import Event
from ..sessions._durable_store import InboxMessage, Lease, Place
from ..sessions.base_session_service import HIDDEN_PREFIX
from .ahead import BUSY, ahead_of, is_left, is_open
from .live import was_live
from .request import RunRequest
from .store_access import StoreAccess
from .turn import Turn
from .turns import TURNS
from .unattended import Unattended

logger = get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25  # seconds between looks at a session that others hold
_LOOKED_AT = 20  # sessions in which one look for left messages reads


Outcome = Literal["finished", "paused", "failed", "stuck", "taken", "handed over"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of an invocation that was gone on with.

    Attributes:
      place: the session.
      invocation_id: the invocation.
      outcome: `finished`, `paused` where it waits for an answer, `failed` where it raised, `stuck`
        where it was parked, `taken` where another process was faster, `handed over` where
        another one is to go on.
      reason: the error's text, or why it was parked.
      seconds: how long it took.
    """

    place: Place
    invocation_id: str
    outcome: Outcome
    reason: str = ""
    seconds: float = 0.0


class MakesTurns(Protocol):
    """How the runner makes a turn."""

    def __call__(
        self, request: RunRequest, *, over: Lease | InboxMessage | None = None
    ) -> Turn: ...


class Recovery:
    """Runs what dead owners left behind, in the order it came.

    Args:
      store: the store; it is one that processes share.
      keeper: the leases of this process.
      make_turn: makes a turn for a request.
      run: runs a turn.
      key: gives the key under which a session is locked in this process.
      unattended: keeps what was left open running where the request that comes upon it goes away.
      max_attempts: how often an invocation is begun before it is parked.
      config: settings for what is run.
      deps: what the runs hand to tools, instructions and callbacks.
    """

    def __init__(
        self,
        store: StoreAccess,
        keeper: LeaseKeeper,
        *,
        make_turn: MakesTurns,
        run: Callable[[Turn], AsyncGenerator[Event, None]],
        key: Callable[[Place], SessionKey],
        unattended: Unattended,
        max_attempts: int,
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
        self._unattended = unattended
        self._max_attempts = max_attempts
        self._config = config or context.RunConfig()
        self._deps = deps

    async def clear_way(self, turn: Turn) -> None:
        """Wait for those who are before a turn, and run what dead ones left there.

        Raises:
          SessionBusyError: somebody is at it, and the request does not want to wait.
        """
        request, pause = turn.request, _FIRST_PAUSE
        interrupted = False
        while True:
            ahead = await ahead_of(self._durable, self._keeper, request.place, request.id)
            if ahead is None:
                return
            if ahead is not BUSY:
                if ahead.invocation_id == turn.invocation_id:
                    await self._finish(request.place, ahead, own=request)
                else:
                    await self._see_through(request.place, ahead)
                continue
            if request.config.on_busy == "reject":
                raise busy_error(request.place)
            if request.config.on_busy == "interrupt" and not interrupted:
                interrupted = await self._durable.request_cancel(request.place)
            await turn.queue()
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def wait_for_end(self, place: Place, invocation_id: str) -> None:
        """Wait for an invocation that another process runs; go on with it where that one dies."""
        pause = _FIRST_PAUSE
        while True:
            lease = await self._durable.lease(place)
            if lease is None or not is_open(lease) or lease.owner == self._keeper.owner:
                return
            if lease.invocation_id != invocation_id:
                return
            if is_left(lease):
                await self._see_through(place, lease)
            else:
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def ensure(self, place: Place, invocation_id: str) -> list[Recovered]:
        """Run an invocation, unless that has been done or somebody is at it.

        One that was left open is gone on with; one whose message waits is begun when its turn has
        come, after what was left before it. Otherwise there is nothing to do.

        Returns:
          What was run.
        """
        done: list[Recovered] = []
        pause = _FIRST_PAUSE
        async with SESSION_LOCKS.held(self._key(place)):
            while True:
                lease = await self._durable.lease(place)
                if lease is not None and is_open(lease) and lease.invocation_id == invocation_id:
                    if is_left(lease):
                        done.append(await self._finish(place, lease))
                    return done
                message = await self._message(place, invocation_id)
                if message is None:
                    return done
                ahead = await ahead_of(self._durable, self._keeper, place, invocation_id)
                if ahead is not BUSY:
                    done.append(await self._finish(place, ahead or message))
                    if done[-1].outcome == "handed over":
                        return done
                    continue
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def is_open(self, place: Place, invocation_id: str) -> bool:
        """Tell whether an invocation waits for its turn, or has begun and not ended."""
        lease = await self._durable.lease(place)
        if lease is not None and is_open(lease) and lease.invocation_id == invocation_id:
            return True
        return await self._message(place, invocation_id) is not None

    async def _message(self, place: Place, invocation_id: str) -> InboxMessage | None:
        for message in await self._durable.messages(place):
            if message.invocation_id == invocation_id:
                return message
        return None

    async def left_open(self, app_name: str) -> list[Lease]:
        """Return the invocations of an app that were begun and that nobody runs any more."""
        return [
            lease
            for lease in await self._durable.open_leases(app_name)
            if is_left(lease) and not lease.place.session_id.startswith(HIDDEN_PREFIX)
        ]

    async def left_messages(self, app_name: str) -> list[tuple[Place, str]]:
        """Return messages of an app whose turn has come, and whose owner is known to have died
        though its time has not passed.

        Looks at the sessions in which something has waited longest.

        Returns:
          Sessions, each with the message's invocation id.
        """
        found: list[tuple[Place, str]] = []
        for place in await self._durable.waiting_places(app_name, limit=_LOOKED_AT):
            ahead = await ahead_of(self._durable, self._keeper, place, None)
            if isinstance(ahead, InboxMessage) and ahead.owner and ahead.left > 0:
                found.append((place, ahead.invocation_id))
        return found

    async def resume_open(self, app_name: str, limit: int) -> list[Recovered]:
        """Go on with everything of an app that nobody runs any more.

        Args:
          app_name: the app.
          limit: how many sessions at once.
        """
        places = {lease.place: None for lease in await self.left_open(app_name)}
        places.update(dict.fromkeys(await self._durable.waiting_places(app_name)))
        gate = asyncio.Semaphore(limit)
        async with TaskGroup() as group:
            tasks = [group.create_task(self._settle(place, gate)) for place in places]
        return [recovered for task in tasks for recovered in task.result()]

    async def _settle(self, place: Place, gate: asyncio.Semaphore) -> list[Recovered]:
        """Run everything that was left behind in one session."""
        done: list[Recovered] = []
        async with gate, SESSION_LOCKS.held(self._key(place)):
            while True:
                ahead = await ahead_of(self._durable, self._keeper, place, None)
                if ahead is None or ahead is BUSY:
                    return done
                recovered = await self._finish(place, ahead)
                done.append(recovered)
                if recovered.outcome in ("taken", "handed over"):
                    return done

    async def _see_through(self, place: Place, left: Lease | InboxMessage) -> None:
        """Have something finished for a request that waits for it, and may go away meanwhile."""
        await self._unattended.see_through(self._key(place), self._finish(place, left))

    async def _finish(
        self, place: Place, left: Lease | InboxMessage, *, own: RunRequest | None = None
    ) -> Recovered:
        """Go on with an invocation, or run a message; its errors are on record, not raised.

        A task that is cancelled meanwhile hands it over to whoever comes next.

        Args:
          own: the caller's request, where it is for this invocation: who cancels the task cancels
            that, and its deps count.
        """
        request = await self._request(place, left)
        if own is not None:
            request.deps = own.deps
        turn = self._make_turn(request, over=left)
        if own is None:
            turn.run_for_nobody()
        begun = time.monotonic()
        outcome, reason = await self._outcome(turn, left)
        if turn.stopped is not None:
            if own is not None:
                raise turn.stopped
        elif turn.kept and outcome not in ("taken", "handed over"):
            # It could not even be begun, or had been before; it is not to stand in the way.
            await self._durable.leave_message(place, request.id, keep=False)
        elif outcome == "failed" and turn.fence is None:
            with suppress(SessionBusyError, StaleSessionError, SessionNotFoundError):
                await shielded(self._park(self._make_turn(request, over=left), reason))
        invocation_id = request.invocation_id or request.id
        return Recovered(place, invocation_id, outcome, reason, time.monotonic() - begun)

    async def _outcome(self, turn: Turn, left: Lease | InboxMessage) -> tuple[Outcome, str]:
        session_id = turn.request.place.session_id
        try:
            if isinstance(left, Lease) and not was_live(left):
                reason = self._why_stuck(left, turn.digest)
                if reason:
                    turn.digest = left.digest  # or who comes next would take it for its own agents'
                    await shielded(self._park(turn, reason))
                    return "stuck", reason
                logger.warning(
                    "Going on with invocation %s in session %s, which its process left open "
                    "(attempt %d).",
                    left.invocation_id,
                    session_id,
                    left.attempts + 1,
                )
            await self._drive(turn)
        except (SessionBusyError, StaleSessionError, SessionNotFoundError) as error:
            return "handed over" if turn.handed_over else "taken", str(error)
        except MissingDepsError as error:
            if turn.fence is None:  # nothing was done yet: it waits for somebody who has them
                await shielded(self._park(self._make_turn(turn.request, over=left), str(error)))
                return "stuck", str(error)
            return "failed", str(error)
        except Exception as error:  # boundary: the error is on record; its caller is gone
            logger.exception("Invocation %s in session %s failed.", turn.invocation_id, session_id)
            return "failed", f"{type(error).__name__}: {error}"
        return "paused" if turn.paused else "finished", ""

    async def _drive(self, turn: Turn) -> None:
        """Run a turn to its end; it can be cancelled and handed over meanwhile."""
        key = self._key(turn.request.place)
        TURNS.add(key, turn)
        try:
            async with Aclosing(self._run(turn)) as events:
                async for _ in events:
                    pass
        except NothingToResumeError:
            await turn.claim()  # its process died before it had stored anything; give it back
        finally:
            TURNS.remove(key, turn)
            await turn.end(None)

    async def _request(self, place: Place, left: Lease | InboxMessage) -> RunRequest:
        message: InboxMessage | None
        if isinstance(left, Lease):
            message = await self._message(place, left.invocation_id)
        else:
            message = left
        if message is None:
            request = RunRequest(
                place, new_invocation_context_id(), None, left.invocation_id, None, self._config
            )
            request.ends_live = isinstance(left, Lease) and was_live(left)
            request.deps = self._deps
            return request
        work = Work.read(place, message.invocation_id, message.payload)
        config = self._config
        if work.metadata:
            config = config.model_copy(update={"custom_metadata": work.metadata})
        return RunRequest(
            place,
            work.invocation_id,
            work.message,
            None,
            work.state_delta,
            config,
            once=work.once,
            deps=self._deps,
        )

    def _why_stuck(self, lease: Lease, digest: str) -> str:
        if lease.attempts >= self._max_attempts:
            return (
                f"It was begun {lease.attempts} times, and each time its process ended before it "
                "did."
            )
        if lease.digest != digest:
            return (
                "The agents have changed since it was begun (their names, kinds, parents or "
                "tools), so where to go on is not known."
            )
        return ""

    async def _park(self, turn: Turn, reason: str) -> None:
        """Park an invocation, so that nobody goes on with it by itself."""
        place = turn.request.place
        turn.session = await self._store.load(place)
        if turn.kept and turn.request.message is not None:  # so that it is on record, and can go on
            content = public_message(turn.request.message)
            event = Event(author="user", invocation_id=turn.invocation_id, content=content)
            await turn.commit((event,))
        else:
            await turn.claim()
        await turn.park(reason)
        logger.error(
            "Invocation %s in session %s is stuck: %s Go on with it by run_async(invocation_id=...)"
            ", or send a new message.",
            turn.invocation_id,
            place.session_id,
            reason,
        )


def busy_error(place: Place) -> SessionBusyError:
    """Return the error for a request that does not want to wait."""
    return SessionBusyError(
        f"Another invocation runs in session {place.session_id!r}. Wait for it, or use "
        "RunConfig(on_busy='queue')."
    )
