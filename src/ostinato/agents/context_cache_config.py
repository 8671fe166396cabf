"""Face: ContextCacheConfig at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.models.context_cache_config import ContextCacheConfig as ContextCacheConfig

__getattr__, __dir__, __all__ = attach(__name__)
