"""FaultServer: an HTTP server on loopback that answers with raw bytes, right or wrong.

It counts the connections that clients keep open, so that a test sees one that leaks.
"""

from __future__ import annotations

import asyncio
import json
import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

_STATUSES = (
    *(100, 101, 102, 200, 201, 202, 203, 204, 205, 206, 299, 300, 304),
    *(400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 418, 422, 425, 429, 451, 499),
    *(500, 501, 502, 503, 504, 507, 520, 522, 524, 529, 599, 600, 999),
)
_JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**63, 1e308, -0.0, float("nan"), float("inf")),
    *("", "x", "null", "\u0000", "\ud800", "☀" * 50, "x" * 5000, "data:,", "length"),
    *([], [None], [[]], [{}], ["x"], [1, "a", {}], {}, {"": ""}, {"a": {"b": [1]}}),
    *({"message": 5}, {"code": [], "message": {}}, {"index": "x"}, {"type": None}),
)
_TYPES = (
    *("application/json", "text/event-stream", "text/html", "text/plain", "", ";;;"),
    *("application/octet-stream", "text/event-stream; charset=latin-1", "APPLICATION/JSON"),
)
_PLACES = (
    *("/elsewhere", "", "//", "http://", "http://[::bad", "javascript:alert(1)", "ftp://x/y"),
    *("http://127.0.0.1:1/", "https://127.0.0.1:1/", "?again", "\x7f", "http://a b/", "/" * 9000),
)
_RAW = (
    *(
        b"",
        b"\r\n",
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
    ),
    *(b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n: x\r\n\r\n", b"\x16\x03\x01\x02\x00"),
    *(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000, b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n"),
    *(
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    ),
)


@dataclass(frozen=True)
class Fault:
    """What the server sends for one request.

    Attributes:
      name: which kind of fault it is.
      pieces: the bytes, in the pieces they are sent in; the connection closes after them.
      answers: whether the answer is right in spite of how it comes.
    """

    name: str
    pieces: Sequence[bytes]
    answers: bool = False


class FaultServer:
    """Sends one fault for each request; an async context manager.

    Attributes:
      faults: what is sent next.
      open_connections: how many connections clients keep open.
    """

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.open_connections = 0
        self._closed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Its address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def all_closed(self) -> None:
        """Wait until no client keeps a connection open."""
        async with self._closed:
            await self._closed.wait_for(lambda: self.open_connections == 0)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open_connections += 1
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client, or the test, has had enough
        finally:
            self._tasks.discard(task)
            writer.close()
            self.open_connections -= 1
            async with self._closed:
                self._closed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                await reader.readexactly(int(line.partition(b":")[2]))
        for piece in self.faults.pop(0).pieces if self.faults else ():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        if writer.can_write_eof():
            writer.write_eof()
        await reader.read()  # until the client goes away


def answer(
    body: bytes, *, status: int = 200, content_type: str = "application/json", **headers: str
) -> bytes:
    """Write an HTTP answer."""
    fields = {
        "content-length": str(len(body)),
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    if content_type:
        fields["content-type"] = content_type
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode("latin-1", "replace") + body


def make_fault(number: int, events: Callable[[bool], list[Any]], key: str) -> tuple[bool, Fault]:
    """Return whether to ask for a stream, and the fault of this number; the same each time.

    Args:
      number: which one.
      events: the objects of a right answer, streamed or whole.
      key: the secret, which some of the answers quote.
    """
    dice = random.Random(number)
    stream = dice.random() < 0.6
    objects = json.loads(json.dumps(events(stream)))
    kind = dice.choice(_KINDS)
    return stream, kind(dice, objects, stream, key)


def _body(objects: list[Any], stream: bool) -> tuple[bytes, str]:
    texts = [json.dumps(one) for one in objects]
    if not stream:
        return texts[0].encode("utf-8", "surrogatepass"), "application/json"
    lines = "".join(_event(one, text) for one, text in zip(objects, texts, strict=True))
    return lines.encode("utf-8", "surrogatepass"), "text/event-stream"


def _event(one: Any, text: str) -> str:
    named = one.get("type") if isinstance(one, dict) else None
    return (f"event: {named}\n" if isinstance(named, str) else "") + f"data: {text}\n\n"


def _pieces(dice: random.Random, data: bytes) -> list[bytes]:
    cuts = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randrange(12)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _split(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    body, kind = _body(objects, stream)
    if stream:
        end = dice.choice([b"\n", b"\r\n", b"\r"])
        body = dice.choice([b"", b"\xef\xbb\xbf"]) + body.replace(b"\n", end)
        body = dice.choice([b"", b": comment" + end, b"retry: 5" + end, end]) + body
        if body[:1] != b"\xef" and b"\xef\xbb\xbf" in body:
            body = body.replace(b"\xef\xbb\xbf", b"")
    return Fault("split", _pieces(dice, answer(body, content_type=kind)), answers=True)


def _status(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    error = dice.choice([dice.choice(_JUNK), {"message": f"bad {key}", "code": dice.choice(_JUNK)}])
    said = dice.choice(
        [{"error": error}, error, [error], {"detail": error}, {"message": f"no {key}"}]
    )
    body = json.dumps(said).encode("utf-8", "surrogatepass")
    body = dice.choice(
        [body, body, body[: len(body) // 2], b"", f"<html>{key}".encode(), b"\xff\xfe"]
    )
    wait = dice.choice(["1", "-1", "x", "1e999", "nan", "Wed, 21 Oct 2015 07:28:00 GMT", ""])
    status = dice.choice(_STATUSES)
    return Fault(
        "status", [answer(body, status=status, content_type=dice.choice(_TYPES), retry_after=wait)]
    )


def _types(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    for _ in range(dice.choice([1, 1, 1, 2, 5])):
        _spoil(dice, objects)
    body, kind = _body(objects, stream)
    return Fault("types", [answer(body, content_type=kind)])


def _spoil(dice: random.Random, objects: list[Any]) -> None:
    """Replace, drop or add one value somewhere."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in list(pairs):
            places.append((value, name))
            if isinstance(inner, (dict, list)):
                walk(inner)

    walk(objects)
    holder, name = dice.choice(places)
    if isinstance(holder, dict) and dice.random() < 0.2:
        del holder[name]
    else:
        holder[name] = dice.choice(_JUNK)


def _bytes(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    body, kind = _body(objects, stream)
    spoiled = bytearray(body)
    for _ in range(dice.choice([1, 1, 3])):
        at = dice.randrange(len(spoiled))
        what = dice.choice(
            [b"\xff", b"\xc3", b"\x00", b"{", b'"', b"\n\n", b"[" * 5000, b"9" * 5000]
        )
        spoiled[at : at + dice.choice([0, 1])] = what
    return Fault("bytes", _pieces(dice, answer(bytes(spoiled), content_type=kind)))


def _cut(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    body, kind = _body(objects, stream)
    whole = answer(body, content_type=kind)
    return Fault("cut", [whole[: dice.randrange(len(whole))]])


def _shorter(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    """End an answer early whose length agrees."""
    body, kind = _body(objects, stream)
    return Fault("shorter", [answer(body[: dice.randrange(len(body))], content_type=kind)])


def _content(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    body, _ = _body(objects, dice.choice([True, False]))
    page = f"<!doctype html><html>{key}</html>".encode()
    return Fault(
        "content type", [answer(dice.choice([body, page]), content_type=dice.choice(_TYPES))]
    )


def _encoding(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    body, kind = _body(objects, stream)
    squeezed = zlib.compress(body)
    data = dice.choice([body, squeezed, squeezed[: len(squeezed) // 2], b"", b"\x1f\x8b"])
    named = dice.choice(
        ["gzip", "deflate", "br", "zstd", "gzip, gzip", "identity", "x", "gzip" + ",gzip" * 9]
    )
    return Fault("encoding", [answer(data, content_type=kind, content_encoding=named)])


def _redirect(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    status = dice.choice([301, 302, 303, 307, 308])
    return Fault("redirect", [answer(b"", status=status, location=dice.choice(_PLACES))])


def _raw(dice: random.Random, objects: list[Any], stream: bool, key: str) -> Fault:
    return Fault("no HTTP", [dice.choice(_RAW)])


_KINDS = (
    *(_split, _status, _types, _types, _types, _bytes, _cut, _shorter, _content, _encoding),
    *(_redirect, _raw),
)
