"""YieldEnding: ends a stopped run that waits at a `yield` for its caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from ..._log import get_logger
from ...context.invocation import InvocationContext
from ...durable.run_scope import RunScope, SessionKey
from ...errors import StaleSessionError
from ...events.event import Event
from ..turn import Turn
from ..turns import TurnGuard
from .closing import try_to_seal

logger = get_logger(__name__)


class YieldEnding:
    """Ends a stopped run without its caller, which gets the reason when it reads on.

    Args:
      turn: the turn of the run.
      holding: the hold on its session, or None if the caller releases it.
      key: the session.
      tracing: the span of the invocation; anything with its `end`.

    Attributes:
      ctx: the context of the run; None until it is set up.
      run: the events of the run; None until its agents run.
    """

    __slots__ = ("_elsewhere", "_holding", "_key", "_tracing", "_turn", "ctx", "run")

    def __init__(
        self, turn: Turn, holding: TurnGuard | None, key: SessionKey, tracing: Any
    ) -> None:
        self._turn = turn
        self._holding = holding
        self._key = key
        self._tracing = tracing
        self.ctx: InvocationContext | None = None
        self.run: AsyncGenerator[Event, None] | None = None
        self._elsewhere: asyncio.Task[None] | None = None

    def end_elsewhere(self, *, seal: bool) -> None:
        """End the run although its event loop does not run.

        Args:
          seal: whether the current event loop seals it; otherwise its lease keeper hands it over.
        """
        if seal:
            self._elsewhere = asyncio.ensure_future(self())
        elif self._holding is not None:
            self._holding.abandon()

    async def __call__(self) -> None:
        """Seal the run and release its session."""
        reason = self._turn.stopped
        if self._holding is not None:
            self._holding.closing()
        try:
            with RunScope(self._key, self._turn.invocation_id):
                # The agents of a run whose loop is blocked belong to that loop.
                if self.run is not None and not self._turn.step.is_loop_stalled:
                    await self.run.aclose()
                if self.ctx is not None:
                    await try_to_seal(self.ctx, asyncio.CancelledError())
        except StaleSessionError:
            pass  # another owner has the session, and seals the run
        except Exception:  # boundary: the caller gets only the reason of the stop
            logger.exception("Failed to end invocation %s cleanly.", self._turn.invocation_id)
        finally:
            self._tracing.end(reason)
            if self._holding is not None:
                await self._holding.leave(reason)
