"""Compaction: a summary replaces earlier events, after a run or before a request (Spec 1 §20).

`ostinato.apps.compaction` is its public face; the runner calls `compact_sliding_window`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from ..._log import get_logger
from ...context.app_config import EventsCompactionConfig, Summarizer
from ...context.context_policy import CHARS_PER_TOKEN
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...events.event_actions import EventCompaction
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ...sessions.log.event_log import COMPACTION, EventLog, EventRecord, visible_records
from ._base_llm_processor import BaseLlmRequestProcessor
from .event_summarizer import LlmEventSummarizer

logger = get_logger(__name__)

_CLAUDE_CHARS = 3.5  # of English text and JSON, for a token of Anthropic's tokenizers
_MEDIA_CHARS = 6_000  # an image counts some 1,500 tokens, whatever its bytes


class CompactionRequestProcessor(BaseLlmRequestProcessor):
    """Compacts before a request if the last prompt reached the token threshold."""

    def applies(self, invocation_context: InvocationContext) -> bool:
        """Return whether the app compacts."""
        return invocation_context.events_compaction_config is not None

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Commit a compaction event if one is due, once per run of the agent; yield nothing.

        The contents that follow show the summary.
        """
        ctx = invocation_context
        config = ctx.events_compaction_config
        if config is None or ctx.token_compaction_checked:
            return
        event = await compact_by_tokens(ctx.log, config, ctx.agent.canonical_model, ctx.agent.name)
        if event is None:
            return
        ctx.token_compaction_checked = True
        if ctx.services.has_runner:
            await ctx.services.commit((event,))
        else:
            await ctx.session_service.append_event(session=ctx.session, event=event)
        return
        yield


request_processor = CompactionRequestProcessor()


async def compact_by_tokens(
    log: EventLog, config: EventsCompactionConfig, model: BaseLlm | None, agent_name: str = ""
) -> Event | None:
    """Summarise all but the newest events if the last prompt reached the token threshold.

    The new summary includes the previous one. A prompt from before the last compaction does not
    count, because it says nothing about the size of the next one.

    Args:
      log: the session's records.
      config: threshold, number of events to retain and summariser.
      model: summarises if the config names no summariser.
      agent_name: the agent whose prompts count; empty for all agents.

    Returns:
      The event to append, or None.
    """
    if config.token_threshold is None:
        return None
    tokens = _latest_prompt_token_count(log, agent_name, model)
    if tokens is None or tokens < config.token_threshold:
        return None
    return await _summarise_events(
        config, model, _find_old_events(log, config.event_retention_size or 0)
    )


async def compact_sliding_window(
    log: EventLog, config: EventsCompactionConfig, model: BaseLlm | None
) -> Event | None:
    """Summarise the invocations since the last compaction, if enough have completed.

    With interval 2 and overlap 1 the first summary covers invocations 1 and 2, the next 2, 3 and 4.

    Args:
      log: the session's records.
      config: interval, overlap and summariser.
      model: summarises if the config names no summariser.

    Returns:
      The event to append, or None.
    """
    window = find_window(visible_records(log), config.compaction_interval, config.overlap_size)
    return await _summarise_events(config, model, [r.event() for r in window])


def is_window_due(log: EventLog, config: EventsCompactionConfig) -> bool:
    """Return whether enough invocations have completed since the last compaction."""
    return bool(find_window(visible_records(log), config.compaction_interval, 0))


def find_window(records: Sequence[EventRecord], interval: int, overlap: int) -> list[EventRecord]:
    """Return the records of the sliding window that is due; empty if none is."""
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
    # All from there on: an invocation that waited long has others within its time, which the
    # summary hides as well.
    start = next(i for i, record in enumerate(records) if record.invocation_id in seen)
    return _cut_at_open_call([r for r in records[start:] if not r.kinds & COMPACTION])


def _cut_at_open_call(records: list[EventRecord]) -> list[EventRecord]:
    """Return the records before the first call that none of them answers.

    A call with a response behind that one is left out as well: the first response to a call that
    needs an approval says that it waits.
    """
    answered = {call for record in records for call, _ in record.responses}
    for index, record in enumerate(records):
        if any(call not in answered for call, _ in record.calls):
            return records[: _before_answered_calls(records, index)]
    return records


def _before_answered_calls(records: Sequence[EventRecord], end: int) -> int:
    """Return the last index up to `end` with no call before it that is answered behind it."""
    wanted = {call for record in records[end:] for call, _ in record.responses}
    passed: set[str | None] = set()
    for index in range(end - 1, -1, -1):
        record = records[index]
        calls = {call for call, _ in record.calls}
        if not wanted.isdisjoint(calls):
            end = index
            wanted |= passed
            passed.clear()
        wanted -= calls
        passed -= calls
        passed.update(call for call, _ in record.responses)
    return end


def _find_old_events(log: EventLog, retain: int) -> list[Event]:
    """Return the events that token compaction may summarise: the last summary and later events.

    The newest `retain` events stay, and a call stays together with its response.
    """
    records = visible_records(log)
    last = _last_compaction(records)
    end_of_last = last.end_timestamp if last is not None else -1.0
    open_records = [r for r in records if not r.kinds & COMPACTION and r.timestamp > end_of_last]
    end = len(open_records) - retain
    while 0 < end < len(open_records) and open_records[end].responses:
        end -= 1
    events = [r.event() for r in _cut_at_open_call(open_records[: max(0, end)])]
    if not events or last is None:
        return events
    seed = Event(author="model", content=last.compacted_content, timestamp=last.start_timestamp)
    return [seed, *events]


def _last_compaction(records: Sequence[EventRecord]) -> EventCompaction | None:
    for record in reversed(records):
        if record.kinds & COMPACTION:
            return record.event().actions.compaction
    return None


def _latest_prompt_token_count(log: EventLog, agent_name: str, model: BaseLlm | None) -> int | None:
    """Return the tokens of the last prompt since the last compaction, or None without a prompt.

    They are estimated if the provider has counted none.
    """
    chars, has_prompt = 0, False
    for record in reversed(log.records):
        if record.kinds & COMPACTION:
            break
        is_wanted = agent_name in ("", record.author)
        if is_wanted and "usageMetadata" in record.data:
            usage = record.event().usage_metadata
            if usage is not None and usage.prompt_token_count is not None:
                return usage.prompt_token_count
        has_prompt |= is_wanted and record.author != "user"
        length = len(record.data)
        chars += min(length, _MEDIA_CHARS) if '"inlineData"' in record.data else length
    if not has_prompt:
        return None
    name = "" if model is None else model.model
    return int(chars / (_CLAUDE_CHARS if "claude" in name else CHARS_PER_TOKEN))


async def _summarise_events(
    config: EventsCompactionConfig, model: BaseLlm | None, events: list[Event]
) -> Event | None:
    events = [event for event in events if event.isolation_scope is None]
    if not events:
        return None
    summarizer: Summarizer | None = config.summarizer
    if summarizer is None:
        if model is None:
            return None
        summarizer = LlmEventSummarizer(model)
    try:
        return await summarizer.maybe_summarize_events(events=events)
    except Exception:  # boundary: the conversation can continue without a summary
        logger.exception("Compaction failed; the conversation continues uncompacted.")
        return None
