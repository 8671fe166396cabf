"""The HTTP client of an MCP connection: the caller's headers on every request, bounded answers.

The SDK's transports use it in place of the client that the parameters' factory makes. A request
that fails ends with an error of its own; the SDK by itself would end the connection, and with it
all other calls.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from ..._bounded_body import read_body
from ..._log import get_logger
from ..._optional import need
from .broken_characters import repair, repair_lines
from .sdk_logs import REDACT

_log = get_logger(__name__)

MAX_ANSWER_BYTES = 32 * 1024 * 1024
_KINDS = ("application/json", "text/event-stream")
_LONGEST_KIND = 100  # characters of a media type in a message
_SERVER_ERROR = -32000  # of JSON-RPC: "reserved for implementation-defined server-errors"
_ABOUT_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")
_BUILT = "ostinato"  # extension of a request that holds its _Built
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")


class _AnswerLost(Exception):
    """The body of an answer could not be read; the message says why."""


class _Built(NamedTuple):
    """What a request was built for, which its redirects keep.

    Attributes:
      place: its HTTP method and the address that the transport named.
      url: where it went first.
      method: its method of the protocol; empty for all but requests.
      number: the request's id in the protocol.
    """

    place: tuple[str, str]
    url: Any
    method: str
    number: Any = None


class RequestTrace:
    """What HTTP says about the newest request of a caller.

    Attributes:
      headers: the caller's headers.
      status: the status with which the server refused the request, or None.
      challenge: the server's `WWW-Authenticate` header, or an empty text.
      never_sent: whether the request failed before it was sent.
      fault: why HTTP carried no answer of the protocol, or an empty text.
      on_fault: called with the fault of a request whose answer would come by another response;
        None before the connection is ready.
    """

    __slots__ = ("challenge", "fault", "has_sent", "headers", "never_sent", "on_fault", "status")

    def __init__(self, headers: Mapping[str, str] | None = None) -> None:
        self.headers = dict(headers or {})
        self.has_sent = False
        self.on_fault: Callable[[str], None] | None = None
        self.begin()

    def begin(self) -> None:
        """Forget what HTTP said about the request before."""
        self.status: int | None = None
        self.challenge = ""
        self.never_sent = False
        self.fault = ""


TRACE: ContextVar[RequestTrace | None] = ContextVar("ostinato_mcp_request", default=None)


class HttpClient:
    """Sends the requests of one connection.

    A redirect of a request without effects is followed within its origin, and later requests go to
    where it led. A call is sent once: its redirect is a failure.

    Args:
      client: the client that the parameters' factory made.
      headers: returns the connection's newest headers, for requests without a caller.
      on_lost: called when a request fails whose failure the transport hides from the caller;
        None if it hides none, as a request's answer is the body of its response.
    """

    max_redirects = 5

    def __init__(
        self,
        client: Any,
        headers: Callable[[], Mapping[str, str]],
        on_lost: Callable[[str], None] | None = None,
    ) -> None:
        self._client = client
        self._headers = headers
        self._on_lost = on_lost
        self._moved: dict[tuple[str, str], Any] = {}

    async def __aenter__(self) -> HttpClient:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._client.__aexit__(*error)

    def build_request(self, method: str, url: Any, **kwargs: Any) -> Any:
        """Return a request; see httpx2. It goes to where the server moved the address."""
        place = method, str(url)
        request = self._client.build_request(method, self._moved.get(place, url), **kwargs)
        message: Any = kwargs.get("json")
        method = _read_method(message)
        number = message["id"] if method else None
        request.extensions[_BUILT] = _Built(place, request.url, method, number)
        return request

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request with the caller's headers; a failure is an answer with status 502."""
        built: _Built = request.extensions[_BUILT]
        trace = self._find_trace(request, built)
        own = {**self._headers(), **(TRACE.get() or trace).headers}
        fault = _find_header_fault(own)
        if fault:
            trace.never_sent = True
            return self._fail(request, trace, fault)
        request.headers.update(own)
        try:
            response = await self._client.send(request, **options)
        except Exception as error:  # boundary: one request's failure must not end the connection
            trace.never_sent = type(error).__name__ in _NEVER_SENT
            doing = "could not be reached" if trace.never_sent else "did not answer"
            return self._fail(request, trace, f"the server {doing} ({type(error).__name__})")
        if response.next_request is not None and built.method == "tools/call":
            location = _describe_place(response.next_request.url)
            await response.aclose()
            return self._fail(
                request,
                trace,
                f"the server redirects the call to {location} (HTTP {response.status_code}), which "
                "is not followed. If that is the server that you mean, use its address",
            )
        if response.status_code >= 400:
            trace.status = response.status_code
            trace.challenge = response.headers.get("www-authenticate", "")
            reason = f"the server answered with HTTP {response.status_code}"
            if self._fails_caller(trace, built, reason):
                await response.aclose()
                return _make_accepted(request)
            self._report_loss(reason)
        elif response.next_request is None and request.url != built.url:
            self._moved[built.place] = request.url
        kind = _clean_kind(response).lower()
        if kind.startswith("application/json") and response.next_request is None:
            try:
                response = await _read_bounded(response)
            except _AnswerLost as lost:
                return self._fail(request, trace, str(lost))
            if (
                built.method
                and trace.status is None
                and _is_foreign(response.content, built.number)
            ):
                return self._fail(request, trace, "the server answered with another request's id")
        elif kind.startswith("text/event-stream") and response.next_request is None:
            response = _make_repaired(response, built)
        if self._on_lost is None and built.method:
            trace.fault = _find_fault(response, kind)
        return response

    def _find_trace(self, request: Any, built: _Built) -> RequestTrace:
        """Return where to note what becomes of a request.

        A caller's trace is about its requests of the protocol. What else is sent in its context,
        such as answers to the server or the resumption of a broken stream, says nothing of these.
        """
        trace = TRACE.get()
        if trace is None or (trace.has_sent and not built.method):
            return RequestTrace()
        trace.has_sent = trace.has_sent or bool(built.method)
        trace.begin()
        return trace

    def _fail(self, request: Any, trace: RequestTrace, reason: str) -> Any:
        trace.fault = reason
        if self._fails_caller(trace, request.extensions[_BUILT], reason):
            return _make_accepted(request)
        self._report_loss(reason)
        return _make_failure(request, reason)

    def _fails_caller(self, trace: RequestTrace, built: _Built, reason: str) -> bool:
        """Fail the request of one caller, where the transport would end the connection instead.

        Returns:
          Whether it is done; a notification of a caller is lost without a word.
        """
        caller = TRACE.get()
        if self._on_lost is None or caller is None or caller.on_fault is None:
            return False
        if built.method:
            trace.fault = reason
            caller.on_fault(reason)
        return True

    def _report_loss(self, reason: str) -> None:
        if self._on_lost is not None:
            self._on_lost(reason)


