"""Delegated runs: the context of a called agent, and the relay of its events out of a tool call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Generic, TypeVar

from .. import types
from .._aclosing import Aclosing
from ..events.event import Event, NodeInfo
from ..types.content import extract_text_from_content
from .invocation import InvocationContext
from .run_path import path_of_called

T = TypeVar("T")


def branch_of_call(outer: str | None, agent_name: str, call_id: str) -> str:
    """Return the branch of a called agent, unique per call.

    Args:
      outer: branch of the agent that made the call.
      agent_name: the agent that is called.
      call_id: id of the call.
    """
    own = f"{agent_name}@{call_id}"
    return f"{outer}.{own}" if outer else own


def make_delegated_context(
    ctx: InvocationContext, agent: Any, call_id: str, told: types.Content
) -> InvocationContext:
    """Return the context of a called agent: the same session, a scope of its own.

    Args:
      ctx: the run of the agent that made the call.
      agent: the agent that is called.
      call_id: id of the call, which becomes the isolation scope.
      told: the first content for the agent's model.
    """
    ctx.run_state.initial_prompts[call_id] = told
    return ctx.model_copy(
        update={
            "agent": agent,
            "branch": branch_of_call(ctx.branch, agent.name, call_id),
            "isolation_scope": call_id,
            "run_path": path_of_called(ctx, agent),
            # Newer messages of the user were for this agent.
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
      path: path of the run within a graph, or None if its node sets it.
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


def is_last_word(event: Event, scope: str | None) -> bool:
    """Return whether an event is the final answer of a called agent: text without calls.

    Args:
      event: the event.
      scope: isolation scope of the agent's run.
    """
    if event.partial or event.isolation_scope != scope or event.error_code:
        return False
    return (
        bool(extract_text_from_content(event.content).strip())
        and event.is_final_response()
        and not event.get_function_calls()
    )


class Relay(Generic[T]):
    """Relays the events of runs inside a coroutine, such as a tool call.

    A coroutine cannot yield them itself. Each run continues only when its event was taken, so that
    the event is committed by then.

    Attributes:
      result: the result of the coroutine, once `events` has ended.
    """

    result: T

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[Event, asyncio.Event] | None] = asyncio.Queue()
        self._offered: asyncio.Event | None = None

    async def send(self, event: Event) -> None:
        """Relay an event; return when it was taken."""
        taken = asyncio.Event()
        self._queue.put_nowait((event, taken))
        await taken.wait()

    def offer(self, event: Event) -> None:
        """Relay an event without waiting; drop it if the one offered before was not taken yet."""
        if self._offered is None or self._offered.is_set():
            self._offered = asyncio.Event()
            self._queue.put_nowait((event, self._offered))

    async def events(self, work: Coroutine[Any, Any, T]) -> AsyncGenerator[Event, None]:
        """Run the work and yield the events sent meanwhile.

        Raises:
          Exception: an error of the work.
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
