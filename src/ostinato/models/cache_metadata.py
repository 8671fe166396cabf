"""CacheMetadata: what is known about a provider-side context cache. Carried by requests, responses
and events.
"""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .. import _clock

_EXPIRY_MARGIN_S = 120.0


class CacheMetadata(BaseModel):
    """State of a context cache (Spec 1 §6, Spec 4 §2).

    Attributes:
      cache_name: the provider's resource name; None while only a fingerprint is known.
      expire_time: seconds since 1970 at which the provider drops the cache.
      fingerprint: hash of the cacheable part of the request.
      invocations_used: how many invocations have used the cache.
      contents_count: how many contents the fingerprint or cache covers.
      created_at: seconds since 1970 at which the cache was made.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    cache_name: str | None = None
    expire_time: float | None = None
    fingerprint: str
    invocations_used: int | None = Field(default=None, ge=0)
    contents_count: int = Field(ge=0)
    created_at: float | None = None

    @model_validator(mode="after")
    def _active_cache_is_complete(self) -> "CacheMetadata":
        active = (self.cache_name, self.expire_time, self.invocations_used)
        if any(x is not None for x in active) and any(x is None for x in active):
            raise ValueError(
                "an active cache needs cache_name, expire_time and invocations_used together; "
                "a fingerprint-only record has none of them"
            )
        return self

    @property
    def expire_soon(self) -> bool:
        """Whether the cache ends within two minutes, too soon to rely on."""
        return self.expire_time is not None and _clock.now() > self.expire_time - _EXPIRY_MARGIN_S

    def __str__(self) -> str:
        if self.cache_name is None or self.expire_time is None:
            return f"no cache: fingerprint {self.fingerprint[:8]}, {self.contents_count} contents"
        name, left = self.cache_name.rpartition("/")[2], (self.expire_time - _clock.now()) / 60
        return (
            f"cache {name}: used {self.invocations_used} times, {self.contents_count} contents, "
            f"{left:.1f} minutes left"
        )
