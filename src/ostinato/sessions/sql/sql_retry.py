"""Retries of SQL transactions: when, how often and after which pause."""

from __future__ import annotations

import random
import time

# Not the module's own numbers, which belong to the program: this is used from other threads.
_CHANCE = random.Random()
_TRIES = 12  # of a transaction that met another one
_PAUSE = 0.05  # seconds at most before the second of them; longer before each later one
_LONGEST_PAUSE = 1.0  # seconds at most between two tries to reach the server


class Phase:
    """How far one try of a transaction has come.

    Attributes:
      is_committing: whether its COMMIT may have reached the server.
    """

    __slots__ = ("is_committing",)

    def __init__(self) -> None:
        self.is_committing = False


class Retry:
    """Pauses between the tries of one transaction; each kind of trouble has a bound of its own.

    Args:
      reconnect_seconds: for how long to try again after the first loss of a connection.
    """

    __slots__ = ("_conflicts", "_losses", "_reconnect_seconds", "_until")

    def __init__(self, reconnect_seconds: float) -> None:
        self._reconnect_seconds = reconnect_seconds
        self._conflicts = self._losses = 0
        self._until: float | None = None

    def pause_after_conflict(self) -> float | None:
        """Return the seconds to wait after another transaction was in the way; None to give up."""
        self._conflicts += 1
        if self._conflicts == _TRIES:
            return None
        return _CHANCE.random() * _PAUSE * self._conflicts

    def pause_after_loss(self) -> float | None:
        """Return the seconds to wait after a connection was lost; None to give up.

        The pause doubles up to a second; jitter keeps processes from coming back all at once.
        """
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._reconnect_seconds
        if now >= self._until:
            return None
        pause = min(_LONGEST_PAUSE, _PAUSE * 2**self._losses)
        self._losses += 1
        return min(pause * _CHANCE.uniform(0.5, 1.0), self._until - now)
