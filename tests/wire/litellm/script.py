"""Turns for LiteLLM: it speaks chat completions to the server."""

from __future__ import annotations

from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.lite_llm import LiteLlm
from tests.wire.chat.script import KEY
from tests.wire.chat.script import answers as answers


def llm(url: str, **fields: Any) -> BaseLlm:
    """Build the adapter against a server."""
    given = {"model": "openai/gpt-test", "base_url": f"{url}/v1", "api_key": KEY, **fields}
    return LiteLlm(**given)
