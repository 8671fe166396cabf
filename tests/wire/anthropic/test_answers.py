"""What Claude says, whole and streamed, through the real SDK: text, calls, thoughts, sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ostinato import types
from ostinato.models.invalid_args import INVALID_ARGS_KEY
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Call, Turn

from .script import answers, blocks_of, events, llm, streamed, whole

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def asking(text: str = "Hello", **config: Any) -> LlmRequest:
    return LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)])],
        config=types.GenerateContentConfig(**config),
    )


async def responses(
    answer: Answer | Sequence[Answer], *, stream: bool, request: LlmRequest | None = None
) -> list[LlmResponse]:
    given = [answer] if isinstance(answer, Answer) else answer
    async with FakeServer(given) as server:
        model = llm(server.url)
        got = [r async for r in model.generate_content_async(request or asking(), stream=stream)]
        await model.aclose()
    assert all(r.partial for r in got[:-1])
    assert not got[-1].partial
    return got


async def said(blocks: list[dict[str, Any]], *, stream: bool, **more: Any) -> LlmResponse:
    write = streamed if stream else whole
    return (await responses(write(blocks, **more), stream=stream))[-1]


def parts(response: LlmResponse) -> list[types.Part]:
    assert response.content is not None
    return response.content.parts or []


@STREAMED
async def test_text(stream: bool) -> None:
    got = await responses(answers([Turn(text="Hello, you.")], stream=stream), stream=stream)
    assert [p.text for p in parts(got[-1])] == ["Hello, you."]
    assert got[-1].finish_reason == types.FinishReason.STOP
    assert got[-1].model_version == "claude-sonnet-4-5-20250929"
    assert [p.text for r in got[:-1] for p in parts(r)] == (["Hello", ", you."] if stream else [])


@STREAMED
async def test_usage_counts_what_the_cache_gave_to_the_prompt(stream: bool) -> None:
    usage = (await said([{"type": "text", "text": "x"}], stream=stream)).usage_metadata
    assert usage is not None
    assert usage.prompt_token_count == 15
    assert usage.cached_content_token_count == 3
    assert usage.candidates_token_count == 7
    assert usage.total_token_count == 22


async def test_usage_tells_thoughts_and_what_the_cache_took_in() -> None:
    usage = {
        "input_tokens": 5,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
        "cache_creation_input_tokens": 100,
    }
    got = await said([{"type": "text", "text": "x"}], stream=False, usage=usage)
    assert got.usage_metadata is not None
    assert got.usage_metadata.prompt_token_count == 105
    assert got.usage_metadata.candidates_token_count == 5
    assert got.usage_metadata.thoughts_token_count == 4
    assert got.usage_metadata.total_token_count == 114
    assert got.custom_metadata == {"cache_creation_input_tokens": 100}


@STREAMED
async def test_calls_in_parallel_after_a_text(stream: bool) -> None:
    turn = Turn(
        text="I look.",
        calls=(Call("weather", {"city": "Rome"}, "toolu_1"), Call("now", {}, "toolu_2")),
    )
    got = await responses(answers([turn], stream=stream), stream=stream)
    assert [(c.id, c.name, c.args) for c in got[-1].get_function_calls()] == [
        ("toolu_1", "weather", {"city": "Rome"}),
        ("toolu_2", "now", {}),
    ]
    assert not [c for r in got[:-1] for c in r.get_function_calls()]


async def test_arguments_may_come_a_character_at_a_time() -> None:
    block = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    stream = events([block])
    at = next(i for i, e in enumerate(stream) if e["type"] == "content_block_delta")
    text = '{"city": "Zürich", "days": [1, 2]}'
    stream[at : at + 1] = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": character},
        }
        for character in text
    ]
    lines = [f"event: {e['type']}\ndata: {_json(e)}\n\n".encode() for e in stream]
    single = [bytes([byte]) for line in lines for byte in line]
    got = await responses(Answer(single), stream=True)
    assert got[-1].get_function_calls()[0].args == {"city": "Zürich", "days": [1, 2]}


def _json(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False)


@pytest.mark.parametrize("text", ['{"city": "Ro', "[1]", "nonsense"])
async def test_arguments_that_are_no_object_are_kept_as_they_came(text: str) -> None:
    block = {"type": "tool_use", "id": "t", "name": "f", "input": text}
    got = await said([block], stream=True)
    assert got.get_function_calls()[0].args == {INVALID_ARGS_KEY: text}


@STREAMED
@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
async def test_a_call_that_ran_out_of_tokens_is_not_taken_for_whole(
    stream: bool, stop: str
) -> None:
    blocks = blocks_of(Turn(calls=(Call("a", {"x": 1}, "t1"), Call("b", {"x": 1}, "t2"))))
    got = await said(blocks, stream=stream, stop=stop)
    first, last = got.get_function_calls()
    assert first.args == {"x": 1}
    assert last.args is not None and '{"x": 1}' in last.args[INVALID_ARGS_KEY]
    assert got.finish_reason == types.FinishReason.MAX_TOKENS


@STREAMED
async def test_thoughts_and_their_signatures(stream: bool) -> None:
    turn = Turn(text="Rome.", thought="Which city?", signature="c2lnbmVk")
    got = await responses(answers([turn], stream=stream), stream=stream)
    thought, text = parts(got[-1])
    assert (thought.text, thought.thought, thought.thought_signature) == (
        "Which city?",
        True,
        b"c2lnbmVk",
    )
    assert (text.text, text.thought) == ("Rome.", None)
    if stream:
        pieces = [p for r in got[:-1] for p in parts(r)]
        assert "".join(p.text or "" for p in pieces if p.thought) == "Which city?"
        assert "".join(p.text or "" for p in pieces if not p.thought) == "Rome."


SEARCH = [
    {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []},
]


@STREAMED
async def test_thoughts_in_secret_and_the_apis_own_tools_are_kept_as_they_came(
    stream: bool,
) -> None:
    secret = {"type": "redacted_thinking", "data": "ZW5j"}
    got = await said([secret, *SEARCH, {"type": "text", "text": "So."}], stream=stream)
    kept = [p.part_metadata["anthropic"] for p in parts(got) if p.part_metadata]
    assert kept == [secret, *SEARCH]
    assert [p.thought for p in parts(got)] == [True, None, None, None]


@STREAMED
async def test_sources_name_the_place_in_the_answer(stream: bool) -> None:
    page = {
        "type": "web_search_result_location",
        "url": "https://a.example/",
        "title": "A",
        "cited_text": "sky",
        "encrypted_index": "e",
    }
    quoted = {
        "type": "char_location",
        "document_index": 0,
        "document_title": "Doc",
        "cited_text": "sky",
        "start_char_index": 4,
        "end_char_index": 7,
    }
    blocks = [
        {"type": "text", "text": "I read: "},
        {"type": "text", "text": "the sky is blue", "citations": [page, quoted]},
        {"type": "text", "text": "."},
    ]
    got = await said(blocks, stream=stream)
    assert [p.text for p in parts(got)] == ["I read: the sky is blue."]
    assert got.citation_metadata is not None
    assert got.citation_metadata.citations == [
        types.Citation(start_index=8, end_index=23, title="A", uri="https://a.example/"),
        types.Citation(start_index=8, end_index=23, title="Doc"),
    ]


@STREAMED
async def test_a_refusal_is_an_error_without_what_was_written(stream: bool) -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "This could harm."}
    blocks = blocks_of(Turn(text="First,", calls=(Call("f"),)))
    got = await said(blocks, stream=stream, stop="refusal", stop_details=details)
    assert (got.error_code, got.error_message) == ("SAFETY", "This could harm.")
    assert got.content is None
    assert got.finish_reason == types.FinishReason.SAFETY


@STREAMED
async def test_no_content_at_all(stream: bool) -> None:
    got = await said([], stream=stream)
    assert parts(got) == []
    assert got.finish_reason == types.FinishReason.STOP


@STREAMED
@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("max_tokens", types.FinishReason.MAX_TOKENS),
        ("model_context_window_exceeded", types.FinishReason.MAX_TOKENS),
        ("stop_sequence", types.FinishReason.STOP),
        ("brand_new_reason", types.FinishReason.OTHER),
    ],
)
async def test_finish_reasons(stream: bool, stop: str, reason: types.FinishReason) -> None:
    got = await said([{"type": "text", "text": "so"}], stream=stream, stop=stop)
    assert got.finish_reason == reason


@STREAMED
async def test_a_paused_turn_goes_on_where_it_paused(stream: bool) -> None:
    write = streamed if stream else whole
    script = [
        write([*SEARCH], stop="pause_turn"),
        write([{"type": "text", "text": "Found."}]),
    ]
    async with FakeServer(script) as server:
        model = llm(server.url)
        got = [r async for r in model.generate_content_async(asking(), stream=stream)]
        await model.aclose()
    assert parts(got[-1])[-1].text == "Found."
    assert len(parts(got[-1])) == 3
    assert [r.partial for r in got].count(None) == 1
    first, second = (r.json["messages"] for r in server.requests)
    assert second == [*first, {"role": "assistant", "content": SEARCH}]
    usage = got[-1].usage_metadata
    assert usage is not None and usage.candidates_token_count == 14


async def test_unknown_events_and_deltas_are_passed_over() -> None:
    stream = events([{"type": "text", "text": "ab"}])
    stream.insert(2, {"type": "brand_new", "x": 1})
    stream.insert(
        3, {"type": "content_block_delta", "index": 0, "delta": {"type": "brand_new_delta"}}
    )
    lines = [f"event: {e['type']}\ndata: {_json(e)}\n\n".encode() for e in stream]
    got = await responses(Answer(lines), stream=True)
    assert [p.text for p in parts(got[-1])] == ["ab"]


async def test_one_connection_serves_a_model_for_its_life() -> None:
    script = answers([Turn(text="1"), Turn(text="2")], stream=True)
    script += answers([Turn(text="3")], stream=False)
    async with FakeServer(script) as server:
        model = llm(server.url)
        for stream in (True, True, False):
            assert [r async for r in model.generate_content_async(asking(), stream=stream)]
        await model.aclose()
    assert server.connections == 1
