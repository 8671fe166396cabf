"""What the tests of this folder share: asking the adapter, and whole runs of an agent over it."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.agents.llm_agent import LlmAgent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.events.event import Event
from ostinato.models.base_llm import BaseLlm
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from ostinato.runners import InMemoryRunner


def request(*texts: str, **fields: Any) -> LlmRequest:
    """Return a request with user contents and settings."""
    contents = [types.Content(role="user", parts=[types.Part(text=text)]) for text in texts]
    return LlmRequest(
        model=fields.pop("model", "gemini-2.5-flash"),
        contents=fields.pop("contents", contents),
        config=types.GenerateContentConfig(**fields),
    )


async def ask(
    llm: BaseLlm, llm_request: LlmRequest | None = None, *, stream: bool = False
) -> list[LlmResponse]:
    """Return all responses to a request; the model is closed afterwards."""
    try:
        responses = llm.generate_content_async(llm_request or request("hello"), stream=stream)
        return [response async for response in responses]
    finally:
        await llm.aclose()


class Weather:
    """A tool that keeps its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        self.calls.append(city)
        return {"degrees": len(city)}


@pytest.fixture(name="weather")
def fixture_weather() -> Weather:
    return Weather()


async def run(
    llm: BaseLlm,
    *tools: Any,
    stream: bool = False,
    says: str = "hello",
    **fields: Any,
) -> list[Event]:
    """Return the events of one run of an agent with this model."""
    agent = LlmAgent(name="helper", model=llm, tools=list(tools), **fields)
    runner = InMemoryRunner(agent=agent, app_name="app")
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
    mode = StreamingMode.SSE if stream else StreamingMode.NONE
    events = runner.run_async(
        user_id="u",
        session_id="s",
        new_message=types.Content(role="user", parts=[types.Part(text=says)]),
        run_config=RunConfig(streaming_mode=mode, max_empty_retries=0),
    )
    try:
        return [event async for event in events]
    finally:
        await llm.aclose()
        await runner.close()


def trace(events: list[Event]) -> list[Any]:
    """Return what whole events say, without ids and times."""
    return [
        [_part(part) for part in (event.content.parts if event.content else None) or []]
        or event.error_code
        for event in events
        if not event.partial
    ]


def _part(part: types.Part) -> Any:
    if part.function_call is not None:
        return (part.function_call.name, part.function_call.args)
    if part.function_response is not None:
        return part.function_response.response
    return f"({part.text})" if part.thought else part.text
