"""Sending: which addresses are asked, redirects, repeats, bounds, and what no message shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest

from ostinato._public_address import RefusedAddress
from ostinato._secret_values import redact_values
from ostinato.tools.call_doubt import UnknownOutcome
from ostinato.tools.openapi import rest_client
from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset
from ostinato.tools.openapi.rest_client import RequestFailed, RestClient
from ostinato.tools.openapi.rest_request import RestRequest
from tests.support.dripping_server import drip_forever

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Script = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


def redirect(status: int, location: str) -> bytes:
    head = f"HTTP/1.1 {status} X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    return head.encode()


class ScriptedServer:
    """Gives answers in their order; an empty one breaks the connection."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers = answers
        self.heads: list[str] = []
        self.connections = 0
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                for line in head.lower().splitlines():
                    if line.startswith("content-length:"):
                        await reader.readexactly(int(line.partition(":")[2]))
                self.heads.append(head)
                answer = self.answers.pop(0)
                if not answer:
                    return
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def scripted(*answers: bytes) -> AsyncIterator[ScriptedServer]:
    script = ScriptedServer(list(answers))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = server.sockets[0].getsockname()[1]
    try:
        yield script
    finally:
        server.close()


def make_request(port: int, method: str = "GET", **fields: Any) -> RestRequest:
    url = fields.pop("base_url", f"http://127.0.0.1:{port}/a")
    return RestRequest(method, url, **fields)


async def send(script: ScriptedServer, method: str = "GET", **fields: Any) -> Any:
    client = RestClient(allow_private=True)
    return await client.send(make_request(script.port, method, **fields))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a",
        "http://localhost:1/a",
        "http://[::1]:1/a",
        "http://169.254.169.254/latest",
        "http://metadata.google.internal/x",
        "http://10.0.0.8/a",
        "http://[::ffff:127.0.0.1]:1/a",
        "http://0x7f.1:1/",
    ],
)
async def test_private_addresses_are_refused(url: str) -> None:
    with pytest.raises(RequestFailed, match="allow_private_network_access=True"):
        await RestClient().send(make_request(0, base_url=url))


async def test_private_addresses_are_refused_behind_a_factory() -> None:
    client = RestClient(client_factory=httpx.AsyncClient)
    with pytest.raises(RequestFailed, match="does not lead to a public address"):
        await client.send(make_request(0, base_url="http://127.0.0.1:1/a"))


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.com/a", "http:///a"])
async def test_only_http_is_spoken(url: str) -> None:
    with pytest.raises(RequestFailed, match="no URL that starts with http"):
        await RestClient(allow_private=True).send(make_request(0, base_url=url))


