"""What goes wrong at Anthropic's API, and what the caller is told: never a key, never a hang."""

from __future__ import annotations

import logging
import traceback
from email.utils import formatdate
from functools import partial
from typing import Any

import pytest
from pydantic import SecretStr

from ostinato import errors
from ostinato.errors import ProviderError
from ostinato.models.http import transport
from ostinato.models.http.messages import Bounds
from ostinato.models.retry_policy import RetryPolicy
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.turns import Call, Turn

from .script import KEY, answers, blocks_of, events, llm, message
from .test_answers import STREAMED, asking


async def failing(answer: Answer, *, stream: bool, **fields: Any) -> ProviderError:
    """Return the error of a request that is answered so."""
    async with FakeServer([answer]) as server:
        return await failure_at(server.url, stream=stream, **fields)


async def failure_at(url: str, *, stream: bool, **fields: Any) -> ProviderError:
    model = llm(url, **fields)
    complete = 0
    with pytest.raises(ProviderError) as raised:
        async for response in model.generate_content_async(asking(), stream=stream):
            complete += not response.partial
    await model.aclose()
    assert complete == 0
    error = raised.value
    told = "".join(traceback.format_exception(error))
    assert KEY not in told
    assert (error.provider, error.model) == ("anthropic", "claude-sonnet-4-5")
    assert "Anthropic" in str(error) and "claude-sonnet-4-5" in str(error)
    return error


def refusal(kind: str, text: str = "This is why.") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}


@STREAMED
@pytest.mark.parametrize(
    ("status", "kind", "error", "retryable"),
    [
        (400, "invalid_request_error", errors.ModelRequestError, False),
        (401, "authentication_error", errors.ModelAuthError, False),
        (403, "permission_error", errors.ModelAuthError, False),
        (404, "not_found_error", errors.ModelRequestError, False),
        (413, "request_too_large", errors.ModelRequestError, False),
        (429, "rate_limit_error", errors.ModelRateLimitError, True),
        (500, "api_error", errors.ModelServerError, True),
        (504, "timeout_error", errors.ModelTimeoutError, True),
        (529, "overloaded_error", errors.ModelServerError, True),
    ],
)
async def test_an_error_status(
    stream: bool, status: int, kind: str, error: type[ProviderError], retryable: bool
) -> None:
    got = await failing(Answer(refusal(kind), status=status), stream=stream)
    assert type(got) is error
    assert (got.status, got.retryable) == (status, retryable)
    assert "This is why." in str(got)


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("overloaded_error", 529, errors.ModelServerError),
        ("rate_limit_error", 429, errors.ModelRateLimitError),
        ("api_error", 500, errors.ModelServerError),
        ("invalid_request_error", 400, errors.ModelRequestError),
        ("brand_new_error", 500, errors.ModelServerError),
    ],
)
@pytest.mark.parametrize("after", [0, 4])
async def test_an_error_inside_a_stream(
    after: int, kind: str, status: int, error: type[ProviderError]
) -> None:
    said = events(blocks_of(Turn(text="Hello, you.", calls=(Call("f"),))))[:after]
    got = await failing(Answer(sse([*said, refusal(kind)], named=True)), stream=True)
    assert type(got) is error
    assert got.status == status
    assert "This is why." in str(got)


async def test_the_time_to_wait() -> None:
    for given in ("7", "7.0"):
        answer = Answer(refusal("rate_limit_error"), 429, {"retry-after": given})
        assert (await failing(answer, stream=False)).retry_after == 7
    past = Answer(refusal("x"), 429, {"retry-after": formatdate(0)})
    assert (await failing(past, stream=False)).retry_after == 0
    odd = Answer(refusal("x"), 429, {"retry-after": "soon"})
    assert (await failing(odd, stream=False)).retry_after is None


@STREAMED
async def test_one_attempt_is_one_request(stream: bool) -> None:
    async with FakeServer([Answer(refusal("api_error"), status=500)]) as server:
        await failure_at(server.url, stream=stream)
    assert len(server.requests) == 1


