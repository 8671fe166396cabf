"""Time and event loops that go on only when they are told to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class SteppedLoop(asyncio.SelectorEventLoop):
    """An event loop that runs one turn at a time, by a clock of the test's.

    Args:
      clock: the time, in seconds.

    Attributes:
      clock: the time.
      shut: whether it is closed for all that use it, although it can still be dropped.
      tasks: those that the machine asks for.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.shut = False
        super().__init__()
        self.tasks: set[asyncio.Task[Any]] = set()

    def time(self) -> float:
        return self.clock.now

    def is_closed(self) -> bool:
        return self.shut or super().is_closed()

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
        if self.shut:
            raise RuntimeError("Event loop is closed")
        return super().call_soon_threadsafe(callback, *args, context=context)

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task; the machine asks for its result."""
        task = self.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def step(self) -> None:
        """Run what is ready now, once."""
        self.call_soon(self.stop)
        self.run_forever()

    @property
    def busy(self) -> bool:
        return bool(self.tasks)

    def drop(self) -> None:
        """Take down the tasks of a process that is dead; its store takes nothing any more."""
        self.shut = False
        self.set_exception_handler(lambda *_: None)
        for _ in range(200):
            left = asyncio.all_tasks(self)
            if not left:
                break
            for task in left:
                task.cancel()
            self.step()
        assert not asyncio.all_tasks(self), "a dead process goes on"
        with contextlib.suppress(BaseException):
            self.run_until_complete(self.shutdown_asyncgens())
        self.close()
