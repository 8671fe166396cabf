"""Compaction after a run: when it is due, and where its summary goes (Spec 1 §20)."""

from __future__ import annotations

from ..agents.base_agent import BaseAgent
from ..context.invocation import InvocationContext
from ..flows.llm_flows.compaction import compact_by_tokens, compact_sliding_window
from .agent_choice import summarizing_model


async def compact(ctx: InvocationContext, root: BaseAgent) -> None:
    """Summarise history where that is due; the summary is stored, not yielded.

    Args:
      ctx: the run that has ended.
      root: root of the agent tree, whose model summarises unless the config names a summariser.
    """
    config = ctx.events_compaction_config
    if config is None:
        return
    model = None if config.summarizer else summarizing_model(root)
    event = await compact_by_tokens(ctx.log, config, model)
    if event is None:
        event = await compact_sliding_window(ctx.log, config, model)
    if event is not None:
        await ctx.ports.commit((event,))
