"""Which runs the current code is part of: for nested runs of one session, and for log records.

A generator shares its context variables with whoever iterates it. So a run sets them around each
step of its own, and the caller's code between two events does not see them.
"""

from __future__ import annotations

from contextvars import ContextVar

from .._log import INVOCATION_ID

# Identity of the store, app name, user id, session id.
SessionKey = tuple[int, str, str, str]

_inside: ContextVar[frozenset[SessionKey]] = ContextVar("ostinato_inside", default=frozenset())


def is_inside(key: SessionKey) -> bool:
    """Tell whether the current code is part of a run of this session."""
    return key in _inside.get()


class inside:
    """Marks a block as part of a run; there may be no `yield` of a generator in it.

    One object may mark any number of blocks, one after another.

    Args:
      key: the session that the run holds.
      invocation_id: the run; unknown yet where None.
    """

    __slots__ = ("_held", "_invocation_id", "_key", "_named")

    def __init__(self, key: SessionKey, invocation_id: str | None = None) -> None:
        self._key = key
        self._invocation_id = invocation_id
        self._held: frozenset[SessionKey] = frozenset()
        self._named = ""

    def __enter__(self) -> None:
        self._held, self._named = _inside.get(), INVOCATION_ID.get()
        _inside.set(self._held | {self._key})
        INVOCATION_ID.set(self._invocation_id or self._named)

    def __exit__(self, *_: object) -> None:
        # Not by token: a run may be closed in another context than the one it began in.
        _inside.set(self._held)
        INVOCATION_ID.set(self._named)
