"""Which runs the current code is part of: for nested runs of one session, and for log records.

A generator shares its context variables with whoever iterates it. So a run sets them around each
step of its own, and the caller's code between two events does not see them.
"""

from __future__ import annotations

from .._log import CURRENT

# Identity of the store, app name, user id, session id.
SessionKey = tuple[int, str, str, str]


def is_inside(key: SessionKey) -> bool:
    """Tell whether the current code is part of a run of this session."""
    run = CURRENT.get()
    return isinstance(run, inside) and key in run.keys


class inside:
    """Marks a block as part of a run; there may be no `yield` of a generator in it.

    One object may mark any number of blocks, one after another.

    Args:
      key: the session that the run holds.
      invocation_id: the run; unknown yet where None.

    Attributes:
      keys: the sessions of this run and of those that it is part of.
      invocation_id: the run, else the one that it is part of; `-` where neither is known.
    """

    __slots__ = ("_before", "_key", "_own_id", "invocation_id", "keys")

    def __init__(self, key: SessionKey, invocation_id: str | None = None) -> None:
        self._key = key
        self._own_id = invocation_id
        self._before = CURRENT.get()
        self.keys: frozenset[SessionKey] = frozenset()
        self.invocation_id = ""
        self._read()

    def _read(self) -> None:
        outer, own = self._before, frozenset((self._key,))
        self.keys = outer.keys | own if isinstance(outer, inside) else own
        self.invocation_id = self._own_id or ("-" if outer is None else outer.invocation_id)

    def __enter__(self) -> None:
        before = CURRENT.get()
        if before is not self._before:
            self._before = before
            self._read()
        CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        # Not by token: a run may be closed in another context than the one it began in.
        CURRENT.set(self._before)
