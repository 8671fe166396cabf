"""The oddities of servers that speak chat completions: one row of the table each."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato import types
from ostinato.models.providers import PROVIDERS
from ostinato.models.wire.chat_dialects import DIALECTS
from tests.support.optionals import parts_of
from tests.wire.asking import ask, offered, request, said
from tests.wire.chat import script
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.turns import Turn

_ASKED: dict[str, Any] = {
    "max_output_tokens": 9,
    "seed": 7,
    "top_k": 40,
    "candidate_count": 1,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "response_logprobs": True,
    "logprobs": 2,
    "store": False,
    "thinking_config": types.ThinkingConfig(thinking_budget=1000),
    "tool_config": {"function_calling_config": {"mode": "AUTO"}},
}
_DEFAULT: dict[str, Any] = {
    "max_tokens": 9,
    "seed": 7,
    "n": 1,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.2,
    "logprobs": True,
    "top_logprobs": 2,
    "store": False,
    "reasoning_effort": "low",
    "tool_choice": "auto",
    "stream_options": {"include_usage": True},
}


def _but(*left_out: str, **changed: Any) -> dict[str, Any]:
    kept = {name: value for name, value in _DEFAULT.items() if name not in left_out}
    return {**kept, **changed}


_BODIES = {
    "openai-chat": _but("max_tokens", max_completion_tokens=9),
    "azure": _but("max_tokens", max_completion_tokens=9),
    "ollama": _but(),
    "vllm": _but(top_k=40),
    "llamacpp": _but(top_k=40),
    "lmstudio": _but(top_k=40),
    "openrouter": _but(top_k=40),
    "groq": _but("logprobs", "top_logprobs", "n"),
    "deepseek": _but(),
    "mistral": _but("seed", "stream_options", random_seed=7),
    "xai": _but(),
    "together": _but(top_k=40),
    "fireworks": _but(top_k=40),
    "cerebras": _but(
        "max_tokens", "presence_penalty", "frequency_penalty", max_completion_tokens=9
    ),
    "cohere": _but(
        "n", "store", "top_logprobs", "tool_choice", "stream_options", reasoning_effort="high"
    ),
    "compatible": _but(),
}


async def _body(provider: str, *contents: types.Content, **config: Any) -> dict[str, Any]:
    async with FakeServer(script.answers([Turn("Yes.")], stream=True)) as server:
        llm = script.llm(server.url, provider=provider)
        await ask(llm, request(*contents, **config), stream=True)
        return server.requests[0].json


@pytest.mark.parametrize("provider", _BODIES)
async def test_settings_as_the_server_takes_them(provider: str) -> None:
    body = await _body(provider, tools=offered("a"), **_ASKED)
    for name in ("model", "messages", "tools", "stream"):
        del body[name]
    assert body == _BODIES[provider]


def test_each_row_of_the_table_is_shown() -> None:
    chat = {one.name for one in PROVIDERS if one.home.endswith(("OpenAILlm", "AzureOpenAILlm"))}
    assert chat == set(_BODIES)
    assert set(DIALECTS) - {"openai"} <= chat


@pytest.mark.parametrize("given", ["call_1", "c" * 9, "toolu_0123456789", "naïve-id1"])
async def test_mistral_takes_ids_of_nine_letters_and_digits(given: str) -> None:
    call = types.Part(function_call=types.FunctionCall(id=given, name="a", args={}))
    result = types.FunctionResponse(id=given, name="a", response={"result": 1})
    contents = [
        said("Go"),
        types.Content(role="model", parts=[call]),
        types.Content(role="user", parts=[types.Part(function_response=result)]),
    ]
    messages = (await _body("mistral", *contents))["messages"]
    sent = messages[1]["tool_calls"][0]["id"]
    assert sent == messages[2]["tool_call_id"]
    assert len(sent) == 9 and sent.isascii() and sent.isalnum()
    assert (sent == given) is (given == "c" * 9)
    kept = (await _body("ollama", *contents))["messages"]
    assert kept[1]["tool_calls"][0]["id"] == kept[2]["tool_call_id"] == given


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_each_field_for_thoughts_is_read(field: str) -> None:
    deltas = [{field: "Hm."}, {"content": "Yes."}]
    made = [*map(script.chunk, deltas), script.chunk({}, "stop")]
    async with FakeServer([Answer(sse(made, done="[DONE]"))]) as server:
        got = await ask(script.llm(server.url), request(), stream=True)
    assert got[-1].content is not None
    thought, text = parts_of(got[-1])
    assert (thought.thought, thought.text, text.text) == (True, "Hm.", "Yes.")


@pytest.mark.parametrize("place", ["usage", "x_groq"])
async def test_each_place_for_usage_is_read(place: str) -> None:
    usage = script.USAGE if place == "usage" else {"usage": script.USAGE}
    made = [script.chunk({"content": "Yes."}), {**script.chunk({}, "stop"), place: usage}]
    async with FakeServer([Answer(sse(made, done="[DONE]"))]) as server:
        got = await ask(script.llm(server.url), request(), stream=True)
    assert got[-1].usage_metadata is not None
    assert got[-1].usage_metadata.prompt_token_count == 20


async def test_a_stream_that_goes_on_after_its_end_is_left() -> None:
    pieces = [*sse([*script.chunks(Turn("Yes."))], done="[DONE]"), b": ping\n\n"]
    async with FakeServer([Answer(pieces, hang=True, late=True)]) as server:
        got = await ask(script.llm(server.url), request(), stream=True)
    assert got[-1].content is not None and not got[-1].partial
