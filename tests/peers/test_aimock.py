"""The adapters against aimock, which answers in the shapes of Gemini, OpenAI and Anthropic."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.models.base_llm import BaseLlm
from ostinato.testing import Conversation, assert_trace

from .adapters import CHAT, CLAUDE, GEMINI, RESPONSES, Adapter

pytestmark = [
    pytest.mark.service,
    pytest.mark.parametrize("adapter", [CLAUDE, CHAT, RESPONSES, GEMINI], ids=str),
    pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE]),
]


@pytest.fixture
async def model(adapter: Adapter, aimock: str) -> AsyncGenerator[BaseLlm, None]:
    built = adapter.build(aimock)
    yield built
    await built.aclose()


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"sun in {city}"


async def test_a_text(mode: StreamingMode, model: BaseLlm) -> None:
    talk = Conversation(LlmAgent(name="helper", model=model))
    events = await talk.say("Hello", run_config=RunConfig(streaming_mode=mode))
    await talk.runner.close()
    assert_trace(events, ["helper: Hello to you, too."])
    assert any(event.partial for event in events) == (mode is StreamingMode.SSE)


async def test_a_tool_loop(mode: StreamingMode, model: BaseLlm) -> None:
    talk = Conversation(LlmAgent(name="helper", model=model, tools=[weather]))
    events = await talk.say("How is the weather?", run_config=RunConfig(streaming_mode=mode))
    await talk.runner.close()
    assert_trace(
        events,
        [
            "helper: weather(city='Rome')",
            "helper: weather -> {'result': 'sun in Rome'}",
            "helper: Sunny in Rome.",
        ],
    )
