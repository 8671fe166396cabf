"""Run: the handle of a background invocation, returned by `Runner.start`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

from .._aclosing import Aclosing
from ..agents.agent_run_result import Usage as Usage
from ..errors import RunHandedOverError, ToolAbortedError
from ..events.event import Event


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of an invocation.

    Attributes:
      events: all events that were yielded, partial ones left out.
      text: text of the last final response, or empty.
      usage: sums over the invocation.
    """

    events: list[Event]
    text: str
    usage: Usage


class Run:
    """An invocation that runs in the background (FEATURES E.3).

    Iterate it for its events, from the first on and as often as needed, or await `result()`.

    Attributes:
      usage: tokens and calls counted so far.
      numbers: number of each stored event within its session, by the event's id; events of a run
        that only repeats an earlier one have none.

    Args:
      events: the events.
      stop: stops the run; returns whether it still ran.
      leave: stops all writes of the run, so that another process can resume it.
      numbers: filled with the number of each stored event within its session, by the event's id.
      accepted: done once the message is stored, in the log or in the session's inbox.
      release: releases the session if it is still held; takes the error that ended the run.
    """

    def __init__(
        self,
        events: AsyncGenerator[Event, None],
        stop: Callable[[], bool],
        leave: Callable[[], None],
        numbers: Mapping[str, int],
        accepted: asyncio.Future[None],
        release: Callable[[BaseException], Awaitable[None]],
    ) -> None:
        self._events: list[Event] = []
        self._news = asyncio.Condition()
        self._done = False
        self._left = False
        self._source = events
        self._stop = stop
        self._leave = leave
        self._accepted = accepted
        self._release = release
        self.numbers = numbers
        self.usage = Usage()
        self._task = asyncio.create_task(self._read_events(), name="ostinato-run")

    async def _read_events(self) -> None:
        try:
            async with Aclosing(self._source) as events:
                async for event in events:
                    self._events.append(event)
                    self.usage.count(event)
                    async with self._news:
                        self._news.notify_all()
        except (
            BaseException
        ) as error:  # boundary: a generator that cannot be closed must not hold the session
            if asyncio.current_task() is not self._task:
                raise  # the coroutine itself is closed and cannot await
            await self._release(error)
            if isinstance(error, GeneratorExit) or isinstance(error.__context__, GeneratorExit):
                raise ToolAbortedError("The run was ended by a GeneratorExit.") from error
            raise
        finally:
            self._done = True
            async with self._news:
                self._news.notify_all()

    def so_far(self) -> list[Event]:
        """Return the events up to now."""
        return list(self._events)

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with Aclosing(self.follow(0)) as events:
            async for event in events:
                yield event
        await self._wait_for_end()

    async def _wait_for_end(self) -> None:
        """Wait for the end of the run, and raise its error.

        An error that would cancel the caller or end its program is raised as ToolAbortedError.

        Raises:
          RunHandedOverError: `hand_over` has ended it here.
        """
        await asyncio.wait([self._task])
        if self._task.cancelled():
            if self._left:
                raise RunHandedOverError("The run is handed over; another process resumes it.")
            raise ToolAbortedError(
                "Code of the agent cancelled the run, for instance with "
                "asyncio.current_task().cancel(). Raise an exception instead."
            )
        error = self._task.exception()
        if error is not None and not isinstance(error, Exception):
            raise ToolAbortedError(
                f"The run was ended by {type(error).__name__:.100}, which is not an Exception and "
                "would end the program. Raise an Exception with a message instead."
            ) from error
        if error is not None:
            raise error

    async def follow(self, start: int) -> AsyncGenerator[Event, None]:
        """Yield the events from an index on until the run ends; do not raise its error."""
        seen = start
        while True:
            while seen < len(self._events):
                yield self._events[seen]
                seen += 1
            if self._done:
                break
            async with self._news:
                await self._news.wait_for(lambda seen=seen: seen < len(self._events) or self._done)

    async def wait_until_accepted(self) -> None:
        """Wait until the message is stored: in the log, or behind others in the session's inbox.

        Raises:
          Exception: the error that ended the run before that.
        """
        await asyncio.wait([self._task, self._accepted], return_when=asyncio.FIRST_COMPLETED)
        if not self._accepted.done():
            await self._wait_for_end()

    async def result(self) -> RunResult:
        """Wait for the end of the run.

        Raises:
          ToolAbortedError: code of the agent cancelled the run, or raised a BaseException.
          RunHandedOverError: `hand_over` was called.
          Exception: the error that ended the run.
        """
        await self._wait_for_end()
        complete = [e for e in self._events if not e.partial]
        return RunResult(complete, _last_text(complete), self.usage)

    async def cancel(self) -> bool:
        """Cancel the run and wait until it is sealed.

        Model call and tools are cancelled, calls without a result are answered as cancelled, and a
        queued message is removed. The iterators and `result` then raise RunCancelledError. A run
        that other callers of this process follow under the same idempotency key continues.

        Returns:
          Whether it was cancelled; False if it had ended before.
        """
        await asyncio.sleep(0)  # a run that just started reaches its turn first
        stopped = self._stop()
        await asyncio.wait([self._task])
        return stopped

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._task.done()

    async def hand_over(self) -> None:
        """Stop here without sealing, so that another process resumes the run.

        If no other process reaches the store, the run is cancelled.
        """
        await asyncio.sleep(0)
        self._left = True
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
