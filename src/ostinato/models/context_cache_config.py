"""ContextCacheConfig: when and for how long a provider may cache the start of the prompt.

It lies here because requests carry it; `ostinato.agents.context_cache_config` is its public face.
"""

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from ..types.deferred_type import deferred_type

if TYPE_CHECKING:
    from ..types import (
        HttpOptions,
    )
else:
    HttpOptions = deferred_type("HttpOptions")


class ContextCacheConfig(BaseModel):
    """Settings of provider-side context caching for all agents of an app (Spec 4 §2).

    Attributes:
      cache_intervals: invocations after which a cache is made anew, 1 to 100.
      ttl_seconds: life of a cache, in seconds, above 0.
      min_tokens: the previous request's prompt tokens below which nothing is cached.
      create_http_options: HTTP options of the call that creates the cache.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    cache_intervals: int = Field(default=10, ge=1, le=100)
    ttl_seconds: int = Field(default=1800, gt=0)
    min_tokens: int = Field(default=0, ge=0)
    create_http_options: HttpOptions | None = None

    @property
    def ttl_string(self) -> str:
        """The life of a cache in the provider's notation, such as `1800s`."""
        return f"{self.ttl_seconds}s"

    def __str__(self) -> str:
        options = self.create_http_options
        # Names only: headers hold keys, and this goes into logs.
        shown = None if options is None else f"({', '.join(sorted(options.model_fields_set))})"
        return (
            f"ContextCacheConfig(cache_intervals={self.cache_intervals}, "
            f"ttl={self.ttl_string}, min_tokens={self.min_tokens}, "
            f"create_http_options={shown})"
        )
