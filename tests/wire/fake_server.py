"""FakeServer: an HTTP server on loopback that answers what a test scripted, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.support.loop_time import time_passes

_REASONS = {200: "OK"}


@dataclass(frozen=True)
class Received:
    """A request as it came.

    Attributes:
      method: GET, POST, ...
      path: path and query.
      headers: by lower-case name.
      body: its bytes.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What to send back.

    Attributes:
      body: bytes, text, or what is sent as JSON; a list of bytes is sent in these pieces.
      status: the HTTP status.
      headers: further headers; a content type of JSON is the default, or of events for pieces.
      cut_after: bytes of the body after which the connection breaks.
      hang: send the headers and `cut_after` bytes, then nothing until the client goes away.
      silent: send nothing at all until the client goes away.
      late: then time passes in the event loop, until the client has had enough.
    """

    body: bytes | str | dict[str, Any] | list[Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    hang: bool = False
    silent: bool = False
    late: bool = False

    @property
    def pieces(self) -> list[bytes]:
        """The body in the pieces it is sent in."""
        body = self.body
        if isinstance(body, list) and self.is_stream:
            return list(body)
        if isinstance(body, bytes):
            return [body]
        return [body.encode() if isinstance(body, str) else json.dumps(body).encode()]

    @property
    def is_stream(self) -> bool:
        """Whether it is sent piece by piece."""
        body = self.body
        return isinstance(body, list) and (not body or isinstance(body[0], bytes))


def sse(objects: Iterable[Any], *, done: str | None = None, named: bool = False) -> list[bytes]:
    """Write server-sent events.

    Args:
      objects: one for each event, sent as JSON.
      done: data of a last event that is no JSON.
      named: whether each event is named after its object's `type`.
    """
    pieces = [
        (f"event: {x['type']}\n" if named else "") + f"data: {json.dumps(x)}\n\n" for x in objects
    ]
    if done is not None:
        pieces.append(f"data: {done}\n\n")
    return [piece.encode() for piece in pieces]


Scripted = Answer | Callable[[Received], Answer]


class FakeServer:
    """Answers requests in the order of a script; an async context manager.

    Attributes:
      requests: what came, in order.
      connections: how many connections were opened.

    Args:
      answers: one for each request, or a function of the request. A request beyond them is answered
        with 599, and leaving the context raises.
      paths: answers by path, which the script does not count.
      otherwise: answers what neither has, so that no request is beyond the script.
    """

    def __init__(
        self,
        answers: Sequence[Scripted] = (),
        *,
        paths: dict[str, Scripted] | None = None,
        otherwise: Scripted | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self._answers = list(answers)
        self._paths = paths or {}
        self._otherwise = otherwise
        self._unscripted: list[str] = []
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        if error is None and self._unscripted:
            raise AssertionError(f"requests beyond the script: {self._unscripted}")

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                if not await _send(self._answer(request), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client, or the test, is done
        finally:
            self._tasks.discard(task)
            writer.close()

    def _answer(self, request: Received) -> Answer:
        path = request.path.partition("?")[0]
        scripted = self._paths.get(path)
        if scripted is None and not self._answers:
            scripted = self._otherwise
        if scripted is None:
            if not self._answers:
                self._unscripted.append(f"{request.method} {request.path}")
                return Answer({"error": {"message": "beyond the script"}}, status=599)
            scripted = self._answers.pop(0)
        return scripted if isinstance(scripted, Answer) else scripted(request)


async def _read(reader: asyncio.StreamReader) -> Received | None:
    """Read one request, or None where the client closed the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


async def _send(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Send an answer; return whether the connection stays open."""
    if answer.silent:
        await _say_nothing(answer, reader)
        return False
    kind = "text/event-stream" if answer.is_stream else "application/json"
    pieces = answer.pieces
    headers = {"content-type": kind, **answer.headers}
    if answer.is_stream:
        headers["transfer-encoding"] = "chunked"
    else:
        headers.setdefault("content-length", str(sum(map(len, pieces))))
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    left = answer.cut_after
    for piece in pieces:
        sent = piece if left is None else piece[:left]
        if sent:
            writer.write(b"%x\r\n%s\r\n" % (len(sent), sent) if answer.is_stream else sent)
            await writer.drain()
        if left is not None:
            left -= len(sent)
            if left <= 0:
                break
    if answer.hang:
        await _say_nothing(answer, reader)
        return False
    if answer.cut_after is not None:
        return False
    if answer.is_stream:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _say_nothing(answer: Answer, reader: asyncio.StreamReader) -> None:
    gone = asyncio.ensure_future(reader.read())
    if answer.late:
        await time_passes(gone.done)
    await gone
