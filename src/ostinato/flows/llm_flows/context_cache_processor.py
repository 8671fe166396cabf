"""The context-cache processor: tells the adapter what may be cached (FEATURES rows 212, 213).

The caching itself is the provider adapter's.
"""

from __future__ import annotations

from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.cache_metadata import CacheMetadata
from ...models.llm_request import LlmRequest
from ._base_llm_processor import RequestEdit


class ContextCacheRequestProcessor(RequestEdit):
    """Adds the app's cache settings and what the agent's last response said about its cache."""

    def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Fill in cache fields where the app caches."""
        ctx = invocation_context
        if ctx.context_cache_config is None:
            return
        llm_request.cache_config = ctx.context_cache_config
        for record in reversed(ctx.log.records):
            if record.author != ctx.agent.name:
                continue
            if (
                llm_request.cacheable_contents_token_count is None
                and "usageMetadata" in record.data
            ):
                usage = record.event().usage_metadata
                if usage is not None and usage.prompt_token_count is not None:
                    llm_request.cacheable_contents_token_count = usage.prompt_token_count
            if "cacheMetadata" in record.data:
                llm_request.cache_metadata = _carried_on(ctx, record.event())
                break


request_processor = ContextCacheRequestProcessor()


def _carried_on(ctx: InvocationContext, event: Event) -> CacheMetadata | None:
    """Return the cache metadata of `event`, one use older where this is a new invocation."""
    metadata = event.cache_metadata
    if metadata is None or metadata.invocations_used is None:
        return metadata
    if event.invocation_id == ctx.invocation_id:
        return metadata
    return metadata.model_copy(update={"invocations_used": metadata.invocations_used + 1})
