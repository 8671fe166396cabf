"""The turns of this process: those that run and those that wait, so that they can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from ..durable.running import SessionKey
from ..errors import CallerError
from .turn import Turn


class Turns:
    """Turns by session, in the order they came; safe to use from several threads."""

    def __init__(self) -> None:
        self._turns: dict[SessionKey, list[Turn]] = {}
        self._mutex = threading.Lock()

    @contextmanager
    def listed(self, key: SessionKey, turn: Turn) -> Generator[None]:
        """List a turn for the length of the block."""
        with self._mutex:
            self._turns.setdefault(key, []).append(turn)
        try:
            yield
        finally:
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
        for turn in turns:
            if invocation_id in (None, turn.invocation_id, turn.request.id):
                turn.stop(reason)
                return True
        return False


# All runners of a process share it, as they share the locks.
TURNS = Turns()
