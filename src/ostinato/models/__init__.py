"""Models: the port, the records of a request and its answer, and the registry of names."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.models.anthropic_llm import AnthropicLlm as AnthropicLlm
    from ostinato.models.anthropic_llm import Claude as Claude
    from ostinato.models.apigee_llm import ApigeeLlm as ApigeeLlm
    from ostinato.models.azure_openai_llm import AzureOpenAILlm as AzureOpenAILlm
    from ostinato.models.base_llm import BaseLlm as BaseLlm
    from ostinato.models.base_llm_connection import BaseLlmConnection as BaseLlmConnection
    from ostinato.models.bedrock_llm import BedrockLlm as BedrockLlm
    from ostinato.models.cache_metadata import CacheMetadata as CacheMetadata
    from ostinato.models.capabilities import ModelCapabilities as ModelCapabilities
    from ostinato.models.circuit_breaker import CircuitBreaker as CircuitBreaker
    from ostinato.models.context_cache_config import ContextCacheConfig as ContextCacheConfig
    from ostinato.models.fallback_model import FallbackModel as FallbackModel
    from ostinato.models.gemma_llm import Gemma as Gemma
    from ostinato.models.gemma_llm import Gemma3Ollama as Gemma3Ollama
    from ostinato.models.google_llm import Gemini as Gemini
    from ostinato.models.lite_llm import LiteLlm as LiteLlm
    from ostinato.models.llm_request import LlmRequest as LlmRequest
    from ostinato.models.llm_response import LlmResponse as LlmResponse
    from ostinato.models.offline_llm import OfflineLlm as OfflineLlm
    from ostinato.models.openai_llm import OpenAILlm as OpenAILlm
    from ostinato.models.openai_realtime_llm import OpenAIRealtimeLlm as OpenAIRealtimeLlm
    from ostinato.models.openai_responses_llm import OpenAIResponsesLlm as OpenAIResponsesLlm
    from ostinato.models.rate_limit import RateLimit as RateLimit
    from ostinato.models.registry import LLMRegistry as LLMRegistry
    from ostinato.models.retry_policy import RetryPolicy as RetryPolicy

__getattr__, __dir__, __all__ = attach(__name__)