@STREAMED
async def test_a_failure_and_then_an_answer(stream: bool) -> None:
    policy = RetryPolicy(attempts=3, initial_delay=0)
    waits = {"retry-after": "0"}
    script = [
        Answer(refusal("api_error"), status=500),
        Answer(refusal("rate_limit_error"), status=429, headers=waits),
        *answers([Turn(text="Here.")], stream=stream),
    ]
    async with FakeServer(script) as server:
        model = llm(server.url, retry_policy=policy)
        got = [r async for r in model.generate_content_async(asking(), stream=stream)]
        await model.aclose()
    assert got[-1].content is not None
    assert [p.text for p in got[-1].content.parts or []] == ["Here."]
    assert len({request.body for request in server.requests}) == 1


@STREAMED
async def test_a_wrong_key(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    quoting = refusal("authentication_error", f"invalid x-api-key: {KEY}")
    got = await failing(Answer(quoting, status=401), stream=stream)
    assert isinstance(got, errors.ModelAuthError)
    assert "Check the api_key that was passed." in str(got)
    assert KEY not in caplog.text


@STREAMED
@pytest.mark.parametrize("status", [200, 502])
async def test_a_proxy_that_answers_with_a_page(stream: bool, status: int) -> None:
    page = Answer("<!DOCTYPE html><html>Log in</html>", status, {"content-type": "text/html"})
    got = await failing(page, stream=stream)
    assert "an HTML page came back" in str(got)
    assert "Log in" not in str(got)
    assert got.retryable == (status == 502)


@STREAMED
@pytest.mark.parametrize("body", ["{", "[]", '"text"', "null", "", '{"content": 1}', "[" * 100_000])
async def test_json_that_is_no_message(stream: bool, body: str) -> None:
    got = await failing(Answer(body), stream=stream)
    assert isinstance(got, errors.ModelAnswerError)


@pytest.mark.parametrize(
    "block",
    [
        None,
        {"text": "no type"},
        {"type": "text", "text": 7},
        {"type": "thinking", "thinking": []},
        {"type": "tool_use", "name": 7, "input": {}},
        {"type": "text", "text": "x", "citations": [7]},
    ],
)
async def test_blocks_that_are_broken(block: Any) -> None:
    got = await failing(Answer(message([]) | {"content": [block]}), stream=False)
    assert isinstance(got, errors.ModelAnswerError)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}},
        {"type": "content_block_start", "index": 1},
        {"type": "content_block_stop"},
        {"type": "message_delta", "delta": None},
        {"type": "message_start"},
        {"type": "message_stop"},
    ],
)
async def test_events_that_are_broken(event: dict[str, Any]) -> None:
    said = [*events([{"type": "text", "text": "ab"}])[:4], event]
    got = await failing(Answer(sse(said, named=True)), stream=True)
    assert isinstance(got, errors.ModelAnswerError)
    # An end without the events before it is what a cut looks like; the others came whole.
    assert got.retryable is (event == {"type": "message_stop"})


async def test_an_event_that_is_no_json() -> None:
    pieces = sse(events(blocks_of(Turn(text="x"))), named=True)
    pieces[2] = b"event: content_block_start\ndata: {broken\n\n"
    got = await failing(Answer(pieces), stream=True)
    assert isinstance(got, errors.ModelAnswerError)


@STREAMED
async def test_a_server_that_says_nothing(stream: bool) -> None:
    got = await failing(Answer(silent=True, late=True), stream=stream, timeout=30)
    assert isinstance(got, errors.ModelTimeoutError)
    assert "30 seconds" in str(got)


async def test_a_stream_that_stops_in_the_middle() -> None:
    [answer] = answers([Turn(text="Hello")], stream=True)
    hanging = Answer(answer.body, cut_after=600, hang=True, late=True)
    got = await failing(hanging, stream=True, timeout=30)
    assert isinstance(got, errors.ModelTimeoutError)


@STREAMED
async def test_nobody_at_that_address(stream: bool) -> None:
    async with FakeServer() as server:
        url = server.url
    got = await failure_at(url, stream=stream)
    assert isinstance(got, errors.ModelConnectionError)
    assert got.retryable
    assert url in str(got)
    assert "base_url" in str(got)


