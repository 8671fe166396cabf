"""HttpStream: an answer whose body is read as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ..._aclosing import Aclosing
from ..wire.faults import BadAnswer
from .client import is_library_error, translate_error
from .errors import HttpError, HttpStatusError, HttpTimeoutError, HttpTooLargeError
from .events import EventReader, LineReader, ServerSentEvent, text_of_bytes
from .messages import Bounds, HttpAnswer, HttpRequest, content_type_of, request_id_of
from .secrets import SentSecrets

_DISCARDING_S = 1.0

Read = TypeVar("Read")


class HttpStream:
    """An answer whose body is read as it comes. Only one of its readers may be used, once.

    Attributes:
      headers: by lower-case name.
      is_whole: whether the body was read to the end that the server marked, so that what is wrong
        with it is the server's and would come again.
    """

    def __init__(
        self,
        response: Any,
        request: HttpRequest,
        *,
        bounds: Bounds,
        secrets: SentSecrets,
        began: float,
    ) -> None:
        self._status: int = response.status_code
        self.headers = _read_headers(response.headers.raw)
        self._response, self._request = response, request
        self.is_whole = False
        self._bounds, self._secrets = bounds, secrets
        self._deadline = began + request.timeouts.whole

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._status

    @property
    def request_id(self) -> str:
        """The provider's id of the request, without secrets; empty if it names none."""
        return self._secrets.redact(request_id_of(self.headers))

    @property
    def content_type(self) -> str:
        """The media type, in lower case and without parameters."""
        return content_type_of(self.headers)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body's bytes as they come, decompressed.

        Raises:
          HttpTooLargeError: the body is larger than the bound.
          HttpTimeoutError: the next bytes, or the end, took too long.
          HttpCutOffError: the connection broke.
        """
        size, bound, deadline = 0, self._bounds.answer, self._deadline
        length = self.headers.get("content-length", "")
        if length.isdecimal() and int(length) > bound:
            raise self._too_large()
        clock = asyncio.get_running_loop().time
        try:
            async with Aclosing(self._response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > bound:
                        raise self._too_large()
                    if clock() > deadline:
                        limit = self._request.timeouts.whole
                        raise HttpTimeoutError("whole", limit, request_id=self.request_id)
                    yield chunk
        except Exception as error:  # boundary: map the library's errors to ours
            if not is_library_error(error):
                raise
            raise translate_error(
                error,
                self._request.url,
                self._request.timeouts,
                has_begun=True,
                request_id=self.request_id,
            ) from error

    def events(self, *, end: str = "") -> AsyncGenerator[ServerSentEvent, None]:
        """Yield the server-sent events of the body; see `read_events`."""
        return self.read_events(_as_it_is, end=end)

    async def read_events(
        self, read: Callable[[ServerSentEvent], Read | None], *, end: str = ""
    ) -> AsyncGenerator[Read, None]:
        """Yield what `read` makes of the server-sent events, except None; see `chunks` for errors.

        An error of `read` is raised after what stood before it was yielded.

        Args:
          read: reads one event.
          end: data of the event that ends the stream, which is not read. What a server sends
            behind it is discarded for a moment, so that the connection can be used again.
        """
        reader = EventReader(self._bounds.event)
        async with Aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    if end and event.data == end:
                        await _discard(chunks)
                        return
                    try:
                        found = read(event)
                    except BadAnswer as error:
                        # A cut shows in the last event only, which no blank line follows.
                        error.retryable = False
                        raise
                    if found is not None:
                        yield found
        for event in reader.finish():
            if end and event.data == end:
                return
            found = read(event)
            if found is not None:
                yield found

    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield the lines of the body that are not blank; see `chunks` for errors."""
        reader = LineReader(self._bounds.event)
        async with Aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                for line in reader.feed(chunk):
                    if line.strip():
                        yield text_of_bytes(line)
        for line in reader.finish():
            if line.strip():
                yield text_of_bytes(line)

    async def read(self) -> HttpAnswer:
        """Read the whole body; see `chunks` for errors."""
        async with Aclosing(self.chunks()) as chunks:
            body = b"".join([chunk async for chunk in chunks])
        # Without a length, a connection that closes early looks like the end.
        is_marked = {"content-length", "transfer-encoding"} & self.headers.keys()
        self.is_whole = bool(is_marked) or self._response.http_version == "HTTP/2"
        return HttpAnswer(self.status, self.headers, body, self.request_id)

    async def read_error(self) -> HttpStatusError:
        """Return the error for a status of 300 or more, with the start of the body."""
        body = bytearray()
        try:
            async with Aclosing(self.chunks()) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if len(body) > self._bounds.error:
                        break
        except HttpError:
            pass  # the status says more than a body that broke
        text = self._secrets.redact(body.decode("utf-8", "replace"))
        return HttpStatusError(self.status, self.headers, text.encode(), request_id=self.request_id)

    def _too_large(self) -> HttpTooLargeError:
        return HttpTooLargeError("the answer", self._bounds.answer, request_id=self.request_id)


def _read_headers(raw: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """Return headers by lower-case name; the values of one that comes again are joined."""
    headers: dict[str, str] = {}
    for name_bytes, value_bytes in raw:
        name, value = name_bytes.decode("latin-1").lower(), value_bytes.decode("utf-8", "replace")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _as_it_is(event: ServerSentEvent) -> ServerSentEvent:
    return event


async def _discard(chunks: AsyncGenerator[bytes, None]) -> None:
    with suppress(HttpError, TimeoutError):
        async with asyncio.timeout(_DISCARDING_S):
            async for _ in chunks:
                pass
