"""RunnableNode: `agent.run(...)` and `agent.run_sync(...)`, without runner, service or session.

Agents may not import the runner, so its class is a text that the first run imports.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, overload

from .. import _lazy, types
from .._aclosing import Aclosing
from ..context.deps import NOT_GIVEN
from ..context.node import BaseNode
from ..context.run_config import RunConfig
from ..errors import InputValidationError
from ..events.event import Event
from .agent_run_result import AgentRunResult, Usage

_RUNNER = "ostinato.runners:InMemoryRunner"
_USER = "user"

Message = types.Content | dict[str, Any] | str


class RunnableNode(BaseNode):
    """A node that can run by itself.

    Attributes:
      deps_type: class of the deps that the node's tools, instruction and callbacks use; each run
        checks its deps before it stores anything.
    """

    deps_type: Any = None

    @overload
    def run(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]: ...
    @overload
    def run(
        self,
        message: Message,
        *,
        deps: Any = NOT_GIVEN,
        state: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
    ) -> Coroutine[Any, Any, AgentRunResult[Any]]: ...
    def run(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        message: Message | None = None,
        *,
        deps: Any = NOT_GIVEN,
        state: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        ctx: Any = None,
        node_input: Any = None,
    ) -> Any:
        """Run the agent once, in a new session in memory; await it.

        With `ctx` and `node_input` instead, the agent runs as a node of a graph and yields events.

        Connections of tools and models stay open for the next run; a Runner closes them.

        Args:
          message: the user's message.
          deps: the value of `ctx.deps` in tools, instructions and callbacks.
          state: initial state of the session.
          run_config: settings of the run.

        Returns:
          An AgentRunResult with `output`, `events`, `session` and `usage`.

        Raises:
          MissingDepsError: the agent declares deps, and they are missing or of another type.
          Exception: an exception of the agent's code or its model.
        """
        if message is None:
            if ctx is None:
                raise InputValidationError(f"Agent {self.name!r}: pass a message to run().")
            return super().run(ctx=ctx, node_input=node_input)
        return self._run_once(message, deps, state, run_config, closes=False)

    def run_sync(
        self,
        message: Message,
        *,
        deps: Any = NOT_GIVEN,
        state: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
    ) -> AgentRunResult[Any]:
        """Run the agent once from synchronous code, such as a script or a notebook; see `run`.

        It uses its own event loop, in its own thread if a loop is already running, and closes the
        connections of tools and models.
        """
        once = self._run_once(message, deps, state, run_config, closes=True)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(once)
        return _run_in_thread(once)

    async def _run_once(
        self,
        message: Message,
        deps: Any,
        state: dict[str, Any] | None,
        run_config: RunConfig | None,
        *,
        closes: bool,
    ) -> AgentRunResult[Any]:
        runner = _lazy.load(_RUNNER)(agent=self, app_name=self.name)
        sessions, usage = runner.session_service, Usage()
        place = {"app_name": self.name, "user_id": _USER}
        session = await sessions.create_session(**place, state=state)
        run = runner.run_async(
            user_id=_USER,
            session_id=session.id,
            new_message=message,
            run_config=run_config,
            deps=deps,
        )
        events: list[Event] = []
        try:
            async with Aclosing(run) as stream:
                async for event in stream:
                    if not event.partial:
                        events.append(event)
                        usage.count(event)
        finally:
            if closes:
                await runner.close()
        session = await sessions.get_session(**place, session_id=session.id)
        return AgentRunResult(self, events, session, usage)


def _run_in_thread(once: Coroutine[Any, Any, AgentRunResult[Any]]) -> AgentRunResult[Any]:
    """Run a coroutine in a new thread with its own event loop, and wait for it."""
    results: list[AgentRunResult[Any]] = []
    errors: list[BaseException] = []

    def main() -> None:
        try:
            results.append(asyncio.run(once))
        except BaseException as error:  # boundary: it is raised again in the caller's thread
            errors.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(main,), name="ostinato-run", daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