def _clean_kind(response: Any) -> str:
    """Return a response's media type; what is no type of the protocol, without secrets and cut.

    The SDK shows it in lower case, in which a secret would not be recognised.
    """
    kind: str = response.headers.get("content-type", "")
    redact = REDACT.get()
    if redact is not None and not kind.lower().startswith(_KINDS):
        kind = response.headers["content-type"] = redact(kind)[:_LONGEST_KIND]
    return kind


def _find_header_fault(headers: Mapping[str, str]) -> str:
    """Return why headers cannot be sent; empty if they can."""
    for name, value in headers.items():
        if not (name + value).isascii() or not value.isprintable():
            return f"the header {name!r} holds a line break or a character outside of ASCII"
    return ""


def _find_fault(response: Any, kind: str) -> str:
    """Return why a response holds no answer of the protocol; empty if it may hold one."""
    status = response.status_code
    if status >= 400:
        has_error = kind.startswith("application/json") and _holds_error(response.content)
        return "" if has_error else f"the server answered with HTTP {status}"
    if status == 202 or 300 <= status < 400:
        return f"the server answered with HTTP {status} and no result"
    if not kind.startswith(_KINDS):
        return f"the server answered with {kind!r}, which holds no result"
    return ""


def _holds_error(body: bytes) -> bool:
    """Return whether the body of a refusal is an error of JSON-RPC."""
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    message = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    error: Any = message.get("error")
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    is_error = type(fields.get("code")) is int and isinstance(fields.get("message"), str)
    return is_error and message.get("jsonrpc") == "2.0"


