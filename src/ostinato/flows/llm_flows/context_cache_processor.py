"""The context-cache processor: cache settings for the provider's adapter, which caches."""

from __future__ import annotations

from ...context.invocation import InvocationContext
from ...events.event import Event
from ...models.cache_metadata import CacheMetadata
from ...models.llm_request import LlmRequest
from ._base_llm_processor import RequestEdit


class ContextCacheRequestProcessor(RequestEdit):
    """Adds the app's cache settings and the cache metadata of the agent's last response
    (FEATURES rows 212, 213).
    """

    def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Fill in the cache fields if the app caches."""
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
                llm_request.cache_metadata = _carry_over(ctx, record.event())
                break


request_processor = ContextCacheRequestProcessor()


def _carry_over(ctx: InvocationContext, event: Event) -> CacheMetadata | None:
    """Return the cache metadata of `event`; a new invocation counts as one more use."""
    metadata = event.cache_metadata
    if metadata is None or metadata.invocations_used is None:
        return metadata
    if event.invocation_id == ctx.invocation_id:
        return metadata
    return metadata.model_copy(update={"invocations_used": metadata.invocations_used + 1})
