"""Going on with what others left behind: open invocations and messages whose process is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from .. import context
from .._aclosing import Aclosing
from .._log import get_logger
from ..context.invocation import new_invocation_context_id
from ..durable.inbox import read_message
from ..durable.lease import LeaseKeeper
from ..durable.running import SessionKey
from ..durable.session_locks import SESSION_LOCKS
from ..errors import SessionBusyError, SessionNotFoundError, StaleSessionError
from ..events.event import Event
from ..sessions._durable_store import InboxMessage, Lease, Place
from ..sessions.base_session_service import HIDDEN_PREFIX
from .ahead import BUSY, ahead_of, is_left, is_open
from .request import RunRequest
from .store_access import StoreAccess
from .turn import Turn

logger = get_logger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.25  # seconds between looks at a session that others hold


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of an invocation that was gone on with.

    Attributes:
      place: the session.
      invocation_id: the invocation.
      outcome: `finished`, `paused` where it waits for an answer, `failed` where it raised, `stuck`
        where it was parked, `taken` where another process was faster.
      reason: the error's text, or why it was parked.
    """

    place: Place
    invocation_id: str
    outcome: Literal["finished", "paused", "failed", "stuck", "taken"]
    reason: str = ""


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
      max_attempts: how often an invocation is begun before it is parked.
      config: settings for what is run.
    """

    def __init__(
        self,
        store: StoreAccess,
        keeper: LeaseKeeper,
        *,
        make_turn: MakesTurns,
        run: Callable[[Turn], AsyncGenerator[Event, None]],
        max_attempts: int,
        config: context.RunConfig | None = None,
    ) -> None:
        assert store.durable is not None
        self._store = store
        self._durable = store.durable
        self._keeper = keeper
        self._make_turn = make_turn
        self._run = run
        self._max_attempts = max_attempts
        self._config = config or context.RunConfig()

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
                await self._finish(request.place, ahead)
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
                await self._finish(place, lease)
            else:
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def resume_open(
        self, app_name: str, key: Callable[[Place], SessionKey], limit: int
    ) -> list[Recovered]:
        """Go on with everything of an app that nobody runs any more.

        Args:
          app_name: the app.
          key: gives the key under which a session is locked in this process.
          limit: how many sessions at once.
        """
        places = {
            lease.place: None
            for lease in await self._durable.open_leases(app_name)
            if is_left(lease) and not lease.place.session_id.startswith(HIDDEN_PREFIX)
        }
        places.update(dict.fromkeys(await self._durable.waiting_places(app_name)))
        gate = asyncio.Semaphore(limit)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._settle(place, key(place), gate)) for place in places]
        return [recovered for task in tasks for recovered in task.result()]

    async def _settle(
        self, place: Place, key: SessionKey, gate: asyncio.Semaphore
    ) -> list[Recovered]:
        """Run everything that was left behind in one session."""
        done: list[Recovered] = []
        async with gate, SESSION_LOCKS.held(key):
            while True:
                ahead = await ahead_of(self._durable, self._keeper, place, None)
                if ahead is None or ahead is BUSY:
                    return done
                recovered = await self._finish(place, ahead)
                done.append(recovered)
                if recovered.outcome == "taken":
                    return done

    async def _finish(self, place: Place, left: Lease | InboxMessage) -> Recovered:
        """Go on with an invocation, or run a message; its errors are on record, not raised."""
        request = self._request(place, left)
        invocation_id = request.invocation_id or request.id
        turn = self._make_turn(request, over=left)
        try:
            if isinstance(left, Lease):
                reason = self._why_stuck(left, turn.digest)
                if reason:
                    await self._park(turn, reason)
                    return Recovered(place, invocation_id, "stuck", reason)
                logger.warning(
                    "Going on with invocation %s in session %s, which its process left open "
                    "(attempt %d).",
                    left.invocation_id,
                    place.session_id,
                    left.attempts + 1,
                )
            try:
                async with Aclosing(self._run(turn)) as events:
                    async for _ in events:
                        pass
            finally:
                await turn.end(None)
            if turn.fence is None and isinstance(left, InboxMessage):
                # Its key names an invocation that had begun already: there was nothing to run.
                await self._set_aside(place, left, "")
        except (SessionBusyError, StaleSessionError, SessionNotFoundError) as error:
            return Recovered(place, invocation_id, "taken", str(error))
        except Exception as error:  # boundary: the error is on record; its caller is gone
            logger.exception("Invocation %s in session %s failed.", invocation_id, place.session_id)
            text = f"{type(error).__name__}: {error}"
            if turn.fence is None:
                await self._set_aside(place, left, text)
            return Recovered(place, invocation_id, "failed", text)
        return Recovered(place, invocation_id, "paused" if turn.paused else "finished")

    def _request(self, place: Place, left: Lease | InboxMessage) -> RunRequest:
        if isinstance(left, Lease):
            return RunRequest(
                place, new_invocation_context_id(), None, left.invocation_id, None, self._config
            )
        message, state_delta, metadata = read_message(left.payload)
        config = self._config
        if metadata:
            config = config.model_copy(update={"custom_metadata": metadata})
        return RunRequest(
            place, left.invocation_id, message, None, state_delta, config, complete=True
        )

    async def _set_aside(self, place: Place, left: Lease | InboxMessage, reason: str) -> None:
        """Take away what could not even be begun, so that it does not stand in the way for ever."""
        if isinstance(left, InboxMessage):
            await self._durable.leave_message(place, left.invocation_id, keep=False)
        else:
            await self._park(self._make_turn(self._request(place, left), over=left), reason)

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
