"""HttpTransport over a real socket: answers, streams, bounds, redirects and connections."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from ostinato._aclosing import Aclosing
from ostinato.models.http.credentials import ApiKey
from ostinato.models.http.errors import (
    HttpConnectError,
    HttpCutOffError,
    HttpRequestError,
    HttpStatusError,
    HttpTimeoutError,
    HttpTooLargeError,
)
from ostinato.models.http.messages import Bounds, HttpRequest, Timeouts
from ostinato.models.http.transport import HttpTransport
from tests.wire.fake_server import Answer, FakeServer, sse

KEY = "sk-secret-0123456789"


@pytest.fixture
async def transport() -> AsyncGenerator[HttpTransport, None]:
    made = HttpTransport(ApiKey(KEY), bounds=Bounds(answer=10_000, event=1_000, error=100))
    yield made
    await made.aclose()


def _post(url: str, **fields: Any) -> HttpRequest:
    return HttpRequest("POST", url, body=b'{"a": 1}', **fields)


async def _events(transport: HttpTransport, request: HttpRequest) -> list[str]:
    async with transport.stream(request) as stream, Aclosing(stream.events()) as events:
        return [event.data async for event in events]


async def test_a_request_gets_its_answer_over_a_kept_connection(transport: HttpTransport) -> None:
    answers = [Answer({"b": 2}, headers={"x-request-id": "r1"})] * 3
    async with FakeServer(answers) as server:
        for _ in range(3):
            answer = await transport.send(_post(server.url + "/v1"))
            assert (answer.status, answer.json(), answer.request_id) == (200, {"b": 2}, "r1")
    assert server.connections == 1
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[0].json == {"a": 1}


async def test_events_come_one_by_one(transport: HttpTransport) -> None:
    async with FakeServer([Answer(sse([{"n": n} for n in range(3)], done="[DONE]"))]) as server:
        assert await _events(transport, _post(server.url)) == [
            '{"n": 0}', '{"n": 1}', '{"n": 2}', "[DONE]",
        ]  # fmt: skip


async def test_lines_come_one_by_one(transport: HttpTransport) -> None:
    async with FakeServer([Answer([b'{"a":', b" 1}\r", b'\n\n{"a": 2}'])]) as server:
        async with transport.stream(_post(server.url)) as stream:
            assert [line async for line in stream.lines()] == ['{"a": 1}', '{"a": 2}']


async def test_a_stream_that_is_left_closes_its_connection(transport: HttpTransport) -> None:
    async with FakeServer([Answer([b"data: 1\n\n"] * 3, hang=True), Answer({})]) as server:
        async with transport.stream(_post(server.url)) as stream:
            async with Aclosing(stream.events()) as events:
                assert (await anext(events)).data == "1"
        await transport.send(_post(server.url))
    assert server.connections == 2


async def test_an_error_status_raises_with_body_and_request_id(transport: HttpTransport) -> None:
    refusal = Answer({"error": "no"}, status=429, headers={"request-id": "r2"})
    async with FakeServer([refusal]) as server:
        with pytest.raises(HttpStatusError) as caught:
            await transport.send(_post(server.url))
    assert (caught.value.status, caught.value.text) == (429, '{"error": "no"}')
    assert caught.value.request_id == "r2"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"x" * 10_001),
        Answer(gzip.compress(b"x" * 10_000_000), headers={"content-encoding": "gzip"}),
        Answer([b"data: " + b"x" * 1_001 + b"\n\n"]),
        Answer([b"data: " + b"x" * 500] * 3),
        Answer([b"data: xxxxxxxx\n"] * 200),
    ],
    ids=["body", "gzip bomb", "line", "line in pieces", "event"],
)
async def test_too_large_an_answer_is_refused(transport: HttpTransport, answer: Answer) -> None:
    async with FakeServer([answer]) as server:
        with pytest.raises(HttpTooLargeError):
            await _events(transport, _post(server.url))


async def test_an_answer_that_breaks_off_is_an_error(transport: HttpTransport) -> None:
    async with FakeServer([Answer(b"x" * 100, cut_after=50)]) as server:
        with pytest.raises(HttpCutOffError):
            await transport.send(_post(server.url))


@pytest.mark.parametrize(
    ("answer", "phase"),
    [
        (Answer(silent=True, late=True), "first byte"),
        (Answer([b"data: 1\n\n"] * 2, hang=True, late=True), "between chunks"),
    ],
)
async def test_each_wait_has_its_own_limit(
    transport: HttpTransport, answer: Answer, phase: str
) -> None:
    timeouts = Timeouts(first_byte=20, between_chunks=30)
    async with FakeServer([answer]) as server:
        with pytest.raises(HttpTimeoutError) as caught:
            await _events(transport, _post(server.url, timeouts=timeouts))
    assert caught.value.phase == phase
    assert caught.value.seconds == (20 if phase == "first byte" else 30)


async def test_a_server_that_is_not_there_cannot_be_reached(transport: HttpTransport) -> None:
    async with FakeServer() as server:
        url = server.url
    with pytest.raises(HttpConnectError):
        await transport.send(_post(url))


@pytest.mark.parametrize("key", ["sk-1\n", " sk-1", "sk-\x001", "sk-é", ""])
def test_a_key_that_no_header_holds_names_its_source(key: str) -> None:
    with pytest.raises(HttpRequestError, match="OPENAI_API_KEY") as caught:
        ApiKey(key, source="OPENAI_API_KEY")
    assert not key.strip() or key.strip() not in str(caught.value)


async def test_nothing_shows_the_key(transport: HttpTransport) -> None:
    request = _post("http://user:pass@127.0.0.1:9/v1?key=hidden", headers={"x-api-key": KEY})
    shown = f"{transport!r} {request!r} {ApiKey(KEY)!r}"
    assert not any(secret in shown for secret in (KEY, "pass", "hidden"))


async def test_the_request_id_does_not_show_the_key(transport: HttpTransport) -> None:
    answer = Answer({}, status=400, headers={"x-request-id": f"id of Bearer {KEY}"})
    async with FakeServer([answer]) as server:
        with pytest.raises(HttpStatusError) as caught:
            await transport.send(_post(server.url))
    assert caught.value.request_id == "id of Bearer ***"


async def test_a_text_that_is_no_url_is_not_shown(transport: HttpTransport) -> None:
    with pytest.raises(HttpRequestError, match="is no URL") as caught:
        await transport.send(_post(f"not a url {KEY}"))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("begun", "sent"),
    [
        (b"", 3),
        (b"H", 2),
        (b"HTTP/1.1 200 OK\r\n", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", 2),
        (b"HTTP/1.1 100 Continue\r\n\r\n", 2),
    ],
)
async def test_a_request_whose_answer_began_is_not_sent_again(
    transport: HttpTransport, begun: bytes, sent: int
) -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    answers = [whole, begun, whole]
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        answer = whole
        while answer == whole:
            try:
                await reader.readuntil(b'{"a": 1}')
            except asyncio.IncompleteReadError:
                break
            answer = answers[count]
            count += 1
            writer.write(answer)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        await transport.send(_post(url))
        if begun:
            with pytest.raises(HttpCutOffError):
                await transport.send(_post(url))
        else:
            await transport.send(_post(url))
        await transport.aclose()
    assert count == sent
