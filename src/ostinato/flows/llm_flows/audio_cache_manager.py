"""Caching of audio in live runs: names; live runs are not built yet."""

from ..._later_on import NotBuilt

_PART = "live runs"
_INSTEAD = "use run_async with RunConfig(streaming_mode=StreamingMode.SSE)"


class AudioCacheManager(NotBuilt, part=_PART, instead=_INSTEAD):
    """Collects audio and stores it as artifacts."""


class AudioCacheConfig(NotBuilt, part=_PART, instead=_INSTEAD):
    """How much audio is collected before it is stored."""
