"""Counts of failures in a row, by scope and by what failed; the plugins that retry share them."""

from __future__ import annotations

import threading
from enum import Enum

GLOBAL_SCOPE = "__global_reflect_and_retry_scope__"
# Failures in a row by the name of a tool.
PerToolFailuresCounter = dict[str, int]


class TrackingScope(Enum):
    """What shares one count of failures: each run by itself, or all runs of the plugin."""

    INVOCATION = "invocation"
    GLOBAL = "global"


class FailureCounts:
    """Failures in a row. May be used from several threads and event loops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, dict[str, int]] = {}

    def add(self, scope: str, name: str) -> int:
        """Count a failure of `name` and return how many there are in a row."""
        with self._lock:
            counts = self._counts.setdefault(scope, {})
            counts[name] = counts.get(name, 0) + 1
            return counts[name]

    def reset(self, scope: str, name: str) -> None:
        """Forget the failures of `name`, which has succeeded."""
        with self._lock:
            self._counts.get(scope, {}).pop(name, None)

    def drop(self, scope: str) -> None:
        """Forget a scope that has ended."""
        with self._lock:
            self._counts.pop(scope, None)


def checked_retries(plugin: str, max_retries: int) -> int:
    """Return a number of retries.

    Raises:
      ValueError: it is negative.
    """
    if max_retries < 0:
        raise ValueError(
            f"{plugin}: max_retries is {max_retries}, but must be a non-negative integer."
        )
    return max_retries