async def test_the_connection_goes_to_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []

    def look_up(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"]

    monkeypatch.setattr(rest_client, "public_addresses", look_up)
    async with scripted(OK) as script:
        url = f"http://api.example.com:{script.port}/a"
        response = await RestClient().send(make_request(0, base_url=url))
    assert response.body == b"ok" and asked == [("api.example.com", script.port)]
    assert f"host: api.example.com:{script.port}" in script.heads[0].lower()


async def test_a_redirect_to_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_up(host: str, port: int) -> list[str]:
        if host == "api.example.com":
            return ["127.0.0.1"]
        raise RefusedAddress(f"{host} does not lead to a public address")

    monkeypatch.setattr(rest_client, "public_addresses", look_up)
    async with scripted(redirect(302, "http://169.254.169.254/latest")) as script:
        url = f"http://api.example.com:{script.port}/a"
        with pytest.raises(RequestFailed, match=r"169\.254\.169\.254 does not lead"):
            await RestClient().send(make_request(0, base_url=url))
    assert len(script.heads) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_get_follows_redirects_of_its_origin_with_its_headers(status: int) -> None:
    async with scripted(redirect(status, "/b?x=1"), OK) as script:
        response = await send(script, headers={"Authorization": "Bearer secret"})
    assert response.status == 200
    assert script.heads[1].startswith("GET /b?x=1 ")
    assert "Bearer secret" in script.heads[1]


async def test_another_origin_gets_no_credentials() -> None:
    async with scripted(OK) as other, scripted(b"") as script:
        script.answers = [redirect(302, f"http://127.0.0.1:{other.port}/b")]
        headers = {"Authorization": "s3", "X-Key": "s1", "Cookie": "a=s2", "User-Agent": "me"}
        assert (await send(script, headers=headers)).status == 200
    (head,) = other.heads
    assert "user-agent: me" in head.lower()
    assert not any(secret in head for secret in ("s1", "s2", "s3"))


@pytest.mark.parametrize(
    ("status", "why"), [(302, "which a POST does not follow"), (307, "to another origin")]
)
async def test_a_post_does_not_follow_to_another_origin(status: int, why: str) -> None:
    async with scripted(redirect(status, "http://127.0.0.1:9/b")) as script:
        with pytest.raises(RequestFailed, match=why):
            await send(script, "POST", body=b"x")


async def test_a_post_follows_a_redirect_that_keeps_it() -> None:
    async with scripted(redirect(308, "/b"), OK) as script:
        assert (await send(script, "POST", body=b"x")).status == 200
    assert script.heads[1].startswith("POST /b ")


async def test_redirects_end() -> None:
    async with scripted(*[redirect(302, "/a")] * 6) as script:
        with pytest.raises(RequestFailed, match="more than 5 times"):
            await send(script)


async def test_a_get_is_repeated_once_when_its_connection_breaks() -> None:
    async with scripted(b"", OK) as script:
        assert (await send(script)).body == b"ok"
    assert len(script.heads) == 2
    async with scripted(b"", b"", OK) as script:
        with pytest.raises(RequestFailed, match="the connection broke"):
            await send(script)
    assert len(script.heads) == 2


async def test_a_get_that_must_not_be_repeated_is_sent_once() -> None:
    async with scripted(b"", OK) as script:
        with pytest.raises(RequestFailed, match="it was not repeated") as caught:
            await send(script, may_repeat=False)
    assert len(script.heads) == 1 and caught.value.may_have_run


@pytest.mark.parametrize(("policy", "times"), [("rerun", 2), ("at_most_once", 1), ("ask", 1)])
async def test_the_policy_of_a_get_decides_whether_it_is_repeated(policy: Any, times: int) -> None:
    async with scripted(b"", b"", OK) as script:
        document = {
            "openapi": "3.0.0",
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": f"http://127.0.0.1:{script.port}"}],
            "paths": {"/a": {"get": {"operationId": "start", "responses": {}}}},
        }
        toolset = OpenAPIToolset(spec_dict=document, allow_private_network_access=True)
        tool = toolset.get_tool("start")
        assert tool is not None
        tool.in_doubt = policy
        answer = await tool.call(args={}, tool_context=None)
    assert len(script.heads) == times and isinstance(answer, UnknownOutcome)


@pytest.mark.parametrize(
    "answers", [[b"", b""], [redirect(302, "http://127.0.0.1:9/")], [redirect(302, "/a")] * 6]
)
async def test_a_get_that_was_sent_may_have_run(answers: list[bytes]) -> None:
    async with scripted(*answers) as script:
        with pytest.raises(RequestFailed) as caught:
            await send(script)
    assert caught.value.may_have_run


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_request_with_an_effect_is_never_repeated(method: str) -> None:
    async with scripted(b"", OK) as script:
        with pytest.raises(RequestFailed, match="may have been carried out; it was not repeated"):
            await send(script, method, body=b"x")
    assert len(script.heads) == 1


async def test_a_request_with_an_effect_tries_another_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]  # nothing listens at the first

    monkeypatch.setattr(rest_client, "public_addresses", look_up)
    async with scripted(OK) as script:
        url = f"http://api.example.com:{script.port}/a"
        response = await RestClient().send(make_request(0, "POST", base_url=url, body=b"x"))
    assert response.status == 200 and len(script.heads) == 1


async def test_an_unreachable_host_was_not_asked() -> None:
    async with scripted() as script:
        pass
    with pytest.raises(RequestFailed, match=r"no connection could be opened .* was not sent"):
        await send(script, "POST")


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with scripted(b"HTTP/1.1 200 OK\r\n") as script:
        client = RestClient(allow_private=True, timeout_seconds=0.05)
        with pytest.raises(RequestFailed, match="no answer came in time after the request"):
            await client.send(make_request(script.port, "POST"))


