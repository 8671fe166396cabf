"""Which runs the current code is part of: for nested runs of one session, and for log records.

A generator shares its context variables with whoever iterates it. So a run sets them around each
step of its own, and the caller's code between two events does not see them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from .._log import INVOCATION_ID

T = TypeVar("T")

# Identity of the store, app name, user id, session id.
SessionKey = tuple[int, str, str, str]

_inside: ContextVar[frozenset[SessionKey]] = ContextVar("ostinato_inside", default=frozenset())


def is_inside(key: SessionKey) -> bool:
    """Tell whether the current code is part of a run of this session."""
    return key in _inside.get()


@contextmanager
def inside(key: SessionKey, invocation_id: str | None = None) -> Generator[None]:
    """Mark the block as part of a run; there may be no `yield` of a generator in it."""
    held, named = _inside.get(), INVOCATION_ID.get()
    _inside.set(held | {key})
    INVOCATION_ID.set(invocation_id or named)
    try:
        yield
    finally:
        # Not by token: a run may be closed in another context than the one it began in.
        _inside.set(held)
        INVOCATION_ID.set(named)


async def each_inside(
    events: AsyncGenerator[T, None], key: SessionKey, invocation_id: str
) -> AsyncGenerator[T, None]:
    """Yield what `events` yields, and close it; only its own code is marked as part of the run."""
    try:
        while True:
            held, named = _inside.get(), INVOCATION_ID.get()
            _inside.set(held | {key})
            INVOCATION_ID.set(invocation_id)
            try:
                event = await anext(events, None)
            finally:
                _inside.set(held)
                INVOCATION_ID.set(named)
            if event is None:
                return
            yield event
    finally:
        with inside(key, invocation_id):
            await events.aclose()