@pytest.mark.parametrize("url", ["no url", "ftp://x", "http://[::bad"])
async def test_an_address_that_is_none(url: str) -> None:
    got = await failure_at(url, stream=False)
    assert isinstance(got, errors.ModelRequestError)
    assert "is no URL" in str(got)


async def test_a_login_in_an_address_is_refused_and_not_shown() -> None:
    got = await failure_at("http://user:pw@127.0.0.1:1", stream=False)
    assert isinstance(got, errors.ModelRequestError)
    assert "holds a login" in str(got)
    assert "pw" not in str(got)


@STREAMED
async def test_an_answer_over_the_limit(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "Bounds", partial(Bounds, answer=1000))
    [answer] = answers([Turn(text="x" * 2000)], stream=stream)
    got = await failing(answer, stream=stream)
    assert isinstance(got, errors.ModelAnswerError)
    assert not got.retryable
    assert "larger than" in str(got)


@pytest.mark.parametrize("key", ["sk-SECRET-0123456789\n", "sk-SECRET-0123456789é"])
async def test_a_key_that_no_header_can_carry(key: str) -> None:
    async with FakeServer([Answer(refusal("authentication_error"), status=401)]) as server:
        model = llm(server.url, api_key=SecretStr(key))
        with pytest.raises(Exception) as raised:
            assert [r async for r in model.generate_content_async(asking())]
        await model.aclose()
    assert "SECRET" not in "".join(traceback.format_exception(raised.value))


async def test_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    got = await failure_at("http://127.0.0.1:1", stream=False, api_key=None)
    assert isinstance(got, errors.ModelUnavailableError)
    assert "ANTHROPIC_API_KEY" in str(got)


def test_a_model_does_not_show_its_key() -> None:
    model = llm("http://x")
    assert KEY not in repr(model) + str(model) + model.model_dump_json()


TALK = Turn(
    text="I look.", thought="Hm?", calls=(Call("f", {"x": [1, 2]}, "t1"), Call("g", {}, "t2"))
)


@pytest.mark.service  # half a minute; the runs cut at some bytes are in `make test`
async def test_a_stream_cut_at_every_byte() -> None:
    """Nothing is complete before the whole stream is, and no piece of it is taken for all."""
    [answer] = answers([TALK], stream=True)
    length = sum(map(len, answer.pieces))
    last = length - len(answer.pieces[-1])  # where message_stop begins: all is said by then
    whole: set[int] = set()
    cuts = [Answer(answer.body, cut_after=cut) for cut in range(length + 1)]
    async with FakeServer(cuts) as server:
        model = llm(server.url)
        for cut in range(length + 1):
            try:
                got = [r async for r in model.generate_content_async(asking(), stream=True)]
            except ProviderError as error:
                assert error.retryable, error
                assert isinstance(error, errors.ModelAnswerError), error
            else:
                whole.add(cut)
                assert [c.name for c in got[-1].get_function_calls()] == ["f", "g"]
        await model.aclose()
    assert length in whole
    assert min(whole) > last


@pytest.mark.long
async def test_a_whole_answer_cut_at_every_byte() -> None:
    [answer] = answers([TALK], stream=False)
    length = len(answer.pieces[0])
    headers = {"content-length": str(length)}
    cuts = [Answer(answer.body, cut_after=cut, headers=headers) for cut in range(length)]
    async with FakeServer(cuts) as server:
        model = llm(server.url)
        for _ in cuts:
            with pytest.raises(ProviderError) as raised:
                assert [r async for r in model.generate_content_async(asking())]
            assert raised.value.retryable
        await model.aclose()


async def test_a_caller_who_leaves_in_the_middle_of_a_stream() -> None:
    [answer] = answers([TALK], stream=True)
    [again] = answers([Turn(text="Still here.")], stream=True)
    async with FakeServer([Answer(answer.body, cut_after=900, hang=True), again]) as server:
        model = llm(server.url)
        responses = model.generate_content_async(asking(), stream=True)
        assert (await anext(responses)).partial
        await responses.aclose()
        assert [r async for r in model.generate_content_async(asking(), stream=True)]
        await model.aclose()