async def test_a_server_that_sends_byte_by_byte_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rest_client, "_PATIENCE", 1)
    client = RestClient(allow_private=True, timeout_seconds=0.2)
    with drip_forever() as url:
        request = RestRequest("POST", url)
        with pytest.raises(RequestFailed, match="in time after the request was sent"):
            await client.send(request)


async def test_a_large_body_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_client, "_MAX_BODY", 10)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    async with scripted(head + b"x" * 1_000) as script:
        response = await send(script)
    assert response.is_cut and response.body == b"x" * 10


async def test_connections_are_kept_where_it_is_wanted() -> None:
    async with scripted(OK, OK, OK) as script:
        client = RestClient(allow_private=True, keeps_connections=True)
        for _ in range(3):
            await client.send(make_request(script.port))
        await client.aclose()
    assert script.connections == 1


async def test_cookies_of_one_user_do_not_reach_another() -> None:
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=ann\r\nContent-Length: 0\r\n\r\n"
    async with scripted(answer, OK) as script:
        client = RestClient(allow_private=True, keeps_connections=True)
        for _ in range(2):
            await client.send(make_request(script.port))
        await client.aclose()
    assert "cookie" not in script.heads[1].lower()


@pytest.mark.parametrize("library", [httpx, httpx2])
async def test_a_factory_makes_a_client_for_each_request(library: Any) -> None:
    made: list[Any] = []

    def make_client() -> Any:
        made.append(library.AsyncClient(headers={"X-From": "factory"}))
        return made[-1]

    client = RestClient(client_factory=make_client, allow_private=True)
    async with scripted(OK, OK) as script:
        for _ in range(2):
            await client.send(make_request(script.port, headers={"X-Mine": "1"}))
    assert len(made) == 2 and all(one.is_closed for one in made)
    assert "X-From: factory" in script.heads[0] and "X-Mine: 1" in script.heads[0]


@pytest.mark.parametrize("addresses", [[], ["93.184.216.34"]])
async def test_a_client_of_a_factory_resolves_names_itself(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    def look_up(host: str, port: int) -> list[str]:
        if not addresses:
            raise RefusedAddress(f"{host} cannot be found")
        return addresses

    monkeypatch.setattr(rest_client, "resolve", look_up)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"host": request.url.host})

    def make_client() -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(answer))

    client = RestClient(client_factory=make_client)
    response = await client.send(make_request(0, base_url="https://no-such-name.invalid/a"))
    assert response.body == b'{"host":"no-such-name.invalid"}'


def test_secrets_are_taken_out_of_messages() -> None:
    text = redact_values("got k-12345 and Bearer abcdefgh", ["k-12345", ""])
    assert "k-12345" not in text and "abcdefgh" not in text
    request = RestRequest("GET", "https://x/a", [("key", "s1")], {"A": "s2"}, b"s3", ["s4"])
    assert not any(secret in repr(request) for secret in ("s1", "s2", "s3", "s4"))


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("location", ["http://[::1", "//[", "ftp://x/y", "http://a:99999/"])
async def test_a_redirect_to_no_url_is_an_error(method: str, location: str) -> None:
    async with scripted(redirect(307, location)) as script:
        with pytest.raises(RequestFailed, match="redirects to no valid URL") as caught:
            await send(script, method)
    assert ("may have been carried out" in str(caught.value)) is (method == "POST")


@pytest.mark.parametrize(
    ("headers", "body", "wanted"),
    [
        ({"Content-Length": "3"}, b"hello", "after the request was sent"),
        ({"X": " lead"}, b"", "It was not sent"),
        ({"X Y": "1"}, b"", "It was not sent"),
    ],
)
async def test_what_the_library_cannot_write_is_an_error(
    headers: dict[str, str], body: bytes, wanted: str
) -> None:
    async with scripted() as script:
        with pytest.raises(RequestFailed, match=wanted):
            await send(script, "POST", headers=headers, body=body)


async def test_an_address_that_is_too_long_is_not_sent() -> None:
    async with scripted() as script:
        with pytest.raises(RequestFailed, match="It was not sent"):
            await send(script, base_url=f"http://127.0.0.1:{script.port}/{'a' * 70_000}")
    assert not script.heads
