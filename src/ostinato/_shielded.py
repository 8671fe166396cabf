"""Finishing what has begun although the caller is cancelled meanwhile: claims and seals."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def shielded(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end, however often the caller is cancelled; then let it be cancelled.

    Unlike `asyncio.shield` it does not return before the end, so that nothing comes in between.

    Args:
      work: the coroutine; it runs in a task of its own.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # so that nobody reports it as unseen
        raise cancelled
    return task.result()
