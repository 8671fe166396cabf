"""What goes wrong between the adapter and the service ends in an error that names the remedy."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import traceback
from functools import partial
from typing import Any

import pytest

from ostinato import types
from ostinato.errors import (
    ModelAnswerError,
    ModelAuthError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelRequestError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    ProviderError,
)
from ostinato.models.base_llm import BaseLlm
from ostinato.models.http import transport
from ostinato.models.http.messages import Bounds
from ostinato.models.llm_response import LlmResponse
from tests.wire.fake_server import Answer, FakeServer, sse
from tests.wire.gemini.conftest import Weather, ask, request, run
from tests.wire.gemini.script import KEY, answers, candidate, chunks, llm
from tests.wire.turns import Call, Turn

BOTH = pytest.mark.parametrize("stream", [False, True])


def refusal(status: int, message: str = "why", **more: Any) -> Answer:
    error = {"code": status, "message": message, "status": "SOME_STATUS", **more}
    return Answer({"error": error}, status=status)


async def failure(answer: Answer, *, stream: bool = False, **fields: Any) -> ProviderError:
    """Return the error that an answer becomes; the key is nowhere in it."""
    async with FakeServer([answer]) as server:
        with pytest.raises(ProviderError) as caught:
            await ask(llm(server.url, **fields), stream=stream)
    error = caught.value
    assert KEY not in str(error)
    assert KEY not in "".join(traceback.format_exception(error))
    assert "gemini-2.5-flash" in str(error) and error.model == "gemini-2.5-flash"
    assert error.provider == "google"
    return error


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, ModelRequestError, False),
        (401, ModelAuthError, False),
        (403, ModelAuthError, False),
        (404, ModelRequestError, False),
        (429, ModelRateLimitError, True),
        (500, ModelServerError, True),
        (503, ModelServerError, True),
        (504, ModelTimeoutError, True),
    ],
)
async def test_a_status_is_an_error_of_who_must_act(
    stream: bool, status: int, kind: type[ProviderError], retryable: bool
) -> None:
    error = await failure(refusal(status, f"no {KEY}"), stream=stream)
    assert type(error) is kind and error.status == status and error.retryable is retryable


@BOTH
async def test_a_wrong_key_is_told_from_a_wrong_request(stream: bool) -> None:
    message = f"API key not valid. Please pass a valid API key. {KEY}"
    error = await failure(refusal(400, message), stream=stream)
    assert isinstance(error, ModelAuthError) and "GOOGLE_API_KEY" in str(error)


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Answer({"error": {"code": 429}}, status=429, headers={"retry-after": "12"}), 12.0),
        (refusal(429, details=[{"@type": "RetryInfo", "retryDelay": "7.5s"}]), 7.5),
        (refusal(429), None),
    ],
)
async def test_when_to_ask_again(answer: Answer, seconds: float | None) -> None:
    assert (await failure(answer)).retry_after == seconds


@BOTH
async def test_a_failure_then_success_asks_once_each(stream: bool) -> None:
    script = [refusal(500), *answers([Turn(text="Hi")], stream=stream)]
    async with FakeServer(script) as server:
        model = llm(server.url)
        with pytest.raises(ModelServerError):
            await ask(model, stream=stream)
        assert len(server.requests) == 1  # the SDK does not retry by itself
        responses = await ask(model, stream=stream)
    assert responses[-1].content is not None


@BOTH
async def test_a_server_that_says_nothing(stream: bool) -> None:
    error = await failure(Answer(silent=True, late=True), stream=stream, timeout=30)
    assert isinstance(error, ModelTimeoutError)


async def test_a_stream_that_stops_without_ending() -> None:
    pieces = sse(chunks(Turn(text="Hello there")))
    error = await failure(
        Answer(pieces, cut_after=60, hang=True, late=True), stream=True, timeout=30
    )
    assert isinstance(error, ModelTimeoutError)


async def test_no_server() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ModelConnectionError, match="base_url"):
            await ask(llm(url))


@BOTH
async def test_a_proxy_that_answers_html(stream: bool) -> None:
    page = b"<!DOCTYPE html><html><body>Sign in</body></html>\n"
    error = await failure(Answer(page), stream=stream)
    assert isinstance(error, ModelAnswerError) and "HTML" in str(error) and not error.retryable


@BOTH
async def test_an_answer_over_the_bound(stream: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "Bounds", partial(Bounds, answer=1000))
    long = Turn(text="x" * 3000)
    error = await failure(answers([long], stream=stream)[0], stream=stream)
    assert isinstance(error, ModelAnswerError) and not error.retryable and "larger" in str(error)


async def test_a_whole_answer_that_is_cut() -> None:
    body = json.dumps(candidate({"text": "Hello"}, finish="STOP"))
    error = await failure(Answer(body, cut_after=30))
    assert isinstance(error, ModelAnswerError) and error.retryable


async def collect(model: BaseLlm, got: list[LlmResponse]) -> None:
    """Put responses into a list while they come."""
    async for response in model.generate_content_async(request("hello"), stream=True):
        got.append(response)  # noqa: PERF401 - what came before an error counts


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.service), 7])
async def test_a_stream_cut_at_any_byte_executes_no_half_call(weather: Weather, step: int) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    turn = Turn(text="Let me see", calls=(Call("get_weather", {"city": "Rome"}),))
    pieces = sse(chunks(turn))
    cuts = range(0, sum(map(len, pieces)), step)
    async with FakeServer([Answer(pieces, cut_after=cut) for cut in cuts]) as server:
        model = llm(server.url)
        for cut in cuts:
            got: list[LlmResponse] = []
            with pytest.raises((ModelAnswerError, ModelConnectionError)) as caught:
                await collect(model, got)
            assert caught.value.retryable, cut
            assert all(response.partial for response in got), cut
        await model.aclose()
    middle = sum(map(len, pieces[:-1])) + 10  # the call is there, the end is not
    async with FakeServer([Answer(pieces, cut_after=middle)]) as server:
        with pytest.raises(ModelAnswerError):
            await run(llm(server.url), get_weather, stream=True)
    assert not weather.calls


async def test_a_stream_that_ends_early_without_a_broken_connection(weather: Weather) -> None:
    def get_weather(city: str) -> dict[str, Any]:
        """Tell the weather of a city."""
        return weather(city)

    pieces = sse(chunks(Turn(calls=(Call("get_weather", {"city": "Rome"}),))))
    for count in range(len(pieces)):
        async with FakeServer([Answer(pieces[:count] or [b""])]) as server:
            with pytest.raises(ModelAnswerError, match="before the answer"):
                await run(llm(server.url), get_weather, stream=True)
    assert not weather.calls


async def test_an_error_inside_a_stream() -> None:
    pieces = [candidate({"text": "a"}), {"error": {"code": 503, "message": "overloaded"}}]
    error = await failure(Answer(sse(pieces)), stream=True)
    assert isinstance(error, ModelServerError)


@BOTH
async def test_an_error_with_status_200(stream: bool) -> None:
    body = {"error": {"code": 429, "message": "quota exceeded", "status": "RESOURCE_EXHAUSTED"}}
    error = await failure(Answer(body), stream=stream)
    assert isinstance(error, ModelRateLimitError) and error.status == 429
    assert "quota exceeded" in str(error)


async def test_arguments_that_are_no_json_break_the_answer_not_the_run(weather: Weather) -> None:
    broken = json.dumps(candidate({"functionCall": {"name": "f", "args": {"a": "~"}}}))
    for body in (broken.replace('{"a": "~"}', '{"a": '), broken.replace('{"a": "~"}', '"no"')):
        for answer in (Answer(body), Answer([f"data: {body}\n\n".encode()])):
            error = await failure(answer, stream=answer.is_stream)
            assert isinstance(error, ModelAnswerError)


async def test_a_tool_with_a_name_the_service_refuses_is_not_sent() -> None:
    declaration = types.FunctionDeclaration(name="get weather")
    tools = [types.Tool(function_declarations=[declaration])]
    async with FakeServer() as server:
        with pytest.raises(ModelRequestError, match="get weather"):
            await ask(llm(server.url), request("x", tools=tools))
    assert not server.requests


async def test_a_setting_the_sdk_does_not_send() -> None:
    async with FakeServer() as server:
        with pytest.raises(ModelRequestError, match="generate_content_config"):
            await ask(
                llm(server.url),
                request("x", model_armor_config=types.ModelArmorConfig(prompt_template_name="p")),
            )
    assert not server.requests


async def test_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with pytest.raises(ModelUnavailableError, match="GOOGLE_API_KEY"):
        await ask(llm("http://127.0.0.1:1", api_key=None))


async def test_no_key_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await failure(refusal(401, f"bad {KEY}"))
    async with FakeServer(answers([Turn(text="Hi")], stream=False)) as server:
        events = await run(llm(server.url))
    assert KEY not in caplog.text
    assert all(KEY not in event.model_dump_json() for event in events)


async def test_whoever_stops_listening_frees_the_connection() -> None:
    pieces = sse(chunks(Turn(text="Hello there")))
    async with FakeServer([Answer(pieces, cut_after=len(pieces[0]) + 1, hang=True)]) as server:
        model = llm(server.url)
        responses = model.generate_content_async(request("hello"), stream=True)
        first = await anext(responses)
        await responses.aclose()
        assert first.partial
        await model.aclose()


def test_each_loop_has_its_client() -> None:
    async def twice() -> None:
        async with FakeServer(answers([Turn(text="a"), Turn(text="b")], stream=False)) as server:
            model.base_url = server.url
            for _ in range(2):
                [_ async for _ in model.generate_content_async(request("x"))]
            assert server.connections == 1
            await model.aclose()

    model: Any = llm("http://127.0.0.1:1")
    asyncio.run(twice())
    asyncio.run(twice())
