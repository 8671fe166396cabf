"""Bridge from an async event stream to a plain generator, with a thread and an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress

from .._aclosing import Aclosing
from ..events.event import Event


def drive(start: Callable[[], AsyncGenerator[Event, None]]) -> Generator[Event, None, None]:
    """Yield the events of a run; the run pauses at each event, and ends if the caller closes.

    Args:
      start: makes the async generator in the thread's event loop.

    Raises:
      BaseException: the error of the run.
    """
    results: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    loop = asyncio.new_event_loop()
    taken = asyncio.Event()
    stopped = threading.Event()

    async def run() -> None:
        async with Aclosing(start()) as events:
            async for event in events:
                results.put(event)
                # No thread waits here: the interpreter would wait for it at its exit.
                await taken.wait()
                taken.clear()
                if stopped.is_set():
                    return

    def main() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(run())
        except BaseException as error:  # boundary: it is raised again in the caller's thread
            results.put(error)
        else:
            results.put(None)

    def go_on() -> None:
        with suppress(RuntimeError):  # the run has ended, and closed its loop
            loop.call_soon_threadsafe(taken.set)

    # In a tool, the thread is part of the tool's run; else it would wait for that run.
    inside = contextvars.copy_context()
    thread = threading.Thread(target=inside.run, args=(main,), name="ostinato-run", daemon=True)
    thread.start()
    try:
        while (item := results.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            go_on()
    finally:
        stopped.set()
        go_on()
        if not sys.is_finalizing():  # the thread stands still then
            thread.join()
