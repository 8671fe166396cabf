"""What is chat completions' own: messages, settings, dialects of servers."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.errors import ModelRequestError, ModelUnavailableError
from ostinato.models.openai_llm import OpenAILlm
from ostinato.models.registry import LLMRegistry
from tests.support.optionals import parts_of
from tests.wire.asking import ask, fails, offered, request, said, texts
from tests.wire.chat import script
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.turns import Turn

Part = types.Part


async def sent(*contents: types.Content, provider: str = "", **config: Any) -> dict[str, Any]:
    """Return the body that a request becomes."""
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        given = {"provider": provider} if provider else {}
        await ask(script.llm(server.url, **given), request(*contents, **config))
        assert server.requests[0].path == "/v1/chat/completions"
        assert server.requests[0].headers["authorization"] == f"Bearer {script.KEY}"
        return server.requests[0].json


def user(*parts: Part) -> types.Content:
    return types.Content(role="user", parts=[*parts])


def model(*parts: Part) -> types.Content:
    return types.Content(role="model", parts=[*parts])


async def test_the_conversation_as_messages() -> None:
    thought = Part(text="Hm.", thought=True)
    call = Part(function_call=types.FunctionCall(id="c1", name="sum", args={"a": 1}))
    result = types.FunctionResponse(id="c1", name="sum", response={"result": 3})
    body = await sent(
        said("Add."),
        model(thought, Part(text="I "), Part(text="add."), call),
        user(Part(function_response=result), Part(text="Go"), Part(text="on")),
        system_instruction="Be brief.",
    )
    assert body["model"] == "gpt-test" and "stream" not in body
    function = {"name": "sum", "arguments": '{"a": 1}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": "I add.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": '{"result": 3}'},
        {"role": "user", "content": "Go\non"},
    ]


async def test_calls_without_ids_get_the_same_ones_in_each_request() -> None:
    calls = [Part(function_call=types.FunctionCall(name=name)) for name in ("f", "g", "f")]
    answers = [
        Part(function_response=types.FunctionResponse(name=name, response={"n": n}))
        for n, name in enumerate(("f", "g", "f"))
    ]
    contents = [said("Go"), model(*calls), user(*answers)]
    first, second = await sent(*contents), await sent(*contents, said("more"))
    ids = [call["id"] for call in first["messages"][1]["tool_calls"]]
    assert len(set(ids)) == 3
    assert [message["tool_call_id"] for message in first["messages"][2:]] == ids
    assert second["messages"][:5] == first["messages"]


async def test_media_in() -> None:
    data = base64.b64encode(b"xyz").decode()
    body = await sent(
        user(
            Part(text="Look"),
            Part.from_bytes(data=b"xyz", mime_type="image/png"),
            Part.from_uri(file_uri="https://x.example/a.jpg", mime_type="image/jpeg"),
            Part.from_bytes(data=b"xyz", mime_type="audio/wav"),
            Part.from_bytes(data=b"xyz", mime_type="application/pdf"),
            Part.from_bytes(data=b"a,b", mime_type="text/csv"),
            Part.from_uri(file_uri="file-123", mime_type="application/pdf"),
        )
    )
    file = {"filename": "file.pdf", "file_data": f"data:application/pdf;base64,{data}"}
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "image_url", "image_url": {"url": "https://x.example/a.jpg"}},
        {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}},
        {"type": "file", "file": file},
        {"type": "text", "text": "a,b"},
        {"type": "file", "file": {"file_id": "file-123"}},
    ]


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (Part.from_bytes(data=b"x", mime_type="video/mp4"), "video/mp4"),
        (Part.from_bytes(data=b"x", mime_type="audio/flac"), "audio/flac"),
        (Part(file_data=types.FileData(file_uri="gs://b/a.pdf?token=SECRET")), "gs://b/a.pdf"),
        (Part(tool_call=types.ToolCall(id="1")), "tool_call"),
    ],
)
async def test_what_chat_cannot_carry_is_not_sent(part: Part, word: str) -> None:
    async with FakeServer() as server:
        found = await fails(script.llm(server.url), request(user(part)))
    assert isinstance(found, ModelRequestError) and word in str(found)


async def test_images_out() -> None:
    url = "data:image/png;base64," + base64.b64encode(b"png").decode()
    images = [{"type": "image_url", "image_url": {"url": url}}]
    async with FakeServer([Answer(script.whole(Turn("Here."), images=images))]) as server:
        got = await ask(script.llm(server.url), request())
    assert got[-1].content is not None
    _, image = parts_of(got[-1])
    assert image.inline_data == types.Blob(data=b"png", mime_type="image/png")


async def test_settings() -> None:
    config: dict[str, Any] = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 100,
        "stop_sequences": ["END"],
        "seed": 7,
        "presence_penalty": 0.1,
        "response_logprobs": True,
        "logprobs": 2,
        "candidate_count": 1,
        "thinking_config": types.ThinkingConfig(thinking_budget=4000),
    }
    expected: dict[str, Any] = {
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
        "presence_penalty": 0.1,
        "logprobs": True,
        "top_logprobs": 2,
        "n": 1,
        "reasoning_effort": "medium",
    }
    body = await sent(provider="openai-chat", **config)
    assert body | expected | {"max_completion_tokens": 100} == body
    body = await sent(**config)
    assert body | expected | {"max_tokens": 100} == body


@pytest.mark.parametrize(
    ("mode", "names", "choice"),
    [
        ("ANY", None, "required"),
        ("NONE", None, "none"),
        ("AUTO", None, "auto"),
        ("ANY", "b", "required"),
    ],
)
async def test_tools(mode: str, names: str | None, choice: str) -> None:
    calling = {"mode": mode, "allowed_function_names": [names] if names else None}
    declaration = types.FunctionDeclaration(
        name="a",
        description="A.",
        parameters=types.Schema.model_validate(
            {"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}}}
        ),
    )
    tools = [types.Tool(function_declarations=[declaration]), *offered("b")]
    body = await sent(tools=tools, tool_config={"function_calling_config": calling})
    assert body["tool_choice"] == choice
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    functions = [tool["function"] for tool in body["tools"]]
    if not names:
        assert functions[0] == {"name": "a", "description": "A.", "parameters": schema}
    assert functions[-1]["parameters"] == {"type": "object", "properties": {}}
    assert len(functions) == (1 if names else 2)


class Flight(BaseModel):
    """A flight."""

    city: str
    price: float = 0.0


async def test_structured_output() -> None:
    wanted = {"response_schema": Flight, "response_mime_type": "application/json"}
    form = (await sent(**wanted))["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("Flight", True)
    assert form["schema"]["required"] == ["city", "price"]
    assert form["schema"]["additionalProperties"] is False
    form = (await sent(response_json_schema={"type": "object"}))["response_format"]["json_schema"]
    assert form == {"name": "response", "strict": False, "schema": {"type": "object"}}
    body = await sent(response_schema=list[Flight], system_instruction="Be brief.")
    assert "response_format" not in body and '"array"' in body["messages"][0]["content"]
    body = await sent(provider="deepseek", **wanted)
    assert "response_format" not in body and "city" in body["messages"][0]["content"]
    body = await sent(response_mime_type="application/json")
    assert body["response_format"] == {"type": "json_object"}


async def test_thoughts_go_back_to_servers_that_want_them() -> None:
    contents = [said("Hi"), model(Part(text="Hm.", thought=True), Part(text="Yes.")), said("So?")]
    body = await sent(*contents, provider="deepseek")
    assert body["messages"][1]["reasoning_content"] == "Hm."
    assert "reasoning_content" not in (await sent(*contents))["messages"][1]


@pytest.mark.parametrize("stream", [False, True])
async def test_proofs_of_thoughts_go_back_to_openrouter(stream: bool) -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "signature": "sig", "index": 0}
    if stream:
        first = {**detail, "text": "H", "signature": None}
        last = {**detail, "text": "m."}
        deltas = [{"reasoning_details": [one]} for one in (first, last)]
        made = [*map(script.chunk, [*deltas, {"content": "Yes."}]), script.chunk({}, "stop")]
        answer = Answer(sse(made, done="[DONE]"))
    else:
        answer = Answer(script.whole(Turn("Yes."), reasoning_details=[detail]))
    again = script.answers([Turn("So.")], stream=False)
    async with FakeServer([answer, *again]) as server:
        llm = script.llm(server.url, provider="openrouter")
        got = await ask(llm, request(), stream=stream)
        assert got[-1].content is not None
        await ask(llm, request(said("Hi"), got[-1].content, said("So?")))
        assert server.requests[1].json["messages"][1]["reasoning_details"] == [detail]


async def test_a_refusal_is_a_safety_block() -> None:
    answer = script.whole(Turn(), refusal="I will not.")
    async with FakeServer([Answer(answer)]) as server:
        got = await ask(script.llm(server.url), request())
    assert (got[-1].error_code, got[-1].error_message) == ("SAFETY", "I will not.")


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_cut_short_by_its_length(stream: bool) -> None:
    """A call whose arguments did not come any more is not taken for one without arguments."""
    calls = [{"index": 0, "id": "c", "function": {"name": "wipe", "arguments": ""}}]
    if stream:
        made = [script.chunk({"tool_calls": calls}), script.chunk({}, "length")]
        answer = Answer(sse(made, done="[DONE]"))
    else:
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "length"}
        answer = Answer(script.response(choice))
    async with FakeServer([answer]) as server:
        got = await ask(script.llm(server.url), request(), stream=stream)
    assert got[-1].finish_reason is types.FinishReason.MAX_TOKENS
    assert [call.args for call in got[-1].get_function_calls()] == [{"__invalid_json__": ""}]


async def test_calls_that_a_server_numbers_badly() -> None:
    """All calls under number 0, each at once, without ids or with arguments as an object."""
    deltas = [
        {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"n": 1}'}},
        {"index": 0, "id": "b", "function": {"name": "g", "arguments": {"n": 2}}},
    ]
    made = [script.chunk({"tool_calls": [delta]}) for delta in deltas]
    async with FakeServer([Answer(sse([*made, script.chunk({}, "stop")]))]) as server:
        got = await ask(script.llm(server.url), request(), stream=True)
    calls = got[-1].get_function_calls()
    assert [(call.id, call.name, call.args) for call in calls] == [
        ("a", "f", {"n": 1}),
        ("b", "g", {"n": 2}),
    ]


async def test_sources_and_log_probabilities() -> None:
    cited = {"url": "https://x.example", "title": "X", "start_index": 0, "end_index": 3}
    body = script.whole(Turn("Yes."), annotations=[{"type": "url_citation", "url_citation": cited}])
    body["citations"] = ["https://y.example"]
    token = {"token": "Yes", "logprob": -0.5, "top_logprobs": [{"token": "No", "logprob": -2}]}
    body["choices"][0]["logprobs"] = {"content": [token]}
    async with FakeServer([Answer(body)]) as server:
        (got,) = await ask(script.llm(server.url), request())
    assert got.citation_metadata is not None and got.citation_metadata.citations is not None
    assert got.citation_metadata.citations[0].uri == "https://x.example"
    assert got.grounding_metadata is not None and got.grounding_metadata.grounding_chunks
    assert got.avg_logprobs == -0.5 and got.logprobs_result is not None


async def test_an_error_inside_a_stream() -> None:
    made = [script.chunk({"content": "Hi"}), {"error": {"message": "Gone", "code": 502}}]
    async with FakeServer([Answer(sse(made))]) as server:
        found = await fails(script.llm(server.url), request(), stream=True)
    assert found.status == 502 and found.retryable and "Gone" in str(found)


async def test_a_server_that_cannot_stream() -> None:
    async with FakeServer(script.answers([Turn("Whole.")], stream=False)) as server:
        llm = script.llm(server.url)
        got = [one async for one in llm.generate_content_async(request(), stream=True)]
        await llm.aclose()
    assert texts(got) == "Whole."


async def test_an_answer_that_is_too_large() -> None:
    answer = Answer("{}", headers={"content-length": str(200 * 1024 * 1024)}, hang=True)
    async with FakeServer([answer]) as server:
        found = await fails(script.llm(server.url), request())
    assert "100 MB" in str(found) and not found.retryable


async def test_further_fields_and_headers() -> None:
    async with FakeServer(script.answers([Turn("Yes.")], stream=False)) as server:
        llm = script.llm(server.url, extra_body={"top_k": 5})
        options = types.HttpOptions(headers={"x-title": "t"}, extra_body={"user": "u"})
        await ask(llm, request(http_options=options))
        assert server.requests[0].json | {"top_k": 5, "user": "u"} == server.requests[0].json
        assert server.requests[0].headers["x-title"] == "t"


def test_which_server_and_whose_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", script.KEY)
    assert OpenAILlm(model="m").provider.name == "openai-chat"
    other = OpenAILlm(model="m", base_url="http://10.0.0.1/v1")
    assert other.provider.name == "compatible" and other.provider.key is None
    ollama = LLMRegistry.new_llm("ollama:llama3.2")
    assert isinstance(ollama, OpenAILlm)
    assert (ollama.model, ollama.provider.title) == ("llama3.2", "Ollama")
    assert script.KEY not in repr(OpenAILlm(model="m", api_key=script.KEY))


async def test_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    found = await fails(OpenAILlm(model="m"), request())
    assert isinstance(found, ModelUnavailableError) and "OPENAI_API_KEY" in str(found)


async def test_a_copy_has_connections_of_its_own() -> None:
    """A copy that is given another place must not go on asking at the first one's."""
    answers = script.answers([Turn("Yes.")] * 2, stream=False)
    async with FakeServer(answers[:1]) as first, FakeServer(answers[1:]) as second:
        llm = script.llm(first.url)
        _ = [one async for one in llm.generate_content_async(request())]
        copied = copy.deepcopy(llm).model_copy(update={"base_url": f"{second.url}/v1"})
        await ask(copied, request())
        await llm.aclose()
        assert len(second.requests) == 1
