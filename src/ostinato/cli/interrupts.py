"""Ctrl-C during commands that run an agent."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")
_STDERR = 2
_NOTICE = b"\nStopping after the running step; press Ctrl-C again to end at once.\n"


def run_interruptibly(work: Coroutine[Any, Any, _T]) -> _T:
    """Run work in an event loop; the first Ctrl-C cancels it and says so at once.

    Args:
      work: the work.

    Returns:
      What the work returns.

    Raises:
      KeyboardInterrupt: the work was cancelled, or Ctrl-C was pressed a second time.
    """
    return asyncio.run(_announce_cancellation(work))


async def _announce_cancellation(work: Coroutine[Any, Any, _T]) -> _T:
    cancel: Any = signal.getsignal(signal.SIGINT)  # asyncio's: cancels, then raises
    pressed = False

    # A handler of the event loop would not run while the agent's code blocks the loop.
    def press(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if not pressed:
            with suppress(OSError):  # it may be closed
                os.write(_STDERR, _NOTICE)  # print() may be what the signal interrupted
        pressed = True
        cancel(number, frame)

    if not callable(cancel):  # a process in the background ignores the signal
        return await work
    with on_interrupt(press):
        return await work


@contextmanager
def on_interrupt(handler: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Handle Ctrl-C within a block.

    Args:
      handler: called with the signal and the frame, even while the event loop is blocked.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers of signals
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
