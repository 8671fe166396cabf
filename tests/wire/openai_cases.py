"""What holds for every adapter that speaks one of OpenAI's formats. Each folder of such a format
takes these tests and gives them its `script`.
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ostinato.agents import LlmAgent, RunConfig
from ostinato.agents.run_config import StreamingMode
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
)
from ostinato.models.llm_response import LlmResponse
from ostinato.models.retry_policy import RetryPolicy
from ostinato.testing import Conversation
from ostinato.testing.event_trace import trace
from ostinato.types import FinishReason
from tests.support.optionals import parts_of
from tests.wire.asking import ask, fails, offered, request, texts
from tests.wire.fake_server import Answer, FakeServer
from tests.wire.turns import Call, Turn

WAYS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
FLIGHTS = (Call("book", {"city": "Rome", "seats": [1, 2]}), Call("book", {"city": "Oslo"}, "c_2"))


def error(status: int, message: str, code: str = "", **headers: str) -> Answer:
    body = {"error": {"message": message, "type": "x", "param": None, "code": code or None}}
    return Answer(body, status=status, headers={k.replace("_", "-"): v for k, v in headers.items()})


@WAYS
async def test_text_usage_and_reason(script: Any, stream: bool) -> None:
    async with FakeServer(script.answers([Turn("Good — «morning» ☀.")], stream=stream)) as server:
        got = await ask(script.llm(server.url), request(), stream=stream)
    assert texts(got) == "Good — «morning» ☀."
    assert (len(got) > 2) == stream
    whole, usage = got[-1], got[-1].usage_metadata
    assert whole.finish_reason is FinishReason.STOP and whole.error_code is None
    assert usage is not None
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (20, 8)
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (7, 5)
    assert usage.total_token_count == 32


@WAYS
async def test_thoughts_come_as_thoughts(script: Any, stream: bool) -> None:
    turn = Turn("Yes.", thought="Let me see, is it?")
    async with FakeServer(script.answers([turn], stream=stream)) as server:
        got = await ask(script.llm(server.url), request(), stream=stream)
    assert got[-1].content is not None
    thought, text = parts_of(got[-1])
    assert (thought.thought, thought.text, text.text) == (True, "Let me see, is it?", "Yes.")


@WAYS
async def test_a_run_with_parallel_calls(script: Any, stream: bool) -> None:
    """The events, and what the provider is sent after them."""
    ran: list[str] = []

    def book(city: str, seats: list[int] | None = None) -> str:
        ran.append(f"{city} {seats}")
        return f"booked {city}"

    turns = [Turn("Booking.", FLIGHTS), Turn("Done.")]
    async with FakeServer(script.answers(turns, stream=stream)) as server:
        events = await run(script.llm(server.url), book, stream=stream)
        second = server.requests[1].body.decode()
        assert len(server.requests) == 2
        assert server.connections == 1
    assert sorted(ran) == ["Oslo None", "Rome [1, 2]"]  # side by side
    assert trace(events) == [
        "clerk: Booking.",
        "clerk: book(city='Rome', seats=[1, 2])",
        "clerk: book(city='Oslo')",
        "clerk: book -> {'result': 'booked Rome'}",
        "clerk: book -> {'result': 'booked Oslo'}",
        "clerk: Done.",
    ]
    for name in ("call_1", "c_2"):  # the provider's ids tie calls to responses
        assert second.count(f'"{name}"') == 2


@WAYS
async def test_arguments_that_are_no_json_are_told_to_the_model(script: Any, stream: bool) -> None:
    def book(city: str = "Rome") -> str:
        raise AssertionError("it may not run")

    broken: Any = '{"city": "Ro'
    turns = [Turn(calls=(Call("book", broken),)), Turn("Sorry.")]
    async with FakeServer(script.answers(turns, stream=stream)) as server:
        events = await run(script.llm(server.url), book, stream=stream)
    lines = trace(events)
    assert "JSON" in lines[1] and "Ro" in lines[1] and lines[-1] == "clerk: Sorry."


@WAYS
async def test_what_a_filter_withheld(script: Any, stream: bool) -> None:
    async with FakeServer([script.blocked(stream=stream)]) as server:
        got = await ask(script.llm(server.url), request(), stream=stream)
    assert (got[-1].error_code, got[-1].finish_reason) == ("SAFETY", FinishReason.SAFETY)
    assert got[-1].error_message and got[-1].content is None


@WAYS
async def test_an_answer_with_nothing_in_it(script: Any, stream: bool) -> None:
    async with FakeServer([script.empty(stream=stream)]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert isinstance(found, ModelAnswerError)


REFUSALS = [
    (error(401, "Incorrect key: sk-SECRET-0123456789", "invalid_api_key"), ModelAuthError, "key"),
    (error(403, "Not for you"), ModelAuthError, "Not for you"),
    (error(404, "No model gpt-x", "model_not_found"), ModelRequestError, "Check model"),
    (error(400, "Invalid schema for response_format 'x'"), ModelRequestError, "schema"),
    (
        error(400, "The maximum context length is 9 tokens", "context_length_exceeded"),
        ModelRequestError,
        "compact",
    ),
    (error(400, "This model does not support image inputs"), ModelRequestError, "content out"),
    (error(413, "Too big"), ModelRequestError, "compact"),
    (error(500, "Oh no"), ModelServerError, "Oh no"),
    (error(503, "Overloaded"), ModelServerError, "Overloaded"),
]


@WAYS
@pytest.mark.parametrize(("answer", "kind", "word"), REFUSALS)
async def test_a_refusal(script: Any, stream: bool, answer: Answer, kind: type, word: str) -> None:
    async with FakeServer([answer]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert type(found) is kind and word in str(found)
    assert found.status == answer.status
    assert found.retryable == (answer.status >= 500)


@WAYS
async def test_too_many_requests_say_when_to_come_back(script: Any, stream: bool) -> None:
    async with FakeServer([error(429, "Slow down", retry_after="7")]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert isinstance(found, ModelRateLimitError)
    assert (found.retryable, found.retry_after, found.status) == (True, 7.0, 429)


@WAYS
async def test_a_quota_that_is_used_up_does_not_come_back(script: Any, stream: bool) -> None:
    answer = error(429, "You exceeded your current quota", "insufficient_quota")
    async with FakeServer([answer]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert isinstance(found, ModelRateLimitError) and not found.retryable
    assert "billing" in str(found)


@WAYS
async def test_a_failure_and_then_an_answer(script: Any, stream: bool) -> None:
    policy = RetryPolicy(attempts=2, initial_delay=0)
    answers = [error(500, "Oh no"), *script.answers([Turn("Here.")], stream=stream)]
    async with FakeServer(answers) as server:
        llm = script.llm(server.url, retry_policy=policy)
        assert texts(await ask(llm, request(), stream=stream)) == "Here."
        assert server.requests[0].body == server.requests[1].body


@WAYS
async def test_no_answer_at_all(script: Any, stream: bool) -> None:
    async with FakeServer([Answer(silent=True, late=True)]) as server:
        found = await fails(script.llm(server.url, timeout=30), request(), stream=stream)
    assert isinstance(found, ModelTimeoutError) and found.retryable and "30 s" in str(found)


async def test_a_stream_that_stops(script: Any) -> None:
    (answer,) = script.answers([Turn("Some words.", FLIGHTS)], stream=True)
    stopped = Answer(answer.body, cut_after=len(answer.body[0]) + 20, hang=True, late=True)
    async with FakeServer([stopped]) as server:
        found = await fails(script.llm(server.url, timeout=30), request(), stream=True)
    assert isinstance(found, ModelTimeoutError)


async def test_a_run_that_is_given_up_lets_go_of_its_connection(script: Any) -> None:
    (answer,) = script.answers([Turn("Some words and more.")], stream=True)
    stopped = Answer(answer.body, cut_after=sum(map(len, answer.body)) // 2, hang=True)
    (again,) = script.answers([Turn("Anew.")], stream=True)
    async with FakeServer([stopped, again]) as server:
        llm = script.llm(server.url)
        responses = llm.generate_content_async(request(), stream=True)
        assert (await anext(responses)).partial
        await responses.aclose()
        assert texts(await ask(llm, request(), stream=True)) == "Anew."


@WAYS
async def test_nobody_there(script: Any, stream: bool) -> None:
    async with FakeServer() as server:
        url = server.url  # closed when it is asked
    found = await fails(script.llm(url), request(), stream=stream)
    assert isinstance(found, ModelConnectionError) and "base_url" in str(found)


@WAYS
@pytest.mark.parametrize("status", [200, 404, 502])
async def test_a_proxy_that_answers_with_a_page(script: Any, stream: bool, status: int) -> None:
    page = "<!DOCTYPE html><html><body>Welcome</body></html>"
    answer = Answer(page, status=status, headers={"content-type": "text/html"})
    async with FakeServer([answer]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert "Welcome" not in str(found)
    if status == 200:
        assert isinstance(found, ModelAnswerError)
        assert script.UNSEEN_PAGES or ("HTML" in str(found) and not found.retryable)


@WAYS
@pytest.mark.parametrize("body", ["{", "[]", "null", '"yes"', '{"choices": 3, "output": 3}'])
async def test_an_answer_that_is_not_in_the_format(script: Any, stream: bool, body: str) -> None:
    answer = Answer([f"data: {body}\n\n".encode()] if stream else body)
    async with FakeServer([answer]) as server:
        found = await fails(script.llm(server.url), request(), stream=stream)
    assert isinstance(found, ModelAnswerError | ModelServerError)


async def test_a_stream_cut_at_every_byte(script: Any) -> None:
    """Whatever was cut, no call and no complete answer comes of it."""
    pieces = script.smallest()
    cuts = [Answer(pieces, cut_after=at) for at in range(sum(map(len, pieces)))]
    whole = 0
    async with FakeServer(cuts) as server:
        llm = script.llm(server.url)
        for _ in cuts:
            got: list[LlmResponse] = []
            try:
                async for one in llm.generate_content_async(request(), stream=True):
                    got.append(one)  # noqa: PERF401  what came before the error counts
            except ModelAnswerError as found:
                assert found.retryable and "SECRET" not in str(found)
                assert all(one.partial and not one.get_function_calls() for one in got)
            else:  # only what comes after the end of the answer was lost
                whole += 1
                assert [call.args for call in got[-1].get_function_calls()] == [{}]
        await llm.aclose()
        assert len(server.requests) == len(cuts)
    assert whole <= script.AFTER_THE_END


async def test_a_cut_stream_runs_no_tool(script: Any) -> None:
    def book(city: str = "") -> None:
        raise AssertionError("it may not run")

    (answer,) = script.answers([Turn("Booking.", FLIGHTS)], stream=True)
    size = sum(map(len, answer.body))
    for share in (0.3, 0.5, 0.7):
        cut = Answer(answer.body, cut_after=int(size * share))
        async with FakeServer([cut]) as server:
            with pytest.raises(ModelAnswerError):
                await run(script.llm(server.url), book, stream=True)


@WAYS
@pytest.mark.parametrize("name", ["with space", "dots.in.it", "ümlaut", "x" * 65, ""])
async def test_a_tool_with_a_name_that_would_be_refused(
    script: Any, stream: bool, name: str
) -> None:
    async with FakeServer() as server:
        wanted = request(tools=offered("fine", name))
        found = await fails(script.llm(server.url), wanted, stream=stream)
        assert not server.requests
    assert isinstance(found, ModelRequestError)
    assert repr(name) in str(found) and "Rename" in str(found)


@WAYS
async def test_the_key_is_nowhere(
    script: Any, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in a log record nor in a stored event, whether it goes well or the key is refused."""
    caplog.set_level(logging.DEBUG if script.QUIET else logging.INFO)
    refused = error(401, "Incorrect API key provided: sk-SECRET-0123456789.")
    async with FakeServer([*script.answers([Turn("Yes.")], stream=stream), refused]) as server:
        llm = script.llm(server.url)
        talk = Conversation(LlmAgent(name="clerk", model=llm))
        config = _config(stream)
        await talk.say("Hi", run_config=config)
        with pytest.raises(ModelAuthError):
            await talk.say("And now?", run_config=config)
        await llm.aclose()
    stored = "".join(event.model_dump_json() for event in (await talk.session()).events)
    assert "Yes." in stored and "SECRET" not in stored + caplog.text


async def run(llm: Any, *tools: Any, stream: bool) -> list[Any]:
    """Let an agent answer one message; the model is closed with it."""
    agent = LlmAgent(name="clerk", model=llm, tools=list(tools))
    try:
        talk = Conversation(agent)
        return list(await talk.say("Rome and Oslo", run_config=_config(stream)))
    finally:
        await llm.aclose()


def _config(stream: bool) -> RunConfig:
    return RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
