"""Retries of requests to Google's REST services, and the wait for their long-running operations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

FIRST_WAIT_S = 0.5
_LONGEST_POLL_S = 10.0
# Statuses that pass by themselves. The first two say that nothing was done.
NOTHING_DONE = frozenset((429, 503))
PASSING = frozenset((*NOTHING_DONE, 408, 500, 502, 504))


class OperationError(Exception):
    """A long-running operation cannot be waited for; the message says what the service did."""


async def pause(seconds: float) -> None:
    """Wait; the one place, so that a test can put its own in place."""
    await asyncio.sleep(seconds)


async def poll_operation(
    operation: dict[str, Any],
    ask: Callable[[str], Awaitable[dict[str, Any]]],
    *,
    seconds: float,
) -> dict[str, Any]:
    """Return a long-running operation when it has ended.

    Args:
      operation: the operation, as the service answered.
      ask: asks for an operation by its name.
      seconds: how long to wait.

    Raises:
      OperationError: it did not end in time, or the service did not name it.
    """
    waited, wait = 0.0, FIRST_WAIT_S
    while not operation.get("done"):
        if waited >= seconds:
            raise OperationError(f"did not finish {operation.get('name')!r} within {seconds:g} s.")
        await pause(wait)
        waited, wait = waited + wait, min(2 * wait, _LONGEST_POLL_S)
        name = operation.get("name")
        if not isinstance(name, str) or not name:
            raise OperationError("answered with a long-running operation that has no name.")
        operation = await ask(name)
    return operation
