"""Bridge from an async event stream to a plain generator, with a thread and an event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator

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
    taken = threading.Semaphore(0)
    stopped = threading.Event()

    async def run() -> None:
        async with Aclosing(start()) as events:
            async for event in events:
                results.put(event)
                await asyncio.to_thread(taken.acquire)
                if stopped.is_set():
                    return

    def main() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # boundary: it is raised again in the caller's thread
            results.put(error)
        else:
            results.put(None)

    thread = threading.Thread(target=main, name="ostinato-run", daemon=True)
    thread.start()
    try:
        while (item := results.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
            taken.release()
    finally:
        stopped.set()
        taken.release()
        thread.join()
