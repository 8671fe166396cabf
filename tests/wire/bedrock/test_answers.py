"""What the Bedrock adapter makes of answers, whole and streamed, good and bad."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest

from ostinato import errors, types
from ostinato.errors import ProviderError
from ostinato.models.llm_request import LlmRequest
from ostinato.models.llm_response import LlmResponse
from tests.wire.asking import said
from tests.wire.bedrock.script import (
    CLAUDE,
    KEY,
    STREAM,
    answers,
    blocks_of,
    events,
    frame,
    llm,
    streamed,
    whole,
)
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.mutations import mutations
from tests.wire.turns import Call, Turn

BOTH = pytest.mark.parametrize("stream", [False, True])
TALK = Turn(
    text="I look.", thought="Hm?", calls=(Call("f", {"x": [1, 2]}, "t1"), Call("g", {}, "t2"))
)


async def ask(answer: Answer, *, stream: bool, **fields: Any) -> list[LlmResponse]:
    async with FakeServer([answer]) as server:
        model = llm(server.url, **fields)
        wanted = LlmRequest(contents=[said("Hi")])
        try:
            return [x async for x in model.generate_content_async(wanted, stream=stream)]
        finally:
            await model.aclose()


async def failing(answer: Answer, *, stream: bool = False, **fields: Any) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await ask(answer, stream=stream, **fields)
    error = raised.value
    assert KEY not in "".join(traceback.format_exception(error))
    assert (error.provider, error.model) == ("bedrock", CLAUDE)
    return error


@BOTH
async def test_a_turn(stream: bool) -> None:
    [answer] = answers([TALK], stream=stream)
    *pieces, last = await ask(answer, stream=stream)
    shown = [
        part.text for piece in pieces for part in (piece.content or types.Content()).parts or []
    ]
    assert shown == (["H", "m?", "I l", "ook."] if stream else [])
    assert all(piece.partial for piece in pieces) and not last.partial
    assert last.content is not None and last.content.parts is not None
    thought, text, first, second = last.content.parts
    assert thought.thought and thought.text == "Hm?" and thought.thought_signature == b"c2lnbmVk"
    assert text.text == "I look."
    found = [part.function_call for part in (first, second)]
    assert [(x.id, x.name, x.args) for x in found if x] == [
        ("t1", "f", {"x": [1, 2]}),
        ("t2", "g", {}),
    ]
    assert last.finish_reason is types.FinishReason.STOP and last.model_version == CLAUDE
    usage = last.usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.candidates_token_count) == (15, 7)
    assert usage.cached_content_token_count == 3


@BOTH
@pytest.mark.parametrize(("model", "kept"), [(CLAUDE, True), ("us.deepseek.r1-v1:0", False)])
async def test_claude_gets_its_thoughts_back(model: str, kept: bool, stream: bool) -> None:
    async with FakeServer(answers([TALK, Turn(text="Done.")], stream=stream)) as server:
        adapter = llm(server.url, model=model)
        wanted = LlmRequest(contents=[said("Hi")])
        first = [x async for x in adapter.generate_content_async(wanted, stream=stream)][-1]
        assert first.content is not None
        wanted = LlmRequest(contents=[said("Hi"), first.content, said("Go on")])
        assert [x async for x in adapter.generate_content_async(wanted, stream=stream)]
        await adapter.aclose()
    block = server.requests[1].json["messages"][1]["content"][0]
    assert ("reasoningContent" in block) is kept
    if kept:
        assert block["reasoningContent"]["reasoningText"] == {
            "text": "Hm?",
            "signature": "c2lnbmVk",
        }


@BOTH
async def test_a_thought_that_is_hidden_goes_back_as_it_came(stream: bool) -> None:
    blocks = [{"reasoningContent": {"redactedContent": "aGlkZGVu"}}, {"text": "Yes."}]
    answer = streamed(blocks) if stream else whole(blocks)
    [again] = answers([Turn(text="Done.")], stream=False)
    async with FakeServer([answer, again]) as server:
        adapter = llm(server.url)
        wanted = LlmRequest(contents=[said("Hi")])
        last = [x async for x in adapter.generate_content_async(wanted, stream=stream)][-1]
        assert last.content is not None
        wanted = LlmRequest(contents=[said("Hi"), last.content, said("Go on")])
        assert [x async for x in adapter.generate_content_async(wanted)]
        await adapter.aclose()
    assert server.requests[1].json["messages"][1]["content"] == blocks


@BOTH
@pytest.mark.parametrize(
    ("stop", "reason", "is_error"),
    [
        ("max_tokens", "MAX_TOKENS", False),
        ("stop_sequence", "STOP", False),
        ("guardrail_intervened", "SAFETY", True),
        ("content_filtered", "SAFETY", True),
        ("malformed_tool_use", "MALFORMED_FUNCTION_CALL", True),
        ("brand_new", "OTHER", False),
    ],
)
async def test_why_it_stopped(stop: str, reason: str, is_error: bool, stream: bool) -> None:
    blocks = blocks_of(Turn(text="a", calls=(Call("f"),) if is_error else ()))
    answer = streamed(blocks, stop=stop) if stream else whole(blocks, stop=stop)
    last = (await ask(answer, stream=stream))[-1]
    assert last.finish_reason == reason
    assert (last.error_code is not None) is is_error
    if is_error:
        assert not last.get_function_calls() and last.error_message


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "ValidationException", errors.ModelRequestError),
        (403, "AccessDeniedException", errors.ModelAuthError),
        (403, "InvalidSignatureException", errors.ModelAuthError),
        (404, "ResourceNotFoundException", errors.ModelRequestError),
        (408, "ModelTimeoutException", errors.ModelTimeoutError),
        (424, "ModelErrorException", errors.ModelServerError),
        (429, "ThrottlingException", errors.ModelRateLimitError),
        (500, "InternalServerException", errors.ModelServerError),
        (503, "ServiceUnavailableException", errors.ModelServerError),
    ],
)
async def test_an_error_status(
    status: int, kind: str, error: type[ProviderError], stream: bool
) -> None:
    headers = {"x-amzn-errortype": f"{kind}:http://internal/", "x-amzn-requestid": "r-1"}
    answer = Answer({"message": f"This is why. {KEY}"}, status, headers)
    got = await failing(answer, stream=stream)
    assert type(got) is error and got.status == status and got.request_id == "r-1"
    assert "This is why." in str(got)
    if kind.startswith("InvalidSignature"):
        assert "clock" in str(got)


@pytest.mark.parametrize(
    ("skew", "words"),
    [(3600, "is 60 minutes ahead of"), (-600, "is 10 minutes behind"), (60, "Check the clock")],
)
async def test_a_wrong_clock_is_named(
    skew: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    date = "Sun, 06 Nov 1994 08:49:37 GMT"
    monkeypatch.setattr("ostinato._clock.now", lambda: 784111777.0 + skew)
    headers = {"x-amzn-errortype": "InvalidSignatureException", "date": date}
    got = await failing(Answer({"message": "Signature expired"}, 403, headers))
    assert isinstance(got, errors.ModelAuthError) and words in str(got)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("throttlingException", errors.ModelRateLimitError),
        ("modelStreamErrorException", errors.ModelServerError),
        ("validationException", errors.ModelRequestError),
        ("brandNewException", errors.ModelServerError),
    ],
)
@pytest.mark.parametrize("after", [0, 3])
async def test_an_exception_inside_a_stream(
    after: int, kind: str, error: type[ProviderError]
) -> None:
    said_before = [frame(x, y) for x, y in events(blocks_of(TALK))[:after]]
    broken = frame(kind, {"message": "This is why."}, message_type="exception")
    got = await failing(Answer([*said_before, broken], headers=STREAM), stream=True)
    assert type(got) is error and "This is why." in str(got)


@pytest.mark.long
async def test_a_stream_cut_at_every_byte() -> None:
    [answer] = answers([TALK], stream=True)
    length = sum(map(len, answer.pieces))
    ends = length - len(answer.pieces[-1])  # what follows messageStop only counts tokens
    cuts = range(0, length + 1, 3)
    script = [Answer(answer.body, headers=STREAM, cut_after=cut) for cut in cuts]
    async with FakeServer(script) as server:
        model = llm(server.url)
        for cut in cuts:
            wanted = LlmRequest(contents=[said("Hi")])
            try:
                got = [x async for x in model.generate_content_async(wanted, stream=True)]
            except ProviderError as error:
                assert error.retryable and isinstance(error, errors.ModelAnswerError), error
                assert cut < ends
            else:
                assert cut >= ends
                assert [c.name for c in got[-1].get_function_calls()] == ["f", "g"]
        await model.aclose()


async def test_a_stream_in_pieces_of_any_size() -> None:
    [answer] = answers([TALK], stream=True)
    data = b"".join(answer.pieces)
    for size in (1, 7, 100):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        last = (await ask(Answer(pieces, headers=STREAM), stream=True))[-1]
        assert [call.name for call in last.get_function_calls()] == ["f", "g"]


def damaged(at: int) -> bytes:
    data = bytearray(frame("messageStart", {"role": "assistant"}))
    data[at] ^= 0xFF
    return bytes(data)


@pytest.mark.parametrize("at", [0, 5, 9, 13, 40, -6, -1])
async def test_a_damaged_stream(at: int) -> None:
    got = await failing(Answer([damaged(at)], headers=STREAM), stream=True)
    assert isinstance(got, errors.ModelAnswerError)


@pytest.mark.parametrize(
    "event",
    [
        ("contentBlockDelta", {"delta": {"text": "x"}}),
        ("contentBlockDelta", {"contentBlockIndex": 9, "delta": {"toolUse": {"input": "{"}}}),
        ("contentBlockDelta", {"contentBlockIndex": "1", "delta": {"text": "x"}}),
        ("messageStop", {}),
        ("messageStop", []),
    ],
)
async def test_events_that_are_broken(event: tuple[str, Any]) -> None:
    start = frame("messageStart", {"role": "assistant"})
    got = await failing(Answer([start, frame(*event)], headers=STREAM), stream=True)
    assert isinstance(got, errors.ModelAnswerError)


@BOTH
@pytest.mark.parametrize(
    "body",
    ["{", "[]", "null", "", '{"output": 1}', json.dumps({"output": {"message": {"content": 7}}})],
)
async def test_json_that_is_no_answer(stream: bool, body: str) -> None:
    got = await failing(Answer(body), stream=stream)
    assert isinstance(got, errors.ModelAnswerError)


@BOTH
async def test_a_proxy_that_answers_with_a_page(stream: bool) -> None:
    page = Answer("<!DOCTYPE html><html>Log in</html>", 200, {"content-type": "text/html"})
    got = await failing(page, stream=stream)
    assert "an HTML page came back" in str(got) and not got.retryable


@BOTH
async def test_a_server_that_says_nothing(stream: bool) -> None:
    got = await failing(Answer(silent=True, late=True), stream=stream, timeout=30)
    assert isinstance(got, errors.ModelTimeoutError)


def test_a_model_does_not_show_its_key() -> None:
    model = llm("http://x")
    assert KEY not in repr(model) + str(model) + model.model_dump_json()


@pytest.mark.parametrize("stream", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.filterwarnings("ignore:.* is not a valid:UserWarning")
async def test_wrong_types_in_every_field(stream: bool) -> None:
    right = (
        [list(one) for one in events(blocks_of(TALK))] if stream else whole(blocks_of(TALK)).body
    )
    bodies = list(mutations(right))
    async with FakeServer(otherwise=lambda _: script.pop(0)) as server:
        model = llm(server.url)
        for body in bodies:
            pieces = [frame(str(x[0]), x[1]) for x in body if isinstance(x, list) and len(x) == 2]
            script = [Answer(pieces, headers=STREAM) if stream else Answer(json.dumps(body))]
            wanted = LlmRequest(contents=[said("Hi")])
            try:
                got = [x async for x in model.generate_content_async(wanted, stream=stream)]
            except ProviderError:
                continue
            assert got and not got[-1].partial, body
            assert all(call.name for call in got[-1].get_function_calls()), body
        await model.aclose()
        assert server.connections < len(bodies)
