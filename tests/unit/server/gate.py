"""A model that says a word, waits until the test lets it go on, and then says the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_response import LlmResponse
from ostinato.types import Content, Part


class Gate:
    """Counts the calls that wait, and lets them go on one by one."""

    def __init__(self) -> None:
        self.waiting = asyncio.Semaphore(0)
        self.go = asyncio.Semaphore(0)
        self.calls = 0
        self.cancelled = asyncio.Event()


gate = Gate()
"""The gate of the test that runs; replaced by each."""


def new_gate() -> Gate:
    """Put a new gate in place."""
    global gate
    gate = Gate()
    return gate


class GateLlm(BaseLlm):
    """Streams `one`, waits at the gate, then answers `one two`; or much, for slow readers."""

    model: str = "gate"

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        text = llm_request.contents[-1].parts[-1].text or ""
        here = gate
        here.calls += 1
        if stream:
            yield _says("one ", partial=True)
        here.waiting.release()
        try:
            await here.go.acquire()
        except asyncio.CancelledError:
            here.cancelled.set()
            raise
        if text == "much":
            for _ in range(400):
                yield _says("x" * 100_000, partial=True)
        yield _says("one two")


def _says(text: str, **more: Any) -> LlmResponse:
    content = Content(role="model", parts=[Part(text=text)])
    return LlmResponse(content=content, **more)
