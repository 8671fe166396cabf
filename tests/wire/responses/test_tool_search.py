"""Deferred tools at OpenAI: the API searches them, and its searches go back as they came."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.agents import RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.testing import Conversation
from tests.wire.deferred import make_clerk, ran
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.responses import script
from tests.wire.turns import Call, Turn

LOADED = {
    "type": "function",
    "name": "cancel_order",
    "description": "Do cancel order.",
    "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}},
    "strict": False,
    "defer_loading": True,
}
SEARCHED: list[dict[str, Any]] = [
    {
        "type": "tool_search_call",
        "id": "tsc_1",
        "call_id": None,
        "execution": "server",
        "arguments": {"paths": ["cancel_order"]},
        "status": "completed",
    },
    {
        "type": "tool_search_output",
        "id": "tso_1",
        "call_id": None,
        "execution": "server",
        "tools": [LOADED],
        "status": "completed",
    },
]
CALLED = {**script.call(Call("cancel_order", {"number": 7})), "namespace": "cancel_order"}


def answer(output: list[dict[str, Any]], stream: bool) -> Answer:
    made = script.response(output)
    if not stream:
        return Answer(made)
    done = [{"type": "response.output_item.done", "item": item} for item in output]
    return Answer(sse([*done, {"type": "response.completed", "response": made}], named=True))


@pytest.mark.parametrize("stream", [False, True])
async def test_the_api_searches_and_the_prompt_stays_the_same(stream: bool) -> None:
    config = RunConfig(streaming_mode=StreamingMode.SSE) if stream else RunConfig()
    done = script.items(Turn("Cancelled."))
    answers = [answer([*SEARCHED, CALLED], stream), answer(done, stream), answer(done, stream)]
    async with FakeServer(answers) as server:
        model = script.llm(server.url, model="gpt-5.4")
        talk = Conversation(make_clerk(model))
        await talk.say("Cancel order 7.", run_config=config)
        await talk.say("Thanks.", run_config=config)
        await model.aclose()
        await talk.runner.close()
    assert ran == ["cancel_order 7"]
    first, second, third = [request.json for request in server.requests]
    told = [(tool.get("name"), tool["type"], tool.get("defer_loading")) for tool in first["tools"]]
    assert told == [
        ("greet", "function", None),
        (None, "tool_search", None),
        ("list_orders", "function", True),
        ("cancel_order", "function", True),
        ("ship_order", "function", True),
    ]
    assert first["tools"] == second["tools"] == third["tools"]
    search, output, call = second["input"][1:4]
    assert search == {name: value for name, value in SEARCHED[0].items() if name != "id"}
    assert output == {name: value for name, value in SEARCHED[1].items() if name != "id"}
    assert (call["name"], call["namespace"]) == ("cancel_order", "cancel_order")
    assert third["input"][: len(second["input"])] == second["input"]


async def test_without_deferred_tools_the_searches_are_left_out() -> None:
    answers = [answer([*SEARCHED, CALLED], False), *[answer(script.items(Turn("Ok.")), False)] * 2]
    async with FakeServer(answers) as server:
        model = script.llm(server.url, model="gpt-5.4")
        talk = Conversation(make_clerk(model))
        await talk.say("Cancel order 7.")
        agent: Any = talk.runner.agent
        agent.tools = [agent.tools[1]]
        await talk.say("Go on.")
        await model.aclose()
        await talk.runner.close()
    kinds = [item["type"] for item in server.requests[2].json["input"]]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message"]


@pytest.mark.parametrize(
    ("model", "count", "is_native"),
    [
        ("gpt-5.4", 100, True),
        ("gpt-6-astra", 3, True),
        ("gpt-5.4", 101, False),
        ("gpt-5.1", 3, False),
        ("gpt-5-test", 3, False),
        ("o4-mini", 3, False),
        ("gpt-5.4-chat-latest", 3, False),
    ],
)
async def test_elsewhere_the_search_is_local(model: str, count: int, is_native: bool) -> None:
    async with FakeServer([answer(script.items(Turn("Hello.")), False)]) as server:
        gpt = script.llm(server.url, model=model)
        talk = Conversation(make_clerk(gpt, *(f"act_{number}" for number in range(count))))
        await talk.say("Hello.")
        await gpt.aclose()
        await talk.runner.close()
    tools = server.requests[0].json["tools"]
    second = {"type": "tool_search"} if is_native else {"name": "search_tools"}
    assert second.items() <= tools[1].items()
    assert len(tools) == (2 + count if is_native else 2)
