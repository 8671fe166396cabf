"""Deferred tools at Claude: the API searches them, and its searches go back as they came."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.wire import claude_request
from ostinato.testing import Conversation
from tests.wire.chat import script as chat
from tests.wire.deferred import make_clerk, ran
from tests.wire.fake_server import FakeServer
from tests.wire.turns import Turn

from .script import blocks_of, llm, streamed, whole

SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
FOUND = [
    {"type": "text", "text": "I look for a tool."},
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "tool_search_tool_bm25",
        "input": {"query": "cancel"},
    },
    {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [
                {"type": "tool_reference", "tool_name": "cancel_order"},
                {"type": "tool_reference", "tool_name": "ship_order"},
            ],
        },
    },
    {"type": "tool_use", "id": "toolu_1", "name": "cancel_order", "input": {"number": 7}},
]
DONE = blocks_of(Turn("Cancelled."))


@pytest.mark.parametrize("stream", [False, True])
async def test_the_api_searches_and_the_prompt_stays_the_same(stream: bool) -> None:
    write = streamed if stream else whole
    config = RunConfig(streaming_mode=StreamingMode.SSE) if stream else RunConfig()
    async with FakeServer([write(FOUND), write(DONE), write(DONE)]) as server:
        model = llm(server.url)
        talk = Conversation(make_clerk(model))
        await talk.say("Cancel order 7.", run_config=config)
        await talk.say("Thanks.", run_config=config)
        await model.aclose()
        await talk.runner.close()
    assert ran == ["cancel_order 7"]
    first, second, third = [request.json for request in server.requests]
    told = [(tool["name"], tool.get("defer_loading")) for tool in first["tools"]]
    assert told == [
        ("greet", None),
        ("tool_search_tool_bm25", None),
        ("list_orders", True),
        ("cancel_order", True),
        ("ship_order", True),
    ]
    assert first["tools"][1] == SEARCH
    assert first["tools"] == second["tools"] == third["tools"]
    assert second["messages"][1] == {"role": "assistant", "content": FOUND}
    assert third["messages"][: len(second["messages"])] == second["messages"]


async def test_references_to_tools_that_are_gone_are_left_out() -> None:
    async with FakeServer([whole(FOUND), whole(DONE), whole(DONE), whole(DONE)]) as server:
        model = llm(server.url)
        talk = Conversation(make_clerk(model))
        await talk.say("Cancel order 7.")
        for names in (["cancel_order", "make_invoice"], []):
            agent: Any = talk.runner.agent
            agent.tools = make_clerk(model, *names).tools if names else [agent.tools[1]]
            await talk.say("Go on.")
        await model.aclose()
        await talk.runner.close()
    changed, without = [request.json["messages"][1]["content"] for request in server.requests[2:]]
    assert changed[2]["content"]["tool_references"] == FOUND[2]["content"]["tool_references"][:1]
    assert without == [FOUND[0], FOUND[3]]


async def test_another_model_goes_on_without_the_searches() -> None:
    async with (
        FakeServer([whole(FOUND), whole(DONE)]) as server,
        FakeServer(chat.answers([Turn("Yes?")], stream=False)) as other,
    ):
        first, second = llm(server.url), chat.llm(other.url)
        assert isinstance(second, OpenAILlm)
        talk = Conversation(make_clerk(first))
        await talk.say("Cancel order 7.")
        agent: Any = talk.runner.agent
        agent.model = second
        await talk.say("Go on.")
        await first.aclose()
        await second.aclose()
        await talk.runner.close()
    (request,) = other.requests
    assert "tool_search" not in request.body.decode()
    assert [tool["function"]["name"] for tool in request.json["tools"]] == ["greet", "search_tools"]
    called = [one["tool_calls"] for one in request.json["messages"] if "tool_calls" in one]
    assert [call["function"]["name"] for (call,) in called] == ["cancel_order"]


@pytest.mark.parametrize(
    ("model", "count", "is_native"),
    [
        ("claude-sonnet-4-5", 1_000, True),
        ("claude-sonnet-4-5", 1_001, False),
        ("claude-sonnet-4-20250514", 3, False),
        ("kimi-k2", 3, False),
    ],
)
async def test_elsewhere_the_search_is_local(model: str, count: int, is_native: bool) -> None:
    async with FakeServer([whole(DONE)]) as server:
        claude = llm(server.url, model=model)
        talk = Conversation(make_clerk(claude, *(f"act_{number}" for number in range(count))))
        await talk.say("Hello.")
        await claude.aclose()
        await talk.runner.close()
    names = [tool["name"] for tool in server.requests[0].json["tools"]]
    assert names[:2] == ["greet", "tool_search_tool_bm25" if is_native else "search_tools"]
    assert len(names) == (2 + count if is_native else 2)


def test_the_cache_ends_before_the_deferred_tools() -> None:
    tools = [{"name": "greet"}, SEARCH, {"name": "later", "defer_loading": True}]
    body: dict[str, Any] = {"tools": tools, "messages": []}
    claude_request.mark_for_cache(body, {"type": "ephemeral"})
    marked = {**SEARCH, "cache_control": {"type": "ephemeral"}}
    assert body["tools"] == [tools[0], marked, tools[2]] and "cache_control" not in tools[1]
