"""The adapters as the tests build them: by class and by what follows the server's address."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from pydantic import SecretStr

from ostinato.models.base_llm import BaseLlm


@dataclass(frozen=True)
class Adapter:
    """An adapter.

    Attributes:
      home: its class, as "module:Class".
      path: what follows the server's address in its base_url.
      model: a name that the adapter takes for a present model of its provider.
    """

    home: str
    path: str
    model: str

    def __str__(self) -> str:
        return self.home.rpartition(":")[2]

    def build(self, url: str) -> BaseLlm:
        """Return the adapter for a server."""
        module, _, name = self.home.partition(":")
        llm_class: Any = getattr(import_module(module), name)
        key = SecretStr("sk-none-of-them-asks")
        return llm_class(model=self.model, base_url=url + self.path, api_key=key)


CLAUDE = Adapter("ostinato.models.anthropic_llm:AnthropicLlm", "", "claude-sonnet-4-5")
CHAT = Adapter("ostinato.models.openai_llm:OpenAILlm", "/v1", "gpt-4.1")
RESPONSES = Adapter("ostinato.models.openai_responses_llm:OpenAIResponsesLlm", "/v1", "gpt-4.1")
GEMINI = Adapter("ostinato.models.google_llm:Gemini", "", "gemini-2.5-flash")
