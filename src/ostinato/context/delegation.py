"""Runs of one agent inside the run of another that called it: their place, and how their events get
out of a tool call. The delegating tools and the flow use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Generic, TypeVar

from .. import types
from .._aclosing import Aclosing
from ..events.event import Event, NodeInfo
from .invocation import InvocationContext

T = TypeVar("T")


def branch_of_call(outer: str | None, agent_name: str, call_id: str) -> str:
    """Return the branch of an agent that a call delegates to: no two calls share one.

    Args:
      outer: branch of the agent that made the call.
      agent_name: the agent that is called.
      call_id: id of the call.
    """
    own = f"{agent_name}@{call_id}"
    return f"{outer}.{own}" if outer else own


def delegated(
    ctx: InvocationContext, agent: Any, call_id: str, told: types.Content
) -> InvocationContext:
    """Return the context in which a called agent runs: in the same session, in a scope of its own.

    Args:
      ctx: the run of the agent that made the call.
      agent: the agent that is called.
      call_id: id of the call, which becomes the isolation scope.
      told: what the agent is told: the first content that its model sees.
    """
    ctx.ports.told[call_id] = told
    return ctx.model_copy(
        update={
            "agent": agent,
            "branch": branch_of_call(ctx.branch, agent.name, call_id),
            "isolation_scope": call_id,
            # What the user said meanwhile was said to this agent.
            "user_content": ctx.user_content if call_id in ctx.log.scopes else told,
        }
    )


async def in_scope(
    events: AsyncGenerator[Event, None], scope: str | None, path: str | None = None
) -> AsyncGenerator[Event, None]:
    """Yield the events of a delegated run, each marked as one of its scope.

    Args:
      events: the events.
      scope: the scope.
      path: within a graph: where the run is; None where its node says so.
    """
    async with Aclosing(events):
        async for event in events:
            if event.isolation_scope is None:
                event.isolation_scope = scope
            if path is not None and not event.node_info.path:
                event.node_info = NodeInfo(
                    path=path, output_for=None if event.output is None else [path]
                )
            yield event


class Relay(Generic[T]):
    """Passes on the events of runs that go on inside a piece of work, such as tool calls.

    The piece of work is a coroutine and can yield nothing itself. Each run goes on only when its
    event was taken, so that the event is committed by then.

    Attributes:
      result: what the work returned, once `events` has ended.
    """

    result: T

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Event, asyncio.Event] | None] = asyncio.Queue()

    async def send(self, event: Event) -> None:
        """Hand on an event; return when it was taken."""
        taken = asyncio.Event()
        self._queue.put_nowait((event, taken))
        await taken.wait()

    async def events(self, work: Coroutine[Any, Any, T]) -> AsyncGenerator[Event, None]:
        """Do the work and yield what is sent meanwhile.

        Raises:
          Exception: what the work raises.
        """
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._queue.put_nowait(None))
        try:
            while True:
                item = await self._queue.get()
                if item is None:
                    break
                event, taken = item
                yield event
                taken.set()
            self.result = task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
