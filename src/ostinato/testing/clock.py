"""A fixed clock and sequential ids, for tests with reproducible output.

Install them with `ostinato._clock.replace_sources`, or use the fixtures `frozen_clock` and
`sequential_ids`.
"""

from __future__ import annotations


class FrozenClock:
    """A source of time that moves only when told to.

    Attributes:
      time: seconds since 1970.
    """

    __slots__ = ("time",)

    def __init__(self, time: float = 1_767_225_600.0) -> None:
        """Set the clock; by default to 2026-01-01 00:00 UTC."""
        self.time = time

    def __call__(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        """Move the clock forward by `seconds`."""
        self.time += seconds


class SequentialIds:
    """A source of ids that counts up from one, in the form of a version 4 UUID."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"00000000-0000-4000-8000-{self.count:012d}"
