"""Compaction: replaces earlier events by a summary, after a run or before a request (Spec 1 §20).

`ostinato.apps.compaction` is its public face; the runner calls `compact_sliding_window`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from ..._log import get_logger
from ...context.app_config import EventsCompactionConfig, Summarizer
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ...sessions.event_log import COMPACTION, EventLog, EventRecord
from ._base_llm_processor import BaseLlmRequestProcessor
from ._history import visible_records
from ._summarizer import LlmEventSummarizer

logger = get_logger(__name__)


class _CompactionRequestProcessor(BaseLlmRequestProcessor):
    """Compacts before a request where the last one was above the token threshold."""

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Yield a compaction event where one is due, once per invocation."""
        ctx = invocation_context
        config = ctx.events_compaction_config
        if config is None or config.token_threshold is None or ctx.token_compaction_checked:
            return
        ctx.token_compaction_checked = True
        tokens = _latest_prompt_token_count(ctx.log, ctx.agent.name)
        if tokens is None or tokens < config.token_threshold:
            return
        records = _old_records(ctx.log, config.event_retention_size or 0)
        event = await _summarise(config, ctx.agent.canonical_model, records)
        if event is not None:
            ctx.token_compaction_checked = True
            yield event


request_processor = _CompactionRequestProcessor()


async def compact_sliding_window(
    log: EventLog, config: EventsCompactionConfig, model: BaseLlm
) -> Event | None:
    """Summarise the invocations since the last compaction, if enough have completed.

    With interval 2 and overlap 1 the first summary covers invocations 1 and 2, the next 2, 3 and 4.

    Args:
      log: the session's records.
      config: interval, overlap and summariser.
      model: makes the summary where the config names no summariser.

    Returns:
      The event to append, or None.
    """
    window = window_of(visible_records(log), config.compaction_interval, config.overlap_size)
    return await _summarise(config, model, window)


def window_of(records: Sequence[EventRecord], interval: int, overlap: int) -> list[EventRecord]:
    """Return the records of the sliding window that is due, or none."""
    order: list[str] = []
    seen: set[str] = set()
    new = 0
    compacted = False
    for record in reversed(records):
        if record.kinds & COMPACTION:
            compacted = True
            continue
        if record.invocation_id in seen:
            continue
        if compacted and new < interval:
            return []
        if compacted and len(order) >= new + overlap:
            break
        seen.add(record.invocation_id)
        order.append(record.invocation_id)
        if not compacted:
            new += 1
    if new < interval:
        return []
    window = [r for r in records if r.invocation_id in seen and not r.kinds & COMPACTION]
    return _self_contained(window)


def _self_contained(records: list[EventRecord]) -> list[EventRecord]:
    """Cut off the end from the first call on whose response is not among the records."""
    answered = {call for record in records for call, _ in record.responses}
    for index, record in enumerate(records):
        if any(call not in answered for call, _ in record.calls):
            return records[:index]
    return records


def _old_records(log: EventLog, retain: int) -> list[EventRecord]:
    """Return what token compaction may summarise: all but the newest, never a call without its
    response.
    """
    records = [r for r in visible_records(log) if not r.kinds & COMPACTION]
    end = len(records) - retain
    while end > 0 and end < len(records) and records[end].responses:
        end -= 1
    return _self_contained(records[: max(0, end)])


def _latest_prompt_token_count(log: EventLog, agent_name: str) -> int | None:
    for record in reversed(log.records):
        if record.kinds & COMPACTION:
            return None  # the last count is of a prompt that no longer exists
        if record.author == agent_name and "usageMetadata" in record.data:
            usage = record.event().usage_metadata
            if usage is not None and usage.prompt_token_count is not None:
                return usage.prompt_token_count
    return None


async def _summarise(
    config: EventsCompactionConfig, model: BaseLlm, records: Sequence[EventRecord]
) -> Event | None:
    if not records:
        return None
    summarizer: Summarizer = config.summarizer or LlmEventSummarizer(model)
    try:
        return await summarizer.maybe_summarize_events(events=[r.event() for r in records])
    except Exception:  # boundary: a summary is a convenience; the conversation goes on without it
        logger.exception("Compaction failed; the conversation goes on uncompacted.")
        return None
