"""Models: the port, the records of a request and its answer, and the registry of names."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.models.base_llm import BaseLlm as BaseLlm
    from ostinato.models.base_llm_connection import BaseLlmConnection as BaseLlmConnection
    from ostinato.models.cache_metadata import CacheMetadata as CacheMetadata
    from ostinato.models.context_cache_config import ContextCacheConfig as ContextCacheConfig
    from ostinato.models.llm_request import LlmRequest as LlmRequest
    from ostinato.models.llm_response import LlmResponse as LlmResponse
    from ostinato.models.offline_llm import OfflineLlm as OfflineLlm
    from ostinato.models.registry import LLMRegistry as LLMRegistry

__getattr__, __dir__, __all__ = attach(__name__)
