"""Finishing what has begun although the caller is cancelled meanwhile: claims and seals."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def is_loop_running() -> bool:
    """Return whether an event loop runs the caller; none does once `asyncio.run` has returned."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def run_shielded(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end, however often the caller is cancelled; then let it be cancelled.

    Unlike `asyncio.shield` it does not return before the end, so that nothing comes in between.

    Args:
      work: the coroutine; it runs in a task of its own.

    Raises:
      RuntimeError: no event loop is running; the coroutine is closed.
    """
    try:
        task = asyncio.get_running_loop().create_task(work)
    except RuntimeError:  # an abandoned generator is finalized after its loop has closed
        work.close()
        raise
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # so that asyncio does not log it as never retrieved
        raise cancelled
    return task.result()
