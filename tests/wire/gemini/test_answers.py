"""What a model says arrives whole, streamed or not: text, thoughts, calls, images, blocks."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import BaseModel

from ostinato import types
from ostinato.models.llm_response import LlmResponse
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.gemini.conftest import Weather, ask, request, run, trace
from tests.wire.gemini.script import answers, candidate, llm
from tests.wire.turns import Call, Turn

BOTH = pytest.mark.parametrize("stream", [False, True])
SIGNED = base64.b64encode(b"signed").decode()


def said(body: dict[str, Any], *, stream: bool) -> Answer:
    return Answer(sse([body])) if stream else Answer(body)


async def last(*bodies: dict[str, Any], stream: bool = True) -> LlmResponse:
    """Return the whole response to pieces of an answer."""
    answer = Answer(sse(bodies)) if stream else Answer(bodies[0])
    async with FakeServer([answer]) as server:
        responses = await ask(llm(server.url), stream=stream)
    assert [bool(response.partial) for response in responses].count(False) == 1
    assert not responses[-1].partial
    return responses[-1]


def parts(response: LlmResponse) -> list[types.Part]:
    assert response.content is not None
    return response.content.parts or []


@BOTH
async def test_text_and_thoughts_in_their_order(stream: bool) -> None:
    turns = [Turn(text="Hello there", thought="He greets")]
    async with FakeServer(answers(turns, stream=stream)) as server:
        responses = await ask(llm(server.url), stream=stream)
    *pieces, whole = responses
    assert [part.text for piece in pieces for part in parts(piece)] == (
        ["He g", "reets", "Hello", " there"] if stream else []
    )
    assert [(part.text, bool(part.thought)) for part in parts(whole)] == [
        ("He greets", True),
        ("Hello there", False),
    ]
    assert whole.finish_reason is types.FinishReason.STOP
    usage = whole.usage_metadata
    assert usage is not None and whole.model_version == "gemini-2.5-flash"
    assert (usage.prompt_token_count, usage.candidates_token_count) == (11, 7)
    assert (usage.thoughts_token_count, usage.cached_content_token_count) == (3, 2)


@BOTH
async def test_a_run_with_a_call_has_the_right_event_trace(stream: bool, weather: Weather) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    turns = [
        Turn(
            thought="Look it up", calls=(Call("get_weather", {"city": "Rome"}),), signature=SIGNED
        ),
        Turn(text="It is 4 degrees."),
    ]
    async with FakeServer(answers(turns, stream=stream)) as server:
        events = await run(llm(server.url), get_weather, stream=stream)
    assert weather.calls == ["Rome"]
    assert trace(events) == [
        ["(Look it up)", ("get_weather", {"city": "Rome"})],
        [{"degrees": 4}],
        ["It is 4 degrees."],
    ]
    sent = server.requests[1].json["contents"]
    assert [content["role"] for content in sent] == ["user", "model", "user"]
    call = sent[1]["parts"][-1]
    assert base64.urlsafe_b64decode(call["thoughtSignature"]) == b"signed"
    assert call["functionCall"]["id"] == "call_1"
    assert sent[2]["parts"][0]["functionResponse"]["response"] == {"degrees": 4}
    assert sent[2]["parts"][0]["functionResponse"]["id"] == "call_1"


@BOTH
async def test_parallel_calls_run_once_each_and_are_answered_together(
    stream: bool, weather: Weather
) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    calls = (Call("get_weather", {"city": "Rome"}, "1"), Call("get_weather", {"city": "Oslo"}, "2"))
    turns = [Turn(calls=calls), Turn(text="Done.")]
    async with FakeServer(answers(turns, stream=stream)) as server:
        events = await run(llm(server.url), get_weather, stream=stream)
    assert sorted(weather.calls) == ["Oslo", "Rome"]
    assert len([event for event in events if not event.partial]) == 3
    found = [
        part["functionResponse"]["id"] for part in server.requests[1].json["contents"][2]["parts"]
    ]
    assert found == ["1", "2"]


async def test_calls_without_ids_keep_one_id_from_piece_to_whole() -> None:
    call = {"functionCall": {"name": "f", "args": {}}}
    async with FakeServer([Answer(sse([candidate(call, finish="STOP")]))]) as server:
        piece, whole = await ask(llm(server.url), stream=True)
    first, second = piece.get_function_calls()[0], whole.get_function_calls()[0]
    assert first.id == second.id and (first.id or "").startswith("adk-")


async def test_arguments_split_over_chunks_become_one_call() -> None:
    def piece(**call: Any) -> dict[str, Any]:
        return candidate({"functionCall": call})

    whole = await last(
        piece(name="book", id="c1", willContinue=True),
        piece(
            partialArgs=[{"jsonPath": "$.city", "stringValue": "Li", "willContinue": True}],
            willContinue=True,
        ),
        piece(
            partialArgs=[
                {"jsonPath": "$.city", "stringValue": "sbon"},
                {"jsonPath": "$.seats[1].row", "numberValue": 4},
                {"jsonPath": "$['a b']", "boolValue": True},
                {"jsonPath": "$.note", "nullValue": "NULL_VALUE"},
            ],
            willContinue=True,
        ),
        piece(),
        candidate(finish="STOP"),
    )
    (call,) = whole.get_function_calls()
    assert (call.id, call.name) == ("c1", "book")
    expected = {"city": "Lisbon", "seats": [None, {"row": 4}], "a b": True, "note": None}
    assert call.args == expected
    assert call.partial_args is None and call.will_continue is None


@pytest.mark.parametrize("finish", ["STOP", "MAX_TOKENS"])
async def test_a_call_whose_arguments_were_not_finished_is_not_executed(
    finish: str, weather: Weather
) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    arguments = [{"jsonPath": "$.city", "stringValue": "Ro", "willContinue": True}]
    call = {"functionCall": {"name": "get_weather", "partialArgs": arguments, "willContinue": True}}
    pieces = [candidate(call), candidate(finish=finish)]
    async with FakeServer([Answer(sse(pieces))]) as server:
        events = await run(llm(server.url), get_weather, stream=True)
    assert not weather.calls
    assert trace(events) == [finish if finish != "STOP" else "MALFORMED_FUNCTION_CALL"]


async def test_text_with_a_signature_stays_a_part_of_its_own() -> None:
    whole = await last(
        candidate({"text": "a"}),
        candidate({"text": "b"}),
        candidate({"text": "", "thoughtSignature": SIGNED}),
        candidate({"text": "c"}, finish="STOP"),
    )
    assert [(p.text, p.thought_signature) for p in parts(whole)] == [
        ("ab", None),
        ("", b"signed"),
        ("c", None),
    ]


@BOTH
async def test_images_come_out_and_media_go_in(stream: bool) -> None:
    image = {
        "inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"\xff\xfe").decode()}
    }
    async with FakeServer([said(candidate(image, finish="STOP"), stream=stream)]) as server:
        media = [
            types.Part(inline_data=types.Blob(data=b"\xfb\xff", mime_type=mime, display_name="n"))
            for mime in ("image/png", "audio/wav", "application/pdf")
        ]
        file = types.FileData(file_uri="gs://a/b.mp4", mime_type="video/mp4", display_name="n")
        media.append(types.Part(file_data=file))
        asked = request(contents=[types.Content(role="user", parts=media)])
        responses = await ask(llm(server.url), asked, stream=stream)
    blob = parts(responses[-1])[0].inline_data
    assert blob is not None and blob.data == b"\xff\xfe" and blob.mime_type == "image/png"
    sent = server.requests[0].json["contents"][0]["parts"]
    assert [part["inlineData"]["mimeType"] for part in sent[:3]] == [
        "image/png",
        "audio/wav",
        "application/pdf",
    ]
    assert base64.urlsafe_b64decode(sent[0]["inlineData"]["data"]) == b"\xfb\xff"
    assert sent[3] == {"fileData": {"fileUri": "gs://a/b.mp4", "mimeType": "video/mp4"}}
    assert "displayName" not in server.requests[0].body.decode()


@BOTH
async def test_code_that_the_service_ran(stream: bool) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
    body = candidate(code, result, {"text": "One."}, finish="STOP")
    async with FakeServer([said(body, stream=stream), said(body, stream=stream)]) as server:
        model = llm(server.url)
        responses = [r async for r in model.generate_content_async(request("x"), stream=stream)]
        first, second, third = parts(responses[-1])
        content = responses[-1].content
        assert content is not None
        await ask(model, request(contents=[content, types.UserContent("go on")]), stream=stream)
    assert first.executable_code is not None and first.executable_code.code == "print(1)"
    assert second.code_execution_result is not None and third.text == "One."
    sent = server.requests[1].json["contents"][0]["parts"]
    assert sent[:2] == [code, result]


@BOTH
async def test_grounding_and_citations(stream: bool) -> None:
    whole = await last(
        candidate(
            {"text": "a"},
            finish="STOP",
            groundingMetadata={
                "webSearchQueries": ["q"],
                "groundingChunks": [{"web": {"uri": "http://x", "title": "X"}}],
            },
            citationMetadata={"citationSources": [{"uri": "http://y", "startIndex": 1}]},
            avgLogprobs=-0.5,
        ),
        stream=stream,
    )
    grounding, citations = whole.grounding_metadata, whole.citation_metadata
    assert grounding is not None and grounding.web_search_queries == ["q"]
    chunk = (grounding.grounding_chunks or [])[0].web
    assert chunk is not None and chunk.uri == "http://x"
    assert citations is not None and (citations.citations or [])[0].uri == "http://y"
    assert whole.avg_logprobs == -0.5


@BOTH
async def test_a_blocked_prompt_is_an_error_event(stream: bool) -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    async with FakeServer([said(body, stream=stream)]) as server:
        events = await run(llm(server.url), stream=stream)
    assert trace(events) == ["SAFETY"] and events[-1].usage_metadata is not None


@BOTH
@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL", "OTHER"])
async def test_a_blocked_answer_is_an_error_event(stream: bool, reason: str) -> None:
    body = candidate(finish=reason)
    async with FakeServer([said(body, stream=stream)]) as server:
        events = await run(llm(server.url), stream=stream)
    assert trace(events) == [reason]
    assert events[-1].finish_reason == reason


async def test_text_before_a_block_is_kept_beside_the_error() -> None:
    whole = await last(candidate({"text": "a"}), candidate(finish="SAFETY"))
    assert parts(whole)[0].text == "a"
    assert whole.error_code == "SAFETY"


@BOTH
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"candidates": [], "usageMetadata": {"promptTokenCount": 3}}, "EMPTY_RESPONSE"),
        (candidate(finish="STOP"), "EMPTY_RESPONSE"),
    ],
)
async def test_no_candidate_and_an_empty_one_are_error_events(
    stream: bool, body: dict[str, Any], code: str
) -> None:
    async with FakeServer([said(body, stream=stream)]) as server:
        events = await run(llm(server.url), stream=stream)
    assert trace(events) == [code]


class City(BaseModel):
    """A city."""

    name: str
    people: int


@BOTH
async def test_structured_output(stream: bool) -> None:
    text = '{"name": "Rome", "people": 3}'
    async with FakeServer(
        [said(candidate({"text": text}, finish="STOP"), stream=stream)]
    ) as server:
        events = await run(llm(server.url), stream=stream, output_schema=City)
    assert trace(events) == [[text]]
    sent = server.requests[0].json["generationConfig"]
    assert sent["responseMimeType"] == "application/json"
    assert set(sent["responseSchema"]["properties"]) == {"name", "people"}
