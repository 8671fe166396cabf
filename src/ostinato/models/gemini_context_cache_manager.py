"""GeminiContextCacheManager, which caches the start of a conversation at Google. The Gemini adapter
calls it before each request of an app with context caching.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from .. import _clock, types
from .._log import get_logger
from .cache_metadata import CacheMetadata
from .llm_request import LlmRequest
from .llm_response import LlmResponse
from .wire.gemini_contents import developer_content
from .wire.gemini_request import plain

#: Prompt tokens of the previous request below which Google caches nothing.
PROVIDER_MIN_TOKENS = 4096

logger = get_logger(__name__)


class GeminiContextCacheManager:
    """Creates, uses and deletes context caches (Spec 4 §2, FEATURES rows 212, 213).

    The first request of an agent leaves a fingerprint. A later one that begins alike makes a cache
    of everything before the user's last words, if the previous prompt was large enough. What is
    cached leaves the requests that use it.

    Args:
      genai_client: a `GeminiClient`, or a `google.genai.Client`.
      wire: turns a content into its form on the wire.
    """

    def __init__(
        self,
        genai_client: Any,
        wire: Callable[[types.Content], dict[str, Any]] = developer_content,
    ) -> None:
        self.genai_client = genai_client
        self._wire = wire

    async def handle_context_caching(self, llm_request: LlmRequest) -> CacheMetadata | None:
        """Take out of a request what is cached, making the cache first where it is time.

        Args:
          llm_request: the request; its `contents` and `config` fields are changed.

        Returns:
          What to keep with the response, or None if the request has no cache settings.
        """
        if llm_request.cache_config is None:
            return None
        known = llm_request.cache_metadata
        if known is None:
            return self._note_fingerprint(llm_request)
        same = known.contents_count <= len(llm_request.contents) and (
            known.fingerprint == self._fingerprint(llm_request, known.contents_count)
        )
        if known.cache_name is not None:
            if same and _is_fresh(known, llm_request.cache_config.cache_intervals):
                _use(llm_request, known.cache_name, known.contents_count)
                return known
            await self.cleanup_cache(known.cache_name)
        if not same:
            return self._note_fingerprint(llm_request)
        count = _before_last_words(llm_request.contents)
        made = await self._make(llm_request, count)
        if made is None:  # the next request is compared with the same beginning
            return CacheMetadata(fingerprint=known.fingerprint, contents_count=known.contents_count)
        assert made.cache_name is not None
        _use(llm_request, made.cache_name, count)
        return made

    async def cleanup_cache(self, cache_name: str) -> None:
        """Delete a cache; log a failure, because the cache expires by itself."""
        try:
            await self.genai_client.aio.caches.delete(name=cache_name)
        except Exception as error:  # boundary: caching never fails a turn
            logger.warning("The context cache could not be deleted (%s).", type(error).__name__)

    def populate_cache_metadata_in_response(
        self, llm_response: LlmResponse, cache_metadata: CacheMetadata
    ) -> None:
        """Add the cache metadata that the agent's next request needs to a response."""
        llm_response.cache_metadata = cache_metadata

    async def _make(self, llm_request: LlmRequest, count: int) -> CacheMetadata | None:
        """Cache the instruction, the tools and the first `count` contents, if worthwhile."""
        settings, config = llm_request.cache_config, llm_request.config
        tokens = llm_request.cacheable_contents_token_count
        if settings is None or tokens is None:
            return None
        if tokens < max(settings.min_tokens, PROVIDER_MIN_TOKENS):
            return None
        if count == 0 and not config.system_instruction and not config.tools:
            return None
        fingerprint, now = self._fingerprint(llm_request, count), _clock.now()
        contents = [self._wire(content) for content in llm_request.contents[:count]]
        options: dict[str, Any] = plain(settings.create_http_options) or {}
        if contents:
            options["extra_body"] = {**(options.get("extra_body") or {}), "contents": contents}
        options["retry_options"] = {"attempts": 1}
        wanted = {
            "ttl": settings.ttl_string,
            "display_name": f"adk-cache-{int(now)}-{count}contents",
            "system_instruction": plain(config.system_instruction),
            "tools": plain(config.tools),
            "tool_config": plain(config.tool_config),
            "http_options": options,
        }
        try:
            made = await self.genai_client.aio.caches.create(
                model=llm_request.model,
                config={name: value for name, value in wanted.items() if value is not None},
            )
        except Exception as error:  # boundary: caching never fails a turn
            logger.warning(
                "No context cache was made for model %r (%s); the request is sent uncached.",
                llm_request.model,
                type(error).__name__,
            )
            return None
        until = made.expire_time.timestamp() if made.expire_time else now + settings.ttl_seconds
        return CacheMetadata(
            cache_name=made.name,
            expire_time=until,
            fingerprint=fingerprint,
            invocations_used=1,
            contents_count=count,
            created_at=now,
        )

    def _note_fingerprint(self, llm_request: LlmRequest) -> CacheMetadata:
        count = len(llm_request.contents)
        return CacheMetadata(
            fingerprint=self._fingerprint(llm_request, count), contents_count=count
        )

    def _fingerprint(self, llm_request: LlmRequest, count: int) -> str:
        """Return a hash of instruction, tools and the first `count` contents."""
        config = llm_request.config
        told = [
            llm_request.model,
            *map(plain, (config.system_instruction, config.tools, config.tool_config)),
            [self._wire(content) for content in llm_request.contents[:count]],
        ]
        text = json.dumps(told, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_fresh(cache: CacheMetadata, intervals: int) -> bool:
    """Return whether a cache may be used again."""
    return not cache.expire_soon and (cache.invocations_used or 0) <= intervals


def _before_last_words(contents: Sequence[types.Content]) -> int:
    """Return how many contents precede the trailing user contents."""
    count = len(contents)
    while count and contents[count - 1].role == "user":
        count -= 1
    return count


def _use(llm_request: LlmRequest, cache_name: str, count: int) -> None:
    """Remove the cached contents from a request."""
    config = llm_request.config
    config.cached_content = cache_name
    config.system_instruction = config.tools = config.tool_config = None
    llm_request.contents = llm_request.contents[count:]
