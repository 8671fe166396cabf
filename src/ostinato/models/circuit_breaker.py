"""Circuit breakers, which stop FallbackModel from calling a model that keeps failing."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable

from pydantic import BaseModel, ConfigDict, Field

from . import _waiting


class CircuitBreaker(BaseModel):
    """When to stop calling a failing model, and for how long.

    Attributes:
      failures: failed requests within `window` that open the circuit; 0 disables it.
      window: seconds in which failures are counted.
      cooldown: seconds until one request is let through as a probe.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    failures: int = Field(default=5, ge=0)
    window: float = Field(default=60.0, gt=0)
    cooldown: float = Field(default=30.0, ge=0)


class Circuit:
    """The recent failures of a model, and whether it may be called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # the process's event loops share it
        self._failures: deque[float] = deque()
        self._opened: float | None = None
        self._probing = False

    def admits(self, breaker: CircuitBreaker) -> float:
        """Return 0 if the model may be called, else the seconds until it may.

        After the cooldown, the first caller becomes the probe. It has to report the outcome with
        `record_success`, `record_failure` or `release`.
        """
        with self._lock:
            if self._opened is None or not breaker.failures:
                return 0.0
            left = self._opened + breaker.cooldown - _waiting.now()
            if left > 0:
                return left
            if self._probing:
                return max(breaker.cooldown, 0.001)
            self._probing = True
            return 0.0

    def record_success(self) -> None:
        """Close the circuit, because the model answered."""
        with self._lock:
            self._failures.clear()
            self._opened, self._probing = None, False

    def record_failure(self, breaker: CircuitBreaker) -> bool:
        """Record a failure; return whether it opened the circuit."""
        with self._lock:
            now = _waiting.now()
            self._failures.append(now)
            while self._failures[0] <= now - breaker.window:
                self._failures.popleft()
            if not breaker.failures:
                return False
            if not self._probing and len(self._failures) < breaker.failures:
                return False
            was_open = self._opened is not None and not self._probing
            self._opened, self._probing = now, False
            return not was_open

    def release(self) -> None:
        """End a probe without an outcome: the request was cancelled, or was itself at fault."""
        with self._lock:
            self._probing = False


def circuit_of(key: Hashable) -> Circuit:
    """Return the process's circuit for a provider's model."""
    with _lock:
        return _circuits.setdefault(key, Circuit())


_lock = threading.Lock()
_circuits: dict[Hashable, Circuit] = {}