async def _read_bounded(response: Any) -> Any:
    """Return a response whose body is read; the bound counts bytes after decompression.

    Raises:
      _AnswerLost: the body breaks off or is too long.
    """
    httpx2 = need("httpx2")
    try:
        body = await read_body(response, MAX_ANSWER_BYTES)
    except Exception as error:  # boundary: the transport lets these end the connection
        raise _AnswerLost(f"the answer broke off ({type(error).__name__})") from error
    finally:
        await response.aclose()
    if len(body) > MAX_ANSWER_BYTES:
        raise _AnswerLost(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
    return httpx2.Response(
        response.status_code,
        headers=_keep_headers(response),
        content=repair(body),
        request=response.request,
    )


def _make_repaired(response: Any, built: _Built) -> Any:
    """Return a response whose events hold no half of a character, and no other request's answer.

    The SDK takes any answer in the stream for that of the stream's request.
    """
    httpx2 = need("httpx2")

    class RepairedStream(httpx2.AsyncByteStream):  # type: ignore[misc]
        def __aiter__(self) -> AsyncIterator[bytes]:
            lines = repair_lines(response.aiter_bytes(), MAX_ANSWER_BYTES)
            return _drop_foreign(lines, built.number) if built.method else lines

        async def aclose(self) -> None:
            await response.aclose()

    return httpx2.Response(
        response.status_code,
        headers=_keep_headers(response),
        stream=RepairedStream(),
        request=response.request,
    )


def _is_foreign(text: bytes, number: Any) -> bool:
    """Return whether JSON text is an answer of the protocol to another request.

    Args:
      text: the text; what is no answer is not foreign.
      number: the id of the request.
    """
    try:
        found: Any = from_json(text)
    except ValueError:
        return False
    message = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if "method" in message or not {"result", "error"} & message.keys():
        return False
    return str(message.get("id")) != str(number)


async def _drop_foreign(chunks: AsyncGenerator[bytes], number: Any) -> AsyncGenerator[bytes]:
    """Yield a stream of events, with comments in place of answers to other requests."""
    async with aclosing(chunks):
        async for chunk in chunks:
            if b'"id"' not in chunk:
                yield chunk
                continue
            lines = chunk.splitlines(keepends=True)
            for index, line in enumerate(lines):
                if line.startswith(b"data:") and _is_foreign(line[5:], number):
                    end = line[len(line.rstrip(b"\r\n")) :]
                    lines[index] = b": an answer to another request" + end
            yield b"".join(lines)


def _keep_headers(response: Any) -> list[tuple[str, str]]:
    """Return the headers that hold for a body that is decompressed."""
    return [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in _ABOUT_THE_BODY
    ]


def _read_method(message: Any) -> str:
    """Return the method of a request of the protocol; empty for notifications and answers."""
    if not isinstance(message, dict):
        return ""
    fields = cast("dict[str, Any]", message)
    return str(fields.get("method") or "") if "id" in fields else ""


def _describe_place(url: Any) -> str:
    """Return an address without what may be secret in it."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _make_accepted(request: Any) -> Any:
    """Return an answer after which the transport continues to the next message."""
    return need("httpx2").Response(202, request=request)


def _make_failure(request: Any, reason: str) -> Any:
    """Return an answer that the transport hands to the caller as a JSON-RPC error."""
    error = {"code": _SERVER_ERROR, "message": reason}
    return need("httpx2").Response(
        502,
        headers={"content-type": "application/json"},
        content=json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode(),
        request=request,
    )
