"""Turns of this process, running and waiting, and the guard that takes and releases them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

from .._log import get_logger
from ..durable.run_scope import SessionKey
from ..durable.session_locks import SESSION_LOCKS
from ..errors import CallerError
from ..sessions.store.durable_store import Fence
from .turn import Turn

logger = get_logger(__name__)

SUSPENDED_SECONDS = 10.0  # until a waiting request warns of a suspended run


class Turns:
    """Turns by session, in their order; thread-safe."""

    def __init__(self) -> None:
        self._turns: dict[SessionKey, list[Turn]] = {}
        self._mutex = threading.Lock()

    def add(self, key: SessionKey, turn: Turn) -> None:
        """Add a turn."""
        with self._mutex:
            turns = self._turns.setdefault(key, [])
            if turns:  # turns of a closed event loop never remove themselves
                turns[:] = [each for each in turns if not each.is_orphaned]
            turns.append(turn)

    def remove(self, key: SessionKey, turn: Turn) -> None:
        """Remove a turn, if listed."""
        with self._mutex:
            turns = self._turns.get(key, [])
            if turn in turns:
                turns.remove(turn)
                if not turns:
                    del self._turns[key]

    def stop(
        self,
        key: SessionKey,
        reason: CallerError,
        invocation_id: str | None = None,
        *,
        claimed: bool = False,
    ) -> bool:
        """Stop a turn of a session; messages that wait keep their turns, unless named.

        A turn whose event loop does not run is ended in the current one.

        Args:
          key: the session.
          reason: the error for its caller.
          invocation_id: the invocation to stop, running or waiting; None for the one that runs.
          claimed: only a turn that has claimed the session from other processes.

        Returns:
          Whether there was one.
        """
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        # One that has lost the session runs no more: its next owner is asked by the store.
        turns = [turn for turn in turns if not turn.is_lost]
        # The turn with the claim runs; a request that recovers its invocation comes before it.
        turns.sort(key=lambda turn: turn.fence is None)
        for turn in turns:
            has_claimed = turn.holds_session and not turn.unclaimed
            if invocation_id is None:
                # One that has queued no message is about to claim the session.
                matches = has_claimed or (turn.holds_session and not turn.kept)
            else:
                matches = invocation_id in (turn.invocation_id, turn.request.id)
            if matches and (has_claimed or not claimed):
                turn.stop(reason, end_here=True)
                return True
        return False

    def fence(self, key: SessionKey) -> Fence | None:
        """Return the fence of the turn that runs in a session, or None."""
        with self._mutex:
            return next((turn.fence for turn in self._turns.get(key, ()) if turn.fence), None)

    def has_accepted(self, key: SessionKey, again: Turn) -> bool:
        """Return whether an earlier turn runs the message of a turn, or waits to run it."""
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        return any(
            turn is not again
            and turn.request.id == again.request.id
            and (turn.holds_session or turn.request.config.on_busy != "reject")
            for turn in turns
        )

    def find_first(self, key: SessionKey, again: Turn) -> Turn | None:
        """Return an earlier turn under the idempotency key of a turn, or None."""
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        for turn in turns:
            if turn is again:
                return None
            if turn.request.id == again.request.id:
                return turn
        return None

    def find_suspended(self, key: SessionKey) -> tuple[Turn, int] | None:
        """Return the turn that waits for its caller, with its count of events, or None."""
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        for turn in turns:
            if turn.step.is_suspended:
                return turn, turn.step.yields
        return None

    def hand_over(self, key: SessionKey, request_id: str) -> None:
        """Mark the turn of a request as handed over; the caller then cancels its task."""
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        for turn in turns:
            if turn.request.id == request_id:
                turn.hand_over()


# All runners of a process share it and the locks.
TURNS = Turns()


class TurnGuard:
    """Waits for a session, holds it for the length of the block, and releases it.

    Args:
      key: the session.
      turn: the turn.
      on_busy: called once if another turn has the session.
    """

    __slots__ = ("_alarm", "_held", "_key", "_on_busy", "_turn")

    def __init__(
        self, key: SessionKey, turn: Turn, on_busy: Callable[[Turn], Awaitable[None]]
    ) -> None:
        self._key = key
        self._turn = turn
        self._on_busy = on_busy
        self._held = 0
        self._alarm: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Turn:
        turn = self._turn
        TURNS.add(self._key, turn)
        try:
            with turn.step:
                self._held = await SESSION_LOCKS.acquire(self._key, self._wait_begins)
        except BaseException as error:  # boundary: release a partial acquisition
            await self.__aexit__(type(error), error, None)
            raise
        finally:
            if self._alarm is not None:
                self._alarm.cancel()
        if not self._held:
            turn.join()
        turn.holds_session = True
        return turn

    async def _wait_begins(self) -> None:
        self._watch_run(None)
        await self._on_busy(self._turn)

    def _watch_run(self, before: tuple[Turn, int] | None) -> None:
        """Warn once if the run ahead has waited for its caller since the last check."""
        now = TURNS.find_suspended(self._key)
        if now is not None and now == before:
            logger.warning(
                "A request in session %s has waited %.0f s for invocation %s. Its caller has "
                "stopped reading its events: read or close the generator, or cancel the run.",
                now[0].request.place.session_id,
                SUSPENDED_SECONDS,
                now[0].invocation_id,
            )
            return
        loop = asyncio.get_running_loop()
        self._alarm = loop.call_later(SUSPENDED_SECONDS, self._watch_run, now)

    def closing(self) -> None:
        """Mark the turn as about to end, so that no request counts as nested in it."""
        SESSION_LOCKS.closing(self._key, self._held)

    def abandon(self) -> None:
        """Pass the session on although the turn has not ended; thread-safe."""
        SESSION_LOCKS.abandon(self._key, self._held)

    async def leave(self, error: BaseException | None) -> None:
        """Release the session; idempotent.

        Args:
          error: the error that ended the turn, or None.
        """
        try:
            await self._turn.end(error)
        finally:
            held, self._held = self._held, 0
            if held:
                SESSION_LOCKS.release(self._key, held)
            TURNS.remove(self._key, self._turn)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self.leave(error)
