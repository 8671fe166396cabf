"""Chat dialects: in what servers that speak chat completions differ. `OpenAILlm` picks one by its
provider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: The field of an assistant's message that takes its thoughts back.
Thoughts = Literal["reasoning_content", "reasoning_details", "thinking_blocks"]


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """What a server takes.

    Attributes:
      max_tokens: the field that bounds the answer.
      seed: the field for the seed.
      thoughts: where it wants thoughts back; None where it does not.
      json_schema: whether answers can be bound to a schema.
      stream_options: whether it must be asked for the usage of a stream.
      top_k: whether it takes top_k.
      service_tier: whether it takes a tier of service.
      signatures: the field of a call that takes its signature back.
    """

    max_tokens: str = "max_tokens"
    seed: str = "seed"
    thoughts: Thoughts | None = None
    json_schema: bool = True
    stream_options: bool = True
    top_k: bool = False
    service_tier: bool = False
    signatures: Literal["extra_content", "provider_specific_fields"] | None = None


_OPENAI = ChatDialect(max_tokens="max_completion_tokens", service_tier=True)

#: By the provider's name in the table; the rest speak the default.
DIALECTS = {
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "vllm": ChatDialect(thoughts="reasoning_content", top_k=True),
    "llamacpp": ChatDialect(thoughts="reasoning_content", top_k=True),
    "lmstudio": ChatDialect(top_k=True),
    "openrouter": ChatDialect(thoughts="reasoning_details", top_k=True),
    "deepseek": ChatDialect(thoughts="reasoning_content", json_schema=False),
    "mistral": ChatDialect(seed="random_seed", stream_options=False),
}
#: LiteLLM translates what it gets, so that it takes what any of its providers takes.
LITELLM = ChatDialect(thoughts="thinking_blocks", top_k=True, signatures="provider_specific_fields")


def dialect_of(provider: str) -> ChatDialect:
    """Return a provider's dialect."""
    return DIALECTS.get(provider, ChatDialect())
