"""The HTTP client of an MCP connection: the caller's headers on every request, bounded answers.

The SDK's transports use it in place of the client that the parameters' factory makes. A request
that fails ends with an error of its own; the SDK by itself would end the connection, and with it
all other calls.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

from ..._log import get_logger
from ..._optional import need

_log = get_logger(__name__)

MAX_ANSWER_BYTES = 32 * 1024 * 1024
_SERVER_ERROR = -32000  # of JSON-RPC: "reserved for implementation-defined server-errors"
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")


class RequestTrace:
    """What HTTP says about one request of a caller.

    Attributes:
      headers: the caller's headers.
      status: the status with which the server refused the request, or None.
      challenge: the server's `WWW-Authenticate` header, or an empty text.
      never_sent: whether the request failed before it was sent.
    """

    __slots__ = ("challenge", "headers", "never_sent", "status")

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self.headers = dict(headers or {})
        self.status: int | None = None
        self.challenge = ""
        self.never_sent = False


TRACE: ContextVar[RequestTrace | None] = ContextVar("ostinato_mcp_request", default=None)


class HttpClient:
    """Sends the requests of one connection.

    Args:
      client: the client that the parameters' factory made.
      headers: returns the connection's newest headers, for requests without a caller.
      on_lost: called when a request fails whose failure the transport hides from the caller;
        None if it hides none.
    """

    def __init__(
        self,
        client: Any,
        headers: Callable[[], Mapping[str, str]],
        on_lost: Callable[[str], None] | None = None,
    ) -> None:
        self._client = client
        self._headers = headers
        self._on_lost = on_lost

    @property
    def max_redirects(self) -> int:
        """Redirects that a request may follow."""
        return self._client.max_redirects

    async def __aenter__(self) -> HttpClient:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._client.__aexit__(*error)

    def build_request(self, *args: Any, **kwargs: Any) -> Any:
        """Return a request; see httpx2."""
        return self._client.build_request(*args, **kwargs)

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request with the caller's headers; a failure is an answer with status 502."""
        trace = TRACE.get() or RequestTrace()
        request.headers.update(self._headers())
        request.headers.update(trace.headers)
        try:
            response = await self._client.send(request, **options)
        except Exception as error:  # boundary: one request's failure must not end the connection
            trace.never_sent = type(error).__name__ in _NEVER_SENT
            reason = f"the server could not be reached ({type(error).__name__})"
            if not trace.never_sent:
                reason = f"the server did not answer ({type(error).__name__})"
            self._report_loss(reason)
            return _make_failure(request, reason)
        if response.status_code >= 400:
            trace.status = response.status_code
            trace.challenge = response.headers.get("www-authenticate", "")
            self._report_loss(f"the server answered with HTTP {response.status_code}")
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith("application/json"):
            response.stream = _stream_type()(response.stream)
        return response

    def _report_loss(self, reason: str) -> None:
        if self._on_lost is not None:
            self._on_lost(reason)


def _make_failure(request: Any, reason: str) -> Any:
    """Return an answer that the transport hands to the caller as a JSON-RPC error."""
    error = {"code": _SERVER_ERROR, "message": reason}
    return need("httpx2").Response(
        502,
        headers={"content-type": "application/json"},
        content=json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode(),
        request=request,
    )


@cache
def _stream_type() -> Any:
    """Return the class of bounded bodies, whose errors are those that the transport expects."""
    httpx2 = need("httpx2")

    class BoundedStream(httpx2.AsyncByteStream):
        """The body of a JSON answer."""

        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            try:
                async for piece in self._inner:
                    size += len(piece)
                    if size > MAX_ANSWER_BYTES:
                        raise httpx2.StreamError(
                            f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes"
                        )
                    yield piece
            except httpx2.TransportError as error:
                raise httpx2.StreamError(
                    f"the answer broke off ({type(error).__name__})"
                ) from error

        async def aclose(self) -> None:
            await self._inner.aclose()

    return BoundedStream
