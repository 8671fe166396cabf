"""Run: the handle of an invocation in the background, which `Runner.start` gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from .._aclosing import Aclosing
from ..events.event import Event
from ..events.usage import Usage as Usage


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of an invocation.

    Attributes:
      events: all events that were yielded, partial ones left out.
      text: text of the last final response; empty where there is none.
      usage: sums over the invocation.
    """

    events: list[Event]
    text: str
    usage: Usage


class Run:
    """An invocation that runs in the background (FEATURES E.3).

    Iterate it for its events, from the first on and as often as needed, or await `result()`.

    Attributes:
      usage: sums so far.
      numbers: number of each stored event within its session, by the event's id; events of a run
        that only repeats an earlier one have none.

    Args:
      events: the events.
      stop: ends the run from inside; returns whether it was there to be ended.
      leave: has the run write nothing more, because another process goes on with it.
      numbers: filled with the number of each stored event within its session, by the event's id.
    """

    def __init__(
        self,
        events: AsyncGenerator[Event, None],
        stop: Callable[[], bool],
        leave: Callable[[], None],
        numbers: Mapping[str, int],
    ) -> None:
        self._events: list[Event] = []
        self._news = asyncio.Condition()
        self._done = False
        self._source = events
        self._stop = stop
        self._leave = leave
        self.numbers = numbers
        self.usage = Usage()
        self._task = asyncio.create_task(self._drive(), name="ostinato-run")

    async def _drive(self) -> None:
        try:
            async with Aclosing(self._source) as events:
                async for event in events:
                    self._events.append(event)
                    self.usage.count(event)
                    async with self._news:
                        self._news.notify_all()
        finally:
            self._done = True
            async with self._news:
                self._news.notify_all()

    def so_far(self) -> list[Event]:
        """Return the events that there are already."""
        return list(self._events)

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with Aclosing(self.follow(0)) as events:
            async for event in events:
                yield event
        await asyncio.shield(self._task)

    async def follow(self, start: int) -> AsyncGenerator[Event, None]:
        """Yield the events from an index on, until the run ends; raise nothing of what ended it."""
        seen = start
        while True:
            while seen < len(self._events):
                yield self._events[seen]
                seen += 1
            if self._done:
                break
            async with self._news:
                await self._news.wait_for(lambda seen=seen: seen < len(self._events) or self._done)

    async def result(self) -> RunResult:
        """Wait for the end of the run.

        Raises:
          Exception: what ended the run.
        """
        await asyncio.shield(self._task)
        complete = [e for e in self._events if not e.partial]
        return RunResult(complete, _last_text(complete), self.usage)

    async def cancel(self) -> bool:
        """Cancel the run and wait until its session is in order.

        Model call and tools are cancelled, calls without a result are answered as cancelled; a
        message that still waits for its turn is taken out. The iterators and `result` then raise
        RunCancelledError.

        Returns:
          Whether it was cancelled; False where it had ended before.
        """
        await asyncio.sleep(0)  # a run that was only just started gets to its turn first
        stopped = self._stop()
        await asyncio.wait([self._task])
        return stopped

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._task.done()

    async def hand_over(self) -> None:
        """Stop here and leave the session as it is, for another process to go on with the run.

        Where no other process reaches the store, the run is cancelled.
        """
        await asyncio.sleep(0)
        self._leave()
        self._task.cancel()
        await asyncio.wait([self._task])


def _last_text(events: list[Event]) -> str:
    for event in reversed(events):
        if event.is_final_response() and event.content is not None and event.content.parts:
            text = "".join(p.text for p in event.content.parts if p.text and not p.thought)
            if text:
                return text
    return ""
