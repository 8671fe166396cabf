"""The httpx2 client of an event loop, and what its errors mean. httpx2 loads at the first use."""

from __future__ import annotations

import base64
import errno
import inspect
import logging
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, Protocol, cast, runtime_checkable
from urllib.parse import unquote_to_bytes

from ..._optional import need
from ...features.environment import find_variable
from .errors import (
    HttpConnectError,
    HttpCutOffError,
    HttpEnvironmentError,
    HttpError,
    HttpRequestError,
    HttpTimeoutError,
)
from .messages import HttpRequest, Timeouts
from .urls import place_of

_LIBRARIES = ("httpx2", "httpx")
_PROXIES = ("http", "https", "all")  # the kinds that the environment may name
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # the first that is set counts
_KEPT_ALIVE = 20  # idle connections of one client; each request probes them all
_KEPT_ALIVE_S = 30.0
_NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_TOO_MANY_FILES = (
    "too many open files: close connections and files that are not used, or raise the limit "
    "(ulimit -n)."
)


class DirectClient:
    """A client without proxies, cookies and settings: the connection pool of httpx2 alone.

    Requests need nothing of what an `AsyncClient` above it does: cookies, redirects, a log line.

    Args:
      pool: an `AsyncHTTPTransport` of httpx2.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def send(self, request: Any, **_: object) -> Any:
        """Return the response to a request, whose body is read later."""
        return await self._pool.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()


def open_client(url: str) -> Any:
    """Return a client for URLs of this one's scheme.

    Its pool is as large as needed; proxies and certificates come from the environment. Loading
    the certificates takes longer than a request, so a client for plain HTTP trusts none instead.

    Raises:
      HttpEnvironmentError: the environment's proxies or certificates cannot be used.
      HttpConnectError: the process cannot open more files.
    """
    httpx2 = need("httpx2")
    is_secure = url.lower().startswith("https:")
    options: dict[str, Any] = {
        "verify": _trusted_certificates() if is_secure else _no_certificates(),
        "http2": is_secure and find_spec("h2") is not None,
        "limits": httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=_KEPT_ALIVE,
            keepalive_expiry=_KEPT_ALIVE_S,
        ),
    }
    if need("urllib.request").getproxies().keys().isdisjoint(_PROXIES):
        return DirectClient(httpx2.AsyncHTTPTransport(**options))
    try:
        return httpx2.AsyncClient(**options, follow_redirects=False)
    except Exception:  # boundary: the library raises errors of many types for a bad proxy
        fault = _find_proxy_fault()
        if not fault:
            raise
        # The library's error may quote the proxy's login.
        raise HttpEnvironmentError(fault) from None


@cache
def _trusted_certificates() -> ssl.SSLContext:
    try:
        context: ssl.SSLContext = need("httpx2").create_ssl_context()
    except OSError as error:  # ssl.SSLError is one
        if error.errno in _NO_DESCRIPTORS:
            raise HttpConnectError(_TOO_MANY_FILES) from error
        raise HttpEnvironmentError(_explain_certificates(error)) from error
    return context


def _explain_certificates(error: OSError) -> str:
    """Return which variable kept the certificates from being loaded, and what to do."""
    reason = error.strerror or str(error)
    _, log = find_variable("SSLKEYLOGFILE")
    if log and error.filename == log:
        return f"SSLKEYLOGFILE={log!r} cannot be written ({reason}): correct or unset it."
    name, path = find_variable(*_CERTIFICATES)
    place = f"{name}={path!r}" if name else "the system's certificates"
    return (
        f"The trusted certificates cannot be loaded from {place} ({reason}): set "
        f"{name or _CERTIFICATES[0]} to readable PEM files{', or unset it' if name else ''}."
    )


def _find_proxy_fault() -> str:
    """Return what is wrong with the environment's first unusable proxy, and what to do."""
    httpx2 = need("httpx2")
    proxies: dict[str, str] = need("urllib.request").getproxies()
    for scheme in _PROXIES:
        url = proxies.get(scheme, "")
        try:
            httpx2.AsyncClient(
                proxy=(url if "://" in url else f"http://{url}") if url else None,
                verify=_no_certificates(),
                trust_env=False,
            )
        except Exception as error:  # boundary: see open_client
            variable, _ = find_variable(f"{scheme}_proxy", f"{scheme}_proxy".upper())
            name = variable or f"the system's {scheme} proxy"
            if isinstance(error, ImportError):
                return (
                    f"{name} names a SOCKS proxy, whose package is not installed: run "
                    "pip install 'httpx2[socks]', or use an http:// proxy."
                )
            return (
                f"The proxy of {name} cannot be used: set {name} to http://HOST:PORT, "
                "https://HOST:PORT or socks5://HOST:PORT, or unset it."
            )
    return ""


@cache
def _no_certificates() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _UrlFilter(logging.Filter):
    """Takes logins and queries out of the URLs that the HTTP library logs of our requests."""

    def filter(self, record: logging.LogRecord) -> bool:
        if _received.get() is not None and isinstance(record.args, tuple):
            record.args = tuple(
                place_of(str(one)) if type(one).__name__ == "URL" else one for one in record.args
            )
        return True


@cache
def hide_urls_in_log() -> None:
    """Keep the secrets of URLs out of the HTTP library's log; call it before the first request."""
    for name in _LIBRARIES:
        logging.getLogger(name).addFilter(_UrlFilter())


@runtime_checkable
class OwnRequests(Protocol):
    """A client that builds its requests from ours, in its own form."""

    @property
    def is_closed(self) -> bool:
        """Whether its owner closed it."""
        ...

    def build_own_request(
        self, request: HttpRequest, url: str, headers: dict[str, str], extensions: dict[str, Any]
    ) -> Any:
        """Return a request that its `send` takes."""
        ...


