"""LiteLlm without LiteLLM: what its client is asked, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import MissingExtraError, ModelAnswerError, ModelRequestError
from ostinato.models.gemma_llm import Gemma3Ollama
from ostinato.models.lite_llm import LiteLlm, LiteLLMClient
from ostinato.models.retry_policy import RetryPolicy
from ostinato.testing import Conversation
from ostinato.testing.event_trace import trace
from tests.wire.asking import ask, fails, request, said
from tests.wire.chat.script import KEY, chunk, chunks, whole
from tests.wire.turns import Call, Turn


class FakeClient(LiteLLMClient):
    """Answers with what it was given, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    async def acompletion(
        self, model: str, messages: list[Any], tools: list[Any] | None, **kwargs: Any
    ) -> Any:
        self.asked.append({"model": model, "messages": messages, "tools": tools, **kwargs})
        answer = self.answers.pop(0)
        return _each(answer) if isinstance(answer, list) else answer


async def _each(made: list[Any]) -> AsyncIterator[Any]:
    for one in made:
        yield one


def llm(*answers: Any, **options: Any) -> tuple[LiteLlm, FakeClient]:
    client = FakeClient(*answers)
    once = {"retry_policy": RetryPolicy(attempts=1)}
    return LiteLlm("groq/llama", llm_client=client, **once, **options), client


async def test_a_run_with_a_tool_ends() -> None:
    def look(place: str) -> str:
        return f"{place} seen"

    turns = [Turn("Wait.", (Call("look", {"place": "Rome"}),)), Turn("Seen.")]
    model, client = llm(*map(whole, turns))
    events = await Conversation(LlmAgent(name="clerk", model=model, tools=[look])).say("Look")
    assert trace(events) == [
        "clerk: Wait.",
        "clerk: look(place='Rome')",
        "clerk: look -> {'result': 'Rome seen'}",
        "clerk: Seen.",
    ]
    assert len(client.asked) == 2
    answered = client.asked[1]["messages"][-1]
    assert (answered["role"], answered["tool_call_id"]) == ("tool", "call_1")


async def test_gemma_calls_functions_in_its_text() -> None:
    def look(place: str) -> str:
        return f"{place} seen"

    written = '{"name": "look", "parameters": {"place": "Rome"}}'
    client = FakeClient(whole(Turn(written)), whole(Turn("Seen.")))
    model = Gemma3Ollama(llm_client=client)
    events = await Conversation(LlmAgent(name="clerk", model=model, tools=[look])).say("Look")
    assert trace(events) == [
        "clerk: look(place='Rome')",
        "clerk: look -> {'result': 'Rome seen'}",
        "clerk: Seen.",
    ]
    assert [asked["model"] for asked in client.asked] == ["ollama/gemma3:12b"] * 2
    assert not any(asked["tools"] for asked in client.asked)
    assert "look" in str(client.asked[0]["messages"][0])
    assert {message["role"] for message in client.asked[1]["messages"]} == {"user", "assistant"}


async def test_a_stream() -> None:
    model, client = llm(chunks(Turn("Hello there.", thought="Hm.")))
    got = await ask(model, request(), stream=True)
    assert len(got) > 3
    assert (client.asked[0]["stream"], client.asked[0]["num_retries"]) == (True, 0)


async def test_an_empty_call_in_a_stream_is_no_call() -> None:
    made = chunks(Turn(calls=(Call("look", {"place": "Rome"}),)))
    empty = {"index": 1, "id": None, "function": {"name": None, "arguments": ""}}
    made.insert(-2, chunk({"tool_calls": [empty]}))
    model, _ = llm(made)
    *_, last = await ask(model, request(), stream=True)
    assert [call.name for call in last.get_function_calls()] == ["look"]


async def test_a_stream_whose_end_was_made_up_is_no_answer() -> None:
    class MadeUp:
        received_finish_reason = None

        def __init__(self) -> None:
            self.chunks = _each(chunks(Turn(calls=(Call("wipe"),))))

        def __aiter__(self) -> AsyncIterator[Any]:
            return self.chunks

    model, _ = llm(MadeUp())
    assert isinstance(await fails(model, request(), stream=True), ModelAnswerError)


async def test_proofs_of_thoughts_and_calls_go_back() -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    first = whole(Turn("Yes.", (Call("look"),)), thinking_blocks=[block, hidden])
    proof = {"thought_signature": "cHJvb2Y="}
    first["choices"][0]["message"]["tool_calls"][0]["provider_specific_fields"] = proof
    model, client = llm(first, whole(Turn("So.")))
    (got,) = await ask(model, request())
    assert got.content is not None and got.content.parts is not None
    assert [part.thought_signature for part in got.content.parts] == [
        b"signed",
        b"hidden",
        None,
        b"proof",
    ]
    await ask(model, request(said("Hi"), got.content))
    back = client.asked[1]["messages"][1]
    assert back["thinking_blocks"] == [block, hidden]
    assert back["tool_calls"][0]["provider_specific_fields"] == proof


async def test_options_go_to_litellm_and_keys_stay_hidden() -> None:
    model, client = llm(whole(Turn("Yes.")), api_key=KEY, api_base="http://x", drop_params=True)
    assert KEY not in repr(model) and KEY not in str(model.model_dump())
    await ask(
        model, request(max_output_tokens=5, response_schema=types.Schema(type=types.Type.OBJECT))
    )
    asked = client.asked[0]
    assert (asked["api_key"], asked["api_base"], asked["drop_params"]) == (KEY, "http://x", True)
    assert (asked["max_tokens"], asked["tools"]) == (5, None)
    assert asked["response_format"]["type"] == "json_schema"


async def test_content_that_chat_cannot_carry() -> None:
    model, client = llm()
    film = types.Part.from_bytes(data=b"x", mime_type="video/mp4")
    found = await fails(model, request(types.Content(role="user", parts=[film])))
    assert isinstance(found, ModelRequestError) and "video/mp4" in str(found)
    assert client.asked == []


async def test_without_litellm_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "litellm", None)
    with pytest.raises(MissingExtraError, match="litellm"):
        [one async for one in LiteLlm("groq/llama").generate_content_async(request())]


class Trip(BaseModel):
    """A trip."""

    city: str


async def test_output_schema_and_tools_go_into_one_request() -> None:
    def look(place: str) -> str:
        return f"{place} seen"

    turns = [Turn("", (Call("look", {"place": "Rome"}),)), Turn('{"city": "Rome"}')]
    model, client = llm(*map(whole, turns))
    agent = LlmAgent(name="clerk", model=model, tools=[look], output_schema=Trip)
    events = await Conversation(agent).say("Look")
    assert trace(events)[-1] == 'clerk: {"city": "Rome"}'
    for asked in client.asked:
        assert [tool["function"]["name"] for tool in asked["tools"]] == ["look"]
        assert asked["response_format"]["json_schema"]["schema"]["required"] == ["city"]
    assert not Gemma3Ollama(llm_client=client).supports_output_schema_with_tools
