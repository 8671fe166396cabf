"""Interactions: each request goes on from the one that the service keeps (FEATURES row 214)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato import types
from ostinato.agents.llm_agent import LlmAgent
from ostinato.agents.run_config import RunConfig, StreamingMode
from ostinato.errors import (
    ModelAnswerError,
    ModelRateLimitError,
    ModelTimeoutError,
    ProviderError,
)
from ostinato.events.event import Event
from ostinato.models.interactions_utils import convert_tools_config_to_interactions_format
from ostinato.runners import InMemoryRunner
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.gemini.conftest import Weather, ask, request, trace
from tests.wire.gemini.script import llm
from tests.wire.mutations import mutations

BOTH = pytest.mark.parametrize("stream", [False, True])
pytestmark = pytest.mark.spec(214)
USAGE = {
    "total_input_tokens": 11,
    "total_output_tokens": 7,
    "total_thought_tokens": 3,
    "total_cached_tokens": 2,
    "total_tokens": 21,
}
THOUGHT = {
    "type": "thought",
    "signature": "c2lnbmVk",
    "summary": [{"type": "text", "text": "Look it up"}],
}
CALL = {
    "type": "function_call",
    "id": "c1",
    "name": "get_weather",
    "arguments": {"city": "Rome"},
}


def output(text: str) -> dict[str, Any]:
    return {"type": "model_output", "content": [{"type": "text", "text": text}]}


def interaction(name: str, *steps: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    made = "2026-11-21T00:00:00Z"
    return {
        "id": name,
        "status": status,
        "model": "gemini-2.5-flash",
        "object": "interaction",
        "created": made,
        "updated": made,
        "steps": list(steps),
        "usage": USAGE,
    }


def said(whole: dict[str, Any], *, stream: bool) -> Answer:
    """Return an interaction as one answer, or in the events it is streamed in."""
    if not stream:
        return Answer(whole)
    bare = {key: value for key, value in whole.items() if key not in ("steps", "usage")}
    events: list[dict[str, Any]] = [
        {"event_type": "interaction.created", "interaction": {**bare, "status": "in_progress"}}
    ]
    for index, step in enumerate(whole["steps"]):
        events += _events(index, step)
    done = {**bare, "usage": whole["usage"]}
    events.append({"event_type": "interaction.completed", "interaction": done})
    return Answer(sse(events))


def _events(index: int, step: dict[str, Any]) -> list[dict[str, Any]]:
    begun, deltas = {"type": step["type"]}, []
    if step["type"] == "function_call":
        begun |= {"id": step["id"], "name": step["name"], "arguments": {}}
        text = step.get("text", '{"city": "Rome"}')
        deltas = [{"type": "arguments_delta", "arguments": x} for x in (text[:6], text[6:])]
    elif step["type"] == "thought":
        deltas = [{"type": "thought_summary", "content": x} for x in step["summary"]]
        deltas.append({"type": "thought_signature", "signature": step["signature"]})
    else:
        text = step["content"][0]["text"]
        deltas = [{"type": "text", "text": x} for x in (text[:3], text[3:])]
    return [
        {"event_type": "step.start", "index": index, "step": begun},
        *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": index},
    ]


@BOTH
async def test_turns_are_chained(stream: bool, weather: Weather) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    script = [
        interaction("i1", THOUGHT, CALL, status="requires_action"),
        interaction("i2", output("It is 4 degrees.")),
        interaction("i3", output("You are welcome.")),
    ]
    async with FakeServer([said(x, stream=stream) for x in script]) as server:
        model = llm(server.url, use_interactions_api=True)
        agent = LlmAgent(name="helper", model=model, instruction="Be brief", tools=[get_weather])
        runner = InMemoryRunner(agent=agent, app_name="app")
        await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")
        mode = StreamingMode.SSE if stream else StreamingMode.NONE
        events: list[Event] = []
        for says in ("hello", "thanks"):
            run = runner.run_async(
                user_id="u",
                session_id="s",
                new_message=types.UserContent(says),
                run_config=RunConfig(streaming_mode=mode),
            )
            events += [event async for event in run]
        await runner.close()
        await model.aclose()
    assert weather.calls == ["Rome"]
    assert trace(events) == [
        ["(Look it up)", ("get_weather", {"city": "Rome"})],
        [{"degrees": 4}],
        ["It is 4 degrees."],
        ["You are welcome."],
    ]
    whole = [event for event in events if not event.partial]
    assert [event.interaction_id for event in whole] == ["i1", None, "i2", "i3"]
    assert (whole[0].content or types.Content()).parts[0].thought_signature == b"signed"  # type: ignore[index]
    usage = whole[0].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.thoughts_token_count) == (11, 3)
    first, second, third = (received.json for received in server.requests)
    assert "previous_interaction_id" not in first
    assert second["previous_interaction_id"] == "i1" and third["previous_interaction_id"] == "i2"
    assert [step["type"] for step in second["input"]] == ["function_result"]
    assert second["input"][0]["call_id"] == "c1"
    assert third["input"] == [
        {"type": "user_input", "content": [{"type": "text", "text": "thanks"}]}
    ]
    assert first["system_instruction"].startswith("Be brief")
    assert first["tools"][0]["name"] == "get_weather" and first["tools"][0]["type"] == "function"


async def test_pieces_are_partial_and_the_last_one_is_whole() -> None:
    async with FakeServer([said(interaction("i1", output("Hello")), stream=True)]) as server:
        *pieces, whole = await ask(llm(server.url, use_interactions_api=True), stream=True)
    assert [(piece.content or types.Content()).parts[0].text for piece in pieces] == ["Hel", "lo"]  # type: ignore[index]
    assert all(piece.partial for piece in pieces) and not whole.partial
    assert whole.interaction_id == "i1" and whole.finish_reason is types.FinishReason.STOP


async def test_arguments_that_are_no_json_are_marked() -> None:
    broken = {**CALL, "text": '{"city": "Ro'}
    script = [said(interaction("i1", broken, status="requires_action"), stream=True)]
    async with FakeServer(script) as server:
        responses = await ask(llm(server.url, use_interactions_api=True), stream=True)
    (call,) = responses[-1].get_function_calls()
    assert call.args == {"__invalid_json__": '{"city": "Ro'}


@BOTH
async def test_a_failed_interaction_is_an_error(stream: bool) -> None:
    script = [said(interaction("i1", status="failed"), stream=stream)]
    async with FakeServer(script) as server:
        responses = await ask(llm(server.url, use_interactions_api=True), stream=stream)
    assert responses[-1].error_code == "FAILED"


@pytest.mark.service  # its many cuts take ten seconds
async def test_failures_of_the_way() -> None:
    whole = said(interaction("i1", THOUGHT, CALL, status="requires_action"), stream=True)
    pieces = whole.pieces
    size = sum(map(len, pieces))
    script = [Answer(pieces, cut_after=cut) for cut in range(0, size, 7)]
    async with FakeServer(script) as server:
        model = llm(server.url, use_interactions_api=True)
        for _ in script:
            with pytest.raises(ModelAnswerError):
                [_ async for _ in model.generate_content_async(request("x"), stream=True)]
        await model.aclose()
    refused = Answer({"error": {"code": 429, "message": "later"}}, status=429)
    async with FakeServer([refused]) as server:
        with pytest.raises(ModelRateLimitError):
            await ask(llm(server.url, use_interactions_api=True))
        assert len(server.requests) == 1
    async with FakeServer([Answer(silent=True, late=True)]) as server:
        with pytest.raises(ModelTimeoutError):
            await ask(llm(server.url, use_interactions_api=True, timeout=30))


def test_tools_that_the_service_runs() -> None:
    tools: list[Any] = [
        types.Tool(google_search=types.GoogleSearch()),
        types.Tool(url_context=types.UrlContext()),
    ]
    config = types.GenerateContentConfig(tools=tools)
    found = convert_tools_config_to_interactions_format(config)
    assert found == [{"type": "google_search"}, {"type": "url_context"}]


async def test_calls_without_ids_get_ids_of_their_own() -> None:
    def look(role: str, *parts: types.Part) -> types.Content:
        return types.Content(role=role, parts=list(parts))

    def asked(call_id: str | None) -> types.Part:
        return types.Part(function_call=types.FunctionCall(id=call_id, name="look", args={}))

    def answered(call_id: str | None) -> types.Part:
        answer = types.FunctionResponse(id=call_id, name="look", response={})
        return types.Part(function_response=answer)

    said_before = [
        types.UserContent("Look"),
        look("model", asked(None), asked(None), asked("adk-1")),
        look("user", answered(None), answered(None), answered("adk-1")),
    ]
    async with FakeServer([said(interaction("i1", output("Seen.")), stream=False)]) as server:
        model = llm(server.url, use_interactions_api=True)
        await ask(model, request(contents=said_before))
        await model.aclose()
    steps = server.requests[0].json["input"]
    calls = [step["id"] for step in steps if step["type"] == "function_call"]
    results = [step["call_id"] for step in steps if step["type"] == "function_result"]
    assert calls == results and len({*calls, ""}) == 4 and calls[2] == "adk-1"


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore:.* is not a valid:UserWarning")
async def test_wrong_types_in_every_field(stream: bool) -> None:
    right = interaction("i1", THOUGHT, output("Hello"), CALL, status="requires_action")
    bodies: list[Any] = list(mutations(right))
    if stream:
        lines = b"".join(said(right, stream=True).pieces).decode().split("\n\n")
        bodies = list(mutations([json.loads(x.removeprefix("data: ")) for x in lines if x]))
    async with FakeServer(otherwise=lambda _: script.pop(0)) as server:
        model = llm(server.url, use_interactions_api=True)
        for body in bodies:
            script = [Answer(sse(body)) if stream else Answer(json.dumps(body))]
            try:
                got = [x async for x in model.generate_content_async(request("x"), stream=stream)]
            except ProviderError:
                continue
            assert got and not got[-1].partial, body
        await model.aclose()
        assert server.connections < len(bodies)
