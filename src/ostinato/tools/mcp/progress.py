"""Progress of a call: for the program's callback, and for the stream of the run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from ...context.context import Context as ToolContext
from ...events.tool_progress import ToolProgress, make_progress_event

SECONDS_BETWEEN = 0.1


class ProgressReport:
    """Reports a call's progress in the stream of its run, and to the program's callback.

    A server may send any number of notifications. The stream gets one in a tenth of a second at
    most, and none while the reader has not taken the one before.

    Args:
      tool_context: the context of the call.
      callback: `async (progress, total, message)`, or None.
    """

    def __init__(self, tool_context: ToolContext, callback: Any = None) -> None:
        self._callback = callback
        self._call_id = tool_context.function_call_id or ""
        self._due = 0.0
        kind: type = type(tool_context)
        is_mock = not issubclass(kind, ToolContext)
        self._ctx = None if is_mock else tool_context.get_invocation_context()
        relays = {} if self._ctx is None else self._ctx.run_state.relays
        self._relay = relays.get(self._call_id)

    async def note(self, done: float, total: float | None, message: str | None) -> None:
        """Report a notification of the server.

        Args:
          done: how much is done.
          total: how much there is to do, or None.
          message: what the server says about it, or None.
        """
        self._show(ToolProgress(self._call_id, done, total, message or ""))
        if self._callback is not None:
            await self._callback(done, total, message)

    def _show(self, progress: ToolProgress) -> None:
        now = asyncio.get_running_loop().time()
        if self._relay is None or self._ctx is None or now < self._due:
            return
        self._due = now + SECONDS_BETWEEN
        ctx = self._ctx
        self._relay.offer(
            make_progress_event(
                progress,
                invocation_id=ctx.invocation_id,
                author=ctx.agent.name,
                branch=ctx.branch,
            )
        )


async def find_progress_callback(callback: Any, tool: str, tool_context: ToolContext) -> Any:
    """Return the progress callback of one call; a factory makes it.

    Args:
      callback: a callback, a factory of callbacks, or None.
      tool: the tool's name.
      tool_context: the context of the call.
    """
    call: Callable[..., Any] | None = getattr(callback, "__call__", None)  # noqa: B004
    if callback is None or inspect.iscoroutinefunction(callback):
        return callback
    if inspect.iscoroutinefunction(call):
        return callback
    made = callback(tool, callback_context=tool_context)
    return await made if inspect.isawaitable(made) else made
