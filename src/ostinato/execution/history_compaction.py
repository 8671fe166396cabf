"""Compaction of a session's history after a run."""

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
from .routing.agent_choice import summarizing_model


async def compact_history(
    ctx: InvocationContext, root: BaseAgent, load_all: Callable[[], Awaitable[Session]]
) -> None:
    """Summarize the history if due; the summary is stored, not yielded.

    Args:
      ctx: the run that has ended.
      root: root of the agent tree, whose model summarizes unless the config has a summarizer.
      load_all: loads the session with all events; the run may have only the newest.
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
        await ctx.services.commit((event,))