def build_request(
    client: Any,
    request: HttpRequest,
    url: str,
    headers: dict[str, str],
    extensions: dict[str, Any],
    *,
    is_foreign: bool,
) -> Any:
    """Return a request of httpx2, or of a client with requests of its own.

    Args:
      client: sends the request.
      request: its method and body.
      url: its address, after redirects.
      headers: its headers.
      extensions: what the library is told beside them.
      is_foreign: whether a user made the client, so that its settings are merged into the request;
        a client of `open_client` has none.
    """
    if isinstance(client, OwnRequests):
        return client.build_own_request(request, url, headers, extensions)
    if is_foreign:
        return client.build_request(
            request.method,
            url,
            headers=headers,
            content=request.body or None,
            extensions=extensions,
        )
    httpx2 = need("httpx2")
    parsed = _parse_url(url)
    auto = {
        "host": parsed.netloc.decode("ascii"),
        "accept-encoding": "gzip, deflate",
        "connection": "keep-alive",
    }
    body = request.body
    if body or request.method in ("POST", "PUT", "PATCH"):
        auto["content-length"] = str(len(body))
    if parsed.userinfo:
        login = unquote_to_bytes(parsed.userinfo)
        auto["authorization"] = f"Basic {base64.b64encode(login).decode('ascii')}"
    return httpx2.Request(
        request.method,
        parsed,
        headers={**auto, **headers},
        stream=httpx2.ByteStream(body),
        extensions=extensions,
    )


def find_client_fault(client: Any) -> str:
    """Return why requests cannot be sent with a client that a user made, or '' if they can."""
    wanted = "http_client takes an httpx2.AsyncClient"
    if isinstance(client, type):
        return f"{wanted}; got the class {client.__name__}: make an instance of it."
    if inspect.iscoroutinefunction(getattr(client, "send", None)) and hasattr(
        client, "build_request"
    ):
        return ""
    kind = f"{type(client).__module__.partition('.')[0]}.{type(client).__name__}"
    if hasattr(client, "build_request"):
        return f"{wanted}; got {kind}, which is synchronous: use its asynchronous sibling."
    return f"{wanted}; got {kind}."


@lru_cache(maxsize=64)
def _parse_url(url: str) -> Any:
    return need("httpx2").URL(url)


def timeout_extension(timeouts: Timeouts) -> dict[str, float]:
    """Return timeouts as httpx2's requests hold them, for the time until the first byte."""
    return {
        "connect": timeouts.connect,
        "pool": timeouts.connect,
        "write": timeouts.first_byte,
        "read": timeouts.first_byte,
    }


def connect_to(request: Any, address: str) -> None:
    """Send a request of httpx2 to an address; its host stays what the server is asked for."""
    host = request.url.host
    request.url = request.url.copy_with(host=address)
    request.extensions["sni_hostname"] = host


class ReceivedBytes:
    """Whether bytes of an answer arrived.

    Attributes:
      has_bytes: True after the first byte.
    """

    has_bytes = False


_received: ContextVar[ReceivedBytes | None] = ContextVar("received_bytes", default=None)


@contextmanager
def watch_bytes() -> Generator[ReceivedBytes, None, None]:
    """Hand out the record of the bytes that the block reads over HTTP/1.1."""
    received = ReceivedBytes()
    token = _received.set(received)
    try:
        yield received
    finally:
        _received.reset(token)


def report_bytes(stream: Any) -> None:
    """Note the bytes that are read from a network stream of httpx2 in the reader's record.

    httpx2 has one error for a connection that ended before an answer and within its headers.
    """
    read = stream.read

    async def read_and_note(*args: Any, **options: Any) -> bytes:
        data: bytes = await read(*args, **options)
        received = _received.get()
        if data and received is not None:
            received.has_bytes = True
        return data

    stream.read = read_and_note


def is_library_error(error: BaseException) -> bool:
    """Return whether an error comes from httpx2, or from httpx of a client that a user made."""
    return type(error).__module__.partition(".")[0] in _LIBRARIES


def translate_error(
    error: Exception, url: str, timeouts: Timeouts, *, has_begun: bool, request_id: str = ""
) -> HttpError:
    """Return what an error of the HTTP library means.

    Args:
      error: the library's error.
      url: where the request went.
      timeouts: the request's.
      has_begun: whether the answer's headers had come.
      request_id: the provider's id of the request.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    place = place_of(url)
    if "TimeoutException" in names:
        if names & {"ConnectTimeout", "PoolTimeout"}:
            return HttpTimeoutError("connect", timeouts.connect)
        if has_begun:
            limit = timeouts.between_chunks
            return HttpTimeoutError("between chunks", limit, request_id=request_id)
        return HttpTimeoutError("first byte", timeouts.first_byte)
    if names & {"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"}:
        return HttpRequestError(f"No request can be sent to {place}: check the URL and headers.")
    if names & {"ReadError", "RemoteProtocolError", "DecodingError", "WriteError", "CloseError"}:
        return HttpCutOffError(
            "the connection broke before the answer was complete", request_id=request_id
        )
    if _is_out_of_descriptors(error):
        return HttpConnectError(_TOO_MANY_FILES)
    cause: BaseException = error
    while (inner := cause.__cause__ or cause.__context__) is not None:
        cause = inner
    return HttpConnectError(str(error) or str(cause) or type(error).__name__)


def _is_out_of_descriptors(error: BaseException | None) -> bool:
    """Return whether the process had no file descriptor left, here or in a cause."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_DESCRIPTORS:
            return True
        if isinstance(error, BaseExceptionGroup):
            group = cast(BaseExceptionGroup[BaseException], error)
            if any(_is_out_of_descriptors(member) for member in group.exceptions):
                return True
        error = error.__cause__ or error.__context__
    return False
