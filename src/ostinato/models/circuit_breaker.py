"""CircuitBreaker: leaves a model alone that keeps failing. FallbackModel asks it before it asks a
model.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable

from pydantic import BaseModel, ConfigDict, Field

from . import _waiting


class CircuitBreaker(BaseModel):
    """When a model is left alone, and for how long.

    Attributes:
      failures: failed requests within `window` after which it is; 0 switches this off.
      window: seconds.
      cooldown: seconds until one request is let through, to see whether the model answers again.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    failures: int = Field(default=5, ge=0)
    window: float = Field(default=60.0, gt=0)
    cooldown: float = Field(default=30.0, ge=0)


class Circuit:
    """How a model has done of late."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # the process's event loops share it
        self._failures: deque[float] = deque()
        self._opened: float | None = None
        self._probing = False

    def admits(self, breaker: CircuitBreaker) -> float:
        """Return 0 where the model may be asked, else the seconds until it may.

        Where it has been left alone for long enough, the first to ask becomes the probe; it has to
        tell how that went, by `succeeded`, `failed` or `released`.
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

    def succeeded(self) -> None:
        """The model answered."""
        with self._lock:
            self._failures.clear()
            self._opened, self._probing = None, False

    def failed(self, breaker: CircuitBreaker) -> bool:
        """The model failed; return whether it is left alone from now on."""
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

    def released(self) -> None:
        """The request was given up, or refused for its own sake: that says nothing of the model."""
        with self._lock:
            self._probing = False


def circuit_of(key: Hashable) -> Circuit:
    """Return the process's circuit for a provider's model."""
    with _lock:
        return _circuits.setdefault(key, Circuit())


_lock = threading.Lock()
_circuits: dict[Hashable, Circuit] = {}
