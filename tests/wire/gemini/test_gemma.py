"""Gemma: functions, calls and the instruction are text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.models.gemma_llm import Gemma
from ostinato.models.registry import LLMRegistry
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.gemini.conftest import Weather, run, trace
from tests.wire.gemini.script import KEY, candidate

CALL = '{"name": "get_weather", "parameters": {"city": "Rome"}}'


def gemma(url: str) -> Gemma:
    return Gemma(base_url=url, api_key=KEY, vertexai=False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        '```tool_code\n{"function": "get_weather", "args": {"city": "Rome"}}\n```',
        f"I look it up. {CALL} One moment.",
    ],
)
async def test_a_call_is_read_out_of_the_text(stream: bool, text: str, weather: Weather) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    bodies = [
        [candidate({"text": text[:9]}), candidate({"text": text[9:]}, finish="STOP")],
        [candidate({"text": "It is 4 degrees."}, finish="STOP")],
    ]
    whole = [candidate({"text": text}, finish="STOP"), bodies[1][0]]
    script = [Answer(sse(x)) for x in bodies] if stream else [Answer(x) for x in whole]
    async with FakeServer(script) as server:
        events = await run(gemma(server.url), get_weather, stream=stream, instruction="Be brief")
    assert weather.calls == ["Rome"]
    assert trace(events) == [
        [("get_weather", {"city": "Rome"})],
        [{"degrees": 4}],
        ["It is 4 degrees."],
    ]
    first, second = (received.json for received in server.requests)
    assert "tools" not in first and "systemInstruction" not in first
    told = first["contents"][0]
    assert told["role"] == "user"
    assert "Be brief" in told["parts"][0]["text"] and "get_weather" in told["parts"][0]["text"]
    words = [content["parts"][0]["text"] for content in second["contents"][2:]]
    assert json.loads(words[0]) == json.loads(CALL)
    assert words[1] == 'The function get_weather returned: {"degrees": 4}'


@pytest.mark.parametrize(
    "text",
    [
        "Just words.",
        '{"a": 1}',
        '{"name": "get_weather", "parameters": {"city": "Ro',
        '{"name": "x", "parameters": {}}',
    ],
)
async def test_text_that_calls_nothing_offered_stays_text(text: str, weather: Weather) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    async with FakeServer([Answer(candidate({"text": text}, finish="STOP"))]) as server:
        events = await run(gemma(server.url), get_weather)
    assert trace(events) == [[text]] and not weather.calls


def test_the_registry_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    assert type(LLMRegistry.new_llm("gemma-3-27b-it")) is Gemma
    assert not LLMRegistry.new_llm("gemma-3-27b-it").capabilities.tools
