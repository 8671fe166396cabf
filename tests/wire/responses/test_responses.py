"""What is the Responses API's own: items, encrypted reasoning, chains, built-in search."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from ostinato import types
from ostinato.agents import LlmAgent
from ostinato.errors import ModelRateLimitError, ModelRequestError
from ostinato.models.openai_responses_llm import OpenAIResponsesLlm
from ostinato.models.registry import LLMRegistry
from ostinato.testing import Conversation
from tests.wire.asking import ask, fails, offered, request, said, texts
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.openai_cases import run
from tests.wire.responses import script
from tests.wire.turns import Call, Turn

Part = types.Part


async def sent(*contents: types.Content, **config: Any) -> dict[str, Any]:
    """Return the body that a request becomes."""
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        await ask(script.llm(server.url), request(*contents, **config))
        assert server.requests[0].path == "/v1/responses"
        return server.requests[0].json


def user(*parts: Part) -> types.Content:
    return types.Content(role="user", parts=[*parts])


async def test_the_conversation_as_items() -> None:
    call = Part(function_call=types.FunctionCall(id="c1", name="sum", args={"a": 1}))
    result = types.FunctionResponse(id="c1", name="sum", response={"result": 3})
    foreign = Part(text="Hm.", thought=True, thought_signature=b"\x00gemini")
    body = await sent(
        said("Add."),
        types.Content(role="model", parts=[foreign, Part(text="I add."), call]),
        user(Part(function_response=result), Part(text="Go on")),
        system_instruction="Be brief.",
    )
    assert (body["instructions"], body["store"]) == ("Be brief.", False)
    assert body["include"] == ["reasoning.encrypted_content"]
    text = {"type": "input_text", "text": "Add."}
    assert body["input"] == [
        {"type": "message", "role": "user", "content": [text]},
        {"type": "message", "role": "assistant", "content": "I add."},
        {"type": "function_call", "call_id": "c1", "name": "sum", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"result": 3}'},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on"}]},
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_encrypted_reasoning_goes_back(stream: bool) -> None:
    """In a run with a tool, as an event of the session carries it."""

    def look() -> str:
        return "seen"

    turns = [Turn(calls=(Call("look"),), thought="Let me look."), Turn("Seen.")]
    async with FakeServer(script.answers(turns, stream=stream)) as server:
        await run(script.llm(server.url), look, stream=stream)
        reasoning = server.requests[1].json["input"][1]
    assert reasoning == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Let me look."}],
        "encrypted_content": "c2lnbmVk",
    }


async def test_a_chain_sends_only_what_is_new() -> None:
    turns = [Turn("One."), Turn("Two.")]
    async with FakeServer(script.answers(turns, stream=False)) as server:
        llm = script.llm(server.url, use_interactions_api=True)
        talk = Conversation(LlmAgent(name="clerk", model=llm))
        events = list(await talk.say("First"))
        await talk.say("Second")
        await llm.aclose()
        first, second = (one.json for one in server.requests)
    assert events[-1].interaction_id == "resp_1"
    assert first["store"] and "previous_response_id" not in first
    assert second["previous_response_id"] == "resp_1"
    (item,) = second["input"]
    assert item["content"] == [{"type": "input_text", "text": "Second"}]


async def test_media_in_and_out() -> None:
    data = base64.b64encode(b"xyz").decode()
    body = await sent(
        user(
            Part.from_bytes(data=b"xyz", mime_type="image/png"),
            Part.from_bytes(data=b"xyz", mime_type="application/pdf"),
            Part.from_uri(file_uri="https://x.example/a.pdf", mime_type="application/pdf"),
            Part.from_uri(file_uri="file-1", mime_type="image/png"),
        )
    )
    file = {"filename": "file.pdf", "file_data": f"data:application/pdf;base64,{data}"}
    assert body["input"][0]["content"] == [
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
        {"type": "input_file", **file},
        {"type": "input_file", "file_url": "https://x.example/a.pdf"},
        {"type": "input_image", "file_id": "file-1"},
    ]
    made = {"type": "image_generation_call", "id": "i", "status": "completed", "result": data}
    async with FakeServer([Answer(script.response([made]))]) as server:
        (got,) = await ask(script.llm(server.url), request())
    assert got.content is not None and got.content.parts is not None
    assert got.content.parts[0].inline_data == types.Blob(data=b"xyz", mime_type="image/png")


async def test_sound_is_not_sent() -> None:
    async with FakeServer() as server:
        heard = user(Part.from_bytes(data=b"x", mime_type="audio/wav"))
        found = await fails(script.llm(server.url), request(heard))
    assert isinstance(found, ModelRequestError)
    assert "audio/wav" in str(found) and "openai-chat:" in str(found)


async def test_settings_and_tools() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    body = await sent(
        temperature=0.5,
        max_output_tokens=9,
        thinking_config=types.ThinkingConfig(
            thinking_level=types.ThinkingLevel.HIGH, include_thoughts=True
        ),
        response_json_schema=schema,
        tools=[*offered("look"), types.Tool(google_search=types.GoogleSearch())],
        tool_config={"function_calling_config": {"mode": "ANY"}},
    )
    assert (body["temperature"], body["max_output_tokens"]) == (0.5, 9)
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    form = body["text"]["format"]
    assert (form["type"], form["strict"]) == ("json_schema", True)
    look, search = body["tools"]
    assert (look["name"], look["strict"], search) == ("look", False, {"type": "web_search"})
    assert body["tool_choice"] == "required"


async def test_a_search_and_its_sources() -> None:
    action = {"type": "search", "query": "ferries", "sources": [{"url": "https://x.example"}]}
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": action}
    cited = {"type": "url_citation", "url": "https://x.example", "title": "X", "start_index": 0}
    said_so = script.message("Ferries float.", annotations=[{**cited, "end_index": 7}])
    unknown = {"type": "dream", "id": "d"}
    async with FakeServer([Answer(script.response([search, unknown, said_so]))]) as server:
        (got,) = await ask(script.llm(server.url), request())
    assert texts([got]) == "Ferries float."
    assert got.citation_metadata is not None and got.citation_metadata.citations is not None
    assert got.citation_metadata.citations[0].title == "X"
    assert got.grounding_metadata is not None
    assert got.grounding_metadata.web_search_queries == ["ferries"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("rate_limit_exceeded", ModelRateLimitError, True),
        ("invalid_prompt", ModelRequestError, False),
    ],
)
async def test_a_response_that_failed(stream: bool, code: str, kind: type, retryable: bool) -> None:
    made = script.response([], status="failed", error={"code": code, "message": "No."})
    answer = Answer(sse([{"type": "response.failed", "response": made}]) if stream else made)
    async with FakeServer([answer]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert type(found) is kind and found.retryable is retryable and "No." in str(found)


async def test_an_error_event() -> None:
    made = [{"type": "error", "code": "server_error", "message": "Broken"}]
    async with FakeServer([Answer(sse(made))]) as server:
        found = await fails(script.llm(server.url), request(), stream=True)
    assert found.status == 500 and found.retryable


async def test_a_refusal_and_an_answer_cut_short() -> None:
    refused = {**script.message(""), "content": [{"type": "refusal", "refusal": "I will not."}]}
    cut = {**script.call(Call("wipe")), "arguments": "", "status": "incomplete"}
    short = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    answers = [Answer(script.response([refused])), Answer(script.response([cut], **short))]
    async with FakeServer(answers) as server:
        llm = script.llm(server.url)
        (got,) = await ask(llm, request())
        assert (got.error_code, got.error_message) == ("SAFETY", "I will not.")
        (got,) = await ask(llm, request())
    assert got.finish_reason is types.FinishReason.MAX_TOKENS
    assert [call.args for call in got.get_function_calls()] == [{"__invalid_json__": ""}]


async def test_a_stream_whose_end_repeats_no_items() -> None:
    made = script.events(Turn("Hello."))
    made[-1]["response"]["output"] = []
    async with FakeServer([Answer(sse(made))]) as server:
        assert texts(await ask(script.llm(server.url), request(), stream=True)) == "Hello."


async def test_what_a_message_is_goes_back() -> None:
    made = {**script.message("First I look."), "phase": "commentary"}
    answers = [Answer(script.response([made])), *script.answers([Turn("Yes.")], stream=False)]
    async with FakeServer(answers) as server:
        llm = script.llm(server.url)
        (got,) = await ask(llm, request())
        assert got.content is not None
        await ask(llm, request(said("Hi"), got.content, said("So?")))
        assert server.requests[1].json["input"][1]["phase"] == "commentary"


def test_the_registry_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", script.KEY)
    llm = LLMRegistry.new_llm("openai:gpt-5")
    assert isinstance(llm, OpenAIResponsesLlm) and llm.model == "gpt-5"
    assert llm.capabilities.thinking and llm.supports_output_schema_with_tools
    assert not LLMRegistry.new_llm("gpt-4.1").capabilities.thinking
