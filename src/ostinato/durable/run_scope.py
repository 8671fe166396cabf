"""RunScope: the run that the current code is part of, for nested runs and log records.

A generator shares its context variables with its caller. So a run enters its scope for each step,
and the caller's code between two events is outside of it.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol

from .._log import CURRENT, UNKNOWN, RunMark

# Identity of the store, app name, user id, session id.
SessionKey = tuple[int, str, str, str]


class EndingTurn(Protocol):
    """The turn of a run, as its scope sees it."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        ...


class StopGuard(Protocol):
    """A block that a stop interrupts; `execution.turn.Step` is one."""

    def __enter__(self) -> Any: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> Any: ...


class SuspendableSpan(Protocol):
    """A span that is current only within a scope; `telemetry.tracing.Span` is one."""

    def resume(self) -> None: ...

    def suspend(self) -> None: ...


def is_inside(key: SessionKey) -> bool:
    """Return whether the current code is part of a run of this session."""
    run = CURRENT.get()
    if not isinstance(run, RunScope):
        return False
    return any(one.key == key and not one.is_over for one in (run, *run.around))


def is_inside_invocation(place: tuple[str, str, str], invocation_id: str) -> bool:
    """Return whether the current run is part of an invocation, through any session service.

    The run itself does not count: it may resume an invocation whose process died.

    Args:
      place: app, user and session.
      invocation_id: the invocation.
    """
    run = CURRENT.get()
    if not isinstance(run, RunScope):
        return False
    found = (one for one in run.around if one.place == place and one.own_id == invocation_id)
    return any(not one.is_over for one in found)


class RunScope:
    """Marks a block as part of a run; the block must not contain a `yield` of a generator.

    One object may mark any number of blocks, one after another.

    Args:
      key: the session that the run holds.
      invocation_id: the run, or None if unknown.
      turn: its turn: a task that outlives the run is not part of it. None if the run does not end
        within the scope.
      step: lets a stop of the run interrupt the block.
      span: the run's span, current within the block.

    Attributes:
      key: the session.
      own_id: the run, or None while it is unknown.
      around: the runs that this one is part of.
    """

    __slots__ = ("_before", "_span", "_step", "_turn", "around", "key", "own_id")

    def __init__(
        self,
        key: SessionKey,
        invocation_id: str | None = None,
        turn: EndingTurn | None = None,
        *,
        step: StopGuard | None = None,
        span: SuspendableSpan | None = None,
    ) -> None:
        self.key = key
        self.own_id = invocation_id
        self._turn = turn
        self._step = step
        self._span = span
        self._before: RunMark | None = None
        self.around: tuple[RunScope, ...] = ()

    def _read_outer(self, outer: RunMark | None) -> None:
        self._before, self.around = outer, ()
        if isinstance(outer, RunScope):
            self.around = tuple(one for one in (*outer.around, outer) if one is not self)

    @property
    def invocation_id(self) -> str:
        """The run, else the one that it is part of; `-` if both are unknown."""
        return self.own_id or (UNKNOWN if self._before is None else self._before.invocation_id)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self._turn is not None and self._turn.is_over

    @property
    def place(self) -> tuple[str, str, str]:
        """App, user and session."""
        return self.key[1:]

    def __enter__(self) -> None:
        before = CURRENT.get()
        if before is not self._before:
            self._read_outer(before)
        if self._step is not None:
            self._step.__enter__()  # raises if the run was stopped
        CURRENT.set(self)
        if self._span is not None:
            self._span.resume()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._span is not None:
            self._span.suspend()
        # Not by token: a run may be closed in another context than it started in.
        CURRENT.set(self._before)
        if self._step is not None:
            self._step.__exit__(kind, error, trace)
