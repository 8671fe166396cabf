"""Whole runs over Claude: which events there are, and that no half call is ever executed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.apps import App
from ostinato.errors import ProviderError
from ostinato.models.anthropic_llm import AnthropicLlm
from ostinato.models.context_cache_config import ContextCacheConfig
from ostinato.models.wire import claude_messages
from ostinato.runners import InMemoryRunner
from ostinato.testing import Conversation, assert_trace
from tests.wire.fake_server import Answer, FakeServer, Received
from tests.wire.turns import Call, Turn

from .script import KEY, answers, blocks_of, llm, streamed, whole
from .test_answers import SEARCH, STREAMED

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


async def closed(talk: Conversation) -> None:
    """Close a runner and its model."""
    agent: Any = talk.runner.agent
    await agent.model.aclose()
    await talk.runner.close()


def config(stream: bool) -> RunConfig:
    return SSE if stream else RunConfig()


def agent(url: str, ran: list[str], *, model: AnthropicLlm | None = None) -> LlmAgent:
    def weather(city: str) -> str:
        """Tell the weather of a city."""
        ran.append(city)
        return f"sun in {city}"

    return LlmAgent(name="helper", model=model or llm(url), tools=[weather])


ROME, OSLO = Call("weather", {"city": "Rome"}, "t1"), Call("weather", {"city": "Oslo"}, "t2")


@STREAMED
async def test_a_tool_loop_with_thoughts(stream: bool) -> None:
    turns = [
        Turn(thought="Where?", text="I look.", calls=(ROME, OSLO)),
        Turn(text="Sunny."),
    ]
    ran: list[str] = []
    async with FakeServer(answers(turns, stream=stream)) as server:
        talk = Conversation(agent(server.url, ran))
        got = await talk.say("Weather?", run_config=config(stream))
        await closed(talk)
    assert ran == ["Rome", "Oslo"]
    assert_trace(
        got,
        [
            "helper: [thought] Where?",
            "helper: I look.",
            "helper: weather(city='Rome')",
            "helper: weather(city='Oslo')",
            "helper: weather -> {'result': 'sun in Rome'}",
            "helper: weather -> {'result': 'sun in Oslo'}",
            "helper: Sunny.",
        ],
    )
    assert talk.text == "Sunny."
    assert any(event.partial for event in got) == stream
    back = server.requests[1].json["messages"][1:]
    assert back[0] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Where?", "signature": "c2lnbmVk"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}},
            {"type": "tool_use", "id": "t2", "name": "weather", "input": {"city": "Oslo"}},
        ],
    }
    assert [block["tool_use_id"] for block in back[1]["content"]] == ["t1", "t2"]
    stored = await talk.session()
    assert KEY not in stored.model_dump_json()


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.service)])
async def test_a_stream_cut_at_any_byte_executes_nothing(step: int) -> None:
    """Only a message that came to its end is acted upon; then it is acted upon wholly."""
    [answer] = answers([Turn(calls=(ROME, OSLO))], stream=True)
    [after] = answers([Turn(text="Sunny.")], stream=True)
    length = sum(map(len, answer.pieces))
    cuts = [*range(0, length, step), length]
    script = [Answer(answer.body, cut_after=cut) for cut in cuts]
    ran: list[str] = []
    acted: list[int] = []

    def answered(request: Received) -> Answer:
        has_results = len(request.json["messages"]) > 1
        return after if has_results else script.pop(0)

    async with FakeServer(paths={"/v1/messages": answered}) as server:
        model = llm(server.url)
        runner = InMemoryRunner(agent(server.url, ran, model=model))
        for cut in cuts:
            ran.clear()
            talk = Conversation(runner, session_id=f"cut-{cut}")
            try:
                await talk.say("Weather?", run_config=SSE)
            except ProviderError:
                assert ran == []
                assert not [e for e in talk.events if not e.partial and e.get_function_calls()]
            else:
                assert ran == ["Rome", "Oslo"]
                acted.append(cut)
        await model.aclose()
        await runner.close()
    assert acted[-1] == length
    assert acted[0] > length - len(answer.pieces[-1])


@STREAMED
async def test_broken_arguments_go_back_to_the_model(stream: bool) -> None:
    broken: dict[str, Any] = {
        "type": "tool_use",
        "id": "t1",
        "name": "weather",
        "input": '{"city": "Ro',
    }
    write = streamed if stream else whole
    script = [write([broken]), *answers([Turn(calls=(OSLO,)), Turn(text="So.")], stream=stream)]
    ran: list[str] = []
    async with FakeServer(script) as server:
        talk = Conversation(agent(server.url, ran))
        await talk.say("Weather?", run_config=config(stream))
        await closed(talk)
    assert (ran, talk.text) == (["Oslo"], "So.")
    result = server.requests[1].json["messages"][-1]["content"][0]
    assert result["is_error"] is True
    assert '{\\"city\\": \\"Ro' in result["content"][0]["text"].replace(
        '\\\\"', '\\"'
    ) or "Ro" in str(result)


@STREAMED
async def test_a_call_out_of_tokens_is_not_executed(stream: bool) -> None:
    write = streamed if stream else whole
    script = [
        write(blocks_of(Turn(calls=(ROME,))), stop="max_tokens"),
        *answers([Turn(text="So.")], stream=stream),
    ]
    ran: list[str] = []
    async with FakeServer(script) as server:
        talk = Conversation(agent(server.url, ran))
        await talk.say("Weather?", run_config=config(stream))
        await closed(talk)
    assert (ran, talk.text) == ([], "So.")


@STREAMED
async def test_a_refusal_ends_the_run_without_its_calls(stream: bool) -> None:
    write = streamed if stream else whole
    ran: list[str] = []
    script = [write(blocks_of(Turn(text="Well,", calls=(ROME,))), stop="refusal")]
    async with FakeServer([*script, *answers([Turn(text="Hi.")], stream=stream)]) as server:
        talk = Conversation(agent(server.url, ran))
        got = await talk.say("Weather?", run_config=config(stream))
        assert (got[-1].error_code, ran) == ("SAFETY", [])
        await talk.say("Hello?", run_config=config(stream))
        await closed(talk)
    assert talk.text == "Hi."
    assert "Well," not in str(server.requests[1].json)


@STREAMED
async def test_an_empty_answer_is_told(stream: bool) -> None:
    write = streamed if stream else whole
    async with FakeServer([write([])]) as server:
        talk = Conversation(agent(server.url, []))
        got = await talk.say("Weather?", run_config=config(stream))
        await closed(talk)
    assert got[-1].error_code == "EMPTY_RESPONSE"


@STREAMED
async def test_what_the_apis_own_tools_did_goes_back(stream: bool) -> None:
    write = streamed if stream else whole
    script = [
        write([*SEARCH, {"type": "text", "text": "Found."}]),
        *answers([Turn(text="Yes.")], stream=stream),
    ]
    async with FakeServer(script) as server:
        talk = Conversation(agent(server.url, []))
        await talk.say("Search", run_config=config(stream))
        await talk.say("Sure?", run_config=config(stream))
        await closed(talk)
    assert server.requests[1].json["messages"][1]["content"] == [
        *SEARCH,
        {"type": "text", "text": "Found."},
    ]


async def test_the_apps_settings_mark_for_the_cache() -> None:
    script = answers([Turn(text="One."), Turn(text="Two.")], stream=False)
    async with FakeServer(script) as server:
        app = App(
            name="app",
            root_agent=agent(server.url, []),
            context_cache_config=ContextCacheConfig(ttl_seconds=60, min_tokens=10),
        )
        talk = Conversation(InMemoryRunner(app=app))
        await talk.say("1")
        got = await talk.say("2")
        await closed(talk)
    first, second = (request.json for request in server.requests)
    assert "cache_control" not in str(first)  # nothing is known of its length
    mark = {"type": "ephemeral", "ttl": "5m"}
    assert second["tools"][-1]["cache_control"] == mark
    assert second["messages"][-1]["content"][-1]["cache_control"] == mark
    usage = got[-1].usage_metadata
    assert usage is not None and usage.cached_content_token_count == 3


async def test_no_key_in_logs_or_events(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refusal = {"type": "error", "error": {"type": "api_error", "message": f"with {KEY}"}}
    async with FakeServer([Answer(refusal, status=500)]) as server:
        talk = Conversation(agent(server.url, []))
        with pytest.raises(ProviderError) as raised:
            await talk.say("Hi")
        await closed(talk)
    stored = await talk.session()
    assert KEY not in caplog.text + str(raised.value) + stored.model_dump_json()


async def test_a_long_talk_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn N converts what is new, and the SDK never walks through the history."""
    turns, count = 30, 0
    converted: list[int] = []
    convert = claude_messages.message

    def counting(content: Any) -> Any:
        nonlocal count
        count += 1
        return convert(content)

    monkeypatch.setattr("ostinato.models.anthropic_llm.message", counting)
    script = answers([Turn(text=f"Answer {n}.") for n in range(turns)], stream=True)
    async with FakeServer(script) as server:
        talk = Conversation(agent(server.url, []))
        for n in range(turns):
            count = 0
            await talk.say(f"Question {n}?", run_config=SSE)
            converted.append(count)
        await closed(talk)
    assert len(server.requests[-1].json["messages"]) == 2 * turns - 1
    assert set(converted[1:]) == {2}
