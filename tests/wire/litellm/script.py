"""Turns for LiteLLM: it speaks chat completions to the server."""

from __future__ import annotations

from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.lite_llm import LiteLlm
from tests.wire.chat.script import KEY, ONCE
from tests.wire.chat.script import answers as answers
from tests.wire.chat.script import blocked as blocked
from tests.wire.chat.script import empty as empty


def llm(url: str, **fields: Any) -> BaseLlm:
    """Build the adapter against a server."""
    given = {"model": "openai/gpt-test", "base_url": f"{url}/v1", "api_key": KEY, **ONCE, **fields}
    return LiteLlm(**given)


# LiteLLM swallows a page in place of a stream, and what comes after the end of an answer.
UNSEEN_PAGES = True
CUT_STEP = 7
AFTER_THE_END = 1000
