"""Compaction after a run: when it is due, and where its summary goes (Spec 1 §20)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..agents.base_agent import BaseAgent
from ..context.invocation import InvocationContext
from ..flows.llm_flows.compaction import (
    compact_by_tokens,
    compact_sliding_window,
    is_window_due,
)
from ..sessions.session import Session, log_of
from .agent_choice import summarizing_model


async def compact(
    ctx: InvocationContext, root: BaseAgent, load_all: Callable[[], Awaitable[Session]]
) -> None:
    """Summarise history where that is due; the summary is stored, not yielded.

    Args:
      ctx: the run that has ended.
      root: root of the agent tree, whose model summarises unless the config names a summariser.
      load_all: loads the session with all its events; this run may have only the newest of them.
    """
    config = ctx.events_compaction_config
    if config is None:
        return
    model = None if config.summarizer else summarizing_model(root)
    log = ctx.log
    event = await compact_by_tokens(log, config, model)
    if event is None:
        if log.offset and config.overlap_size and is_window_due(log, config):
            log = log_of(await load_all())  # the overlap lies before the newest summary
        event = await compact_sliding_window(log, config, model)
    if event is not None:
        await ctx.ports.commit((event,))
