"""Chat dialects: how servers that speak chat completions differ. `OpenAILlm` picks one by its
provider.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: The field of an assistant's message that takes its thoughts back.
Thoughts = Literal["reasoning_content", "reasoning_details", "thinking_blocks"]


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """What a server takes.

    Attributes:
      max_tokens: the field that bounds the answer.
      seed: the field for the seed.
      thoughts: the field in which it expects thoughts back, or None.
      json_schema: whether answers can be bound to a schema.
      stream_options: whether it must be asked for the usage of a stream.
      top_k: whether it takes top_k.
      service_tier: whether it takes a tier of service.
      signatures: the field of a call that takes its signature back.
      refused: fields that the server refuses, which are left out.
      tool_choices: its words for `tool_choice`; an empty one is left out.
      efforts: its words for `reasoning_effort`.
      short_call_ids: whether ids of calls must be nine letters and digits.
    """

    max_tokens: str = "max_tokens"
    seed: str = "seed"
    thoughts: Thoughts | None = None
    json_schema: bool = True
    stream_options: bool = True
    top_k: bool = False
    service_tier: bool = False
    signatures: Literal["extra_content", "provider_specific_fields"] | None = None
    refused: frozenset[str] = frozenset()
    tool_choices: Mapping[str, str] = field(default_factory=dict[str, str])
    efforts: Mapping[str, str] = field(default_factory=dict[str, str])
    short_call_ids: bool = False

    def call_id(self, given: str | None) -> str | None:
        """Return the id of a call as the server takes it; equal ids stay equal."""
        if not self.short_call_ids or given is None or _SHORT_ID.fullmatch(given):
            return given
        return hashlib.sha256(given.encode()).hexdigest()[:9]


_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}")

_OPENAI = ChatDialect(max_tokens="max_completion_tokens", service_tier=True)

#: By the provider's name in the table; the rest speak the default.
DIALECTS = {
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "azure": ChatDialect(max_tokens="max_completion_tokens"),
    "vllm": ChatDialect(thoughts="reasoning_content", top_k=True),
    "llamacpp": ChatDialect(thoughts="reasoning_content", top_k=True),
    "lmstudio": ChatDialect(top_k=True),
    "openrouter": ChatDialect(thoughts="reasoning_details", top_k=True),
    "deepseek": ChatDialect(thoughts="reasoning_content", json_schema=False),
    "mistral": ChatDialect(seed="random_seed", stream_options=False, short_call_ids=True),
    "groq": ChatDialect(refused=frozenset(("logprobs", "top_logprobs", "n"))),
    "together": ChatDialect(top_k=True),
    "fireworks": ChatDialect(thoughts="reasoning_content", top_k=True),
    "cerebras": ChatDialect(
        max_tokens="max_completion_tokens",
        refused=frozenset(("frequency_penalty", "presence_penalty")),
    ),
    "cohere": ChatDialect(
        stream_options=False,
        refused=frozenset(("n", "store", "modalities", "top_logprobs")),
        tool_choices={"auto": ""},
        efforts={"minimal": "none", "low": "high", "medium": "high"},
    ),
}
#: LiteLLM translates what it gets, so that it takes what any of its providers takes.
LITELLM = ChatDialect(thoughts="thinking_blocks", top_k=True, signatures="provider_specific_fields")


def dialect_of(provider: str) -> ChatDialect:
    """Return a provider's dialect."""
    return DIALECTS.get(provider, ChatDialect())
