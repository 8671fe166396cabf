"""The turns of this process: those that run and those that wait, so that they can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

from ..durable.running import SessionKey
from ..durable.session_locks import SESSION_LOCKS
from ..errors import CallerError
from ..sessions._durable_store import Fence
from .turn import Turn


class Turns:
    """Turns by session, in the order they came; safe to use from several threads."""

    def __init__(self) -> None:
        self._turns: dict[SessionKey, list[Turn]] = {}
        self._mutex = threading.Lock()

    def add(self, key: SessionKey, turn: Turn) -> None:
        """List a turn."""
        with self._mutex:
            self._turns.setdefault(key, []).append(turn)

    def remove(self, key: SessionKey, turn: Turn) -> None:
        """Take a turn off the list."""
        with self._mutex:
            turns = self._turns[key]
            turns.remove(turn)
            if not turns:
                del self._turns[key]

    def stop(self, key: SessionKey, reason: CallerError, invocation_id: str | None = None) -> bool:
        """Stop the turn that runs in a session, or the one of an invocation.

        Returns:
          Whether there was one.
        """
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        # Who has claimed the session runs; a request that has that one finished came before it.
        turns.sort(key=lambda turn: turn.fence is None)
        for turn in turns:
            if invocation_id in (None, turn.invocation_id, turn.request.id):
                turn.stop(reason)
                return True
        return False

    def fence(self, key: SessionKey) -> Fence | None:
        """Return the fence under which a session runs here; None where it has none."""
        with self._mutex:
            return next((turn.fence for turn in self._turns.get(key, ()) if turn.fence), None)

    def hand_over(self, key: SessionKey, request_id: str) -> None:
        """Mark the turn of a request as handed over, whose task is then to be cancelled."""
        with self._mutex:
            turns = list(self._turns.get(key, ()))
        for turn in turns:
            if turn.request.id == request_id:
                turn.hand_over()


# All runners of a process share it, as they share the locks.
TURNS = Turns()


class InTurn:
    """Waits for a turn in this process, holds the session for the length of the block, and gives it
    back.

    Args:
      key: the session.
      turn: the turn.
      on_busy: called once where another turn has the session.
    """

    __slots__ = ("_held", "_key", "_on_busy", "_turn")

    def __init__(
        self, key: SessionKey, turn: Turn, on_busy: Callable[[Turn], Awaitable[None]]
    ) -> None:
        self._key = key
        self._turn = turn
        self._on_busy = on_busy
        self._held = False

    async def __aenter__(self) -> Turn:
        turn = self._turn
        TURNS.add(self._key, turn)
        try:
            with turn.step:
                self._held = await SESSION_LOCKS.acquire(self._key, lambda: self._on_busy(turn))
        except BaseException as error:  # boundary: what never came is given back
            await self.__aexit__(type(error), error, None)
            raise
        if not self._held:
            turn.join()
        return turn

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            await self._turn.end(error)
        finally:
            if self._held:
                SESSION_LOCKS.release(self._key)
            TURNS.remove(self._key, self._turn)
