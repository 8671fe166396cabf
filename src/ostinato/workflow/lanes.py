"""Lanes: async generators that run side by side, each of which continues only when its event was
taken, so that an event is committed before its maker sees the next line.

Graphs, nodes that run other nodes, and ParallelAgent read from lanes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Hashable
from typing import Generic, NamedTuple, TypeVar

from .._aclosing import Aclosing
from ..events.event import Event

K = TypeVar("K", bound=Hashable)


class Step(NamedTuple, Generic[K]):
    """What came out of a lane: an event, or its end.

    Attributes:
      key: which lane.
      event: the event; None at the end.
      error: what ended the lane, where it raised.
    """

    key: K
    event: Event | None
    error: BaseException | None = None


class Lanes(Generic[K]):
    """A changing number of generators, read as one stream."""

    __slots__ = ("_queue", "_taken", "_tasks")

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Step[K], asyncio.Future[None] | None]] = asyncio.Queue()
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._taken: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    def start_lane(self, key: K, run: AsyncGenerator[Event, None]) -> None:
        """Start a generator in a lane of its own."""
        self._tasks[key] = asyncio.create_task(self._drain_run(key, run))

    async def next_step(self) -> Step[K]:
        """Return the next step of any lane; this takes the step before it."""
        if self._taken is not None:
            if not self._taken.done():
                self._taken.set_result(None)
            self._taken = None
        step, self._taken = await self._queue.get()
        if step.event is None:
            self._tasks.pop(step.key, None)
        return step

    async def stop_lane(self, key: K) -> None:
        """Cancel one lane and close its generator; its end is not told."""
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def aclose(self) -> None:
        """Cancel all lanes and close their generators."""
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain_run(self, key: K, run: AsyncGenerator[Event, None]) -> None:
        error: BaseException | None = None
        try:
            async with Aclosing(run) as events:
                async for event in events:
                    if key not in self._tasks:
                        return  # stopped, so no caller takes its last step
                    taken = asyncio.get_running_loop().create_future()
                    self._queue.put_nowait((Step(key, event), taken))
                    await taken
        except asyncio.CancelledError:
            raise
        except BaseException as raised:  # boundary: the reader of the lanes gets it
            error = raised
        finally:
            self._queue.put_nowait((Step(key, None, error), None))
