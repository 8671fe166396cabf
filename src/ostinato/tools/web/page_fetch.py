"""Page fetching for models: checked address, pinned connection, bounds, redirects.

It speaks HTTP over httpcore2, the transport of httpx2, and reads no proxy settings: a proxy would
resolve names by itself.
"""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from ..._optional import need
from ..._public_address import RefusedAddress, public_addresses, resolve

_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_URL = 8_000  # characters; servers refuse longer ones
_MAX_SHOWN = 200  # characters of what a model or a server sent, in a message
_AGENT = "Mozilla/5.0 (compatible; Ostinato)"
_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,*/*;q=0.1"
_UNSAFE = "!#$%&'()*+,/:;=?@[]~"


class FetchFailed(Exception):
    """A page could not or may not be fetched; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Page:
    """A server's answer.

    Attributes:
      url: the address of the page, after redirects.
      content_type: the header of this name, as sent.
      body: the bytes, decompressed.
      is_cut: whether the body exceeded the bound.
    """

    url: str
    content_type: str
    body: bytes
    is_cut: bool


@dataclass(frozen=True, slots=True)
class FetchBounds:
    """The limits of one fetch.

    Attributes:
      seconds: wall time for all redirects together, name lookups excluded.
      body_bytes: size of the decompressed body; the rest is cut off.
      redirects: number of redirects to follow.
    """

    seconds: float = 20.0
    body_bytes: int = 2_000_000
    redirects: int = 5


def fetch_page(url: str, *, bounds: FetchBounds, allowed: Collection[str] = ()) -> Page:
    """Fetch a page.

    Args:
      url: an http or https address.
      bounds: the limits.
      allowed: "host:port" of servers that may be asked although their addresses are not public.

    Raises:
      FetchFailed: the page could not or may not be fetched.
    """
    core = need("httpcore2")
    failures = (OSError, zlib.error, core.NetworkError, core.TimeoutException, core.ProtocolError)
    deadline = time.monotonic() + bounds.seconds
    for _ in range(bounds.redirects + 1):
        try:
            answer = _request_page(url, allowed, deadline, bounds.body_bytes)
            if isinstance(answer, Page):
                return answer
            url = urljoin(url, answer)
        except RefusedAddress as error:
            raise FetchFailed(cut_text(str(error))) from error
        except failures as error:
            if time.monotonic() >= deadline:
                raise FetchFailed(f"no answer within {bounds.seconds:g} seconds") from error
            # httpcore2 wraps the error of the socket.
            inner = next((arg for arg in error.args if isinstance(arg, Exception)), error)
            raise FetchFailed(f"the connection failed ({type(inner).__name__})") from error
        except ValueError as error:  # an address or name that a lower layer cannot read
            raise FetchFailed("the address cannot be read") from error
    raise FetchFailed(f"more than {bounds.redirects} redirects")


def _request_page(url: str, allowed: Collection[str], deadline: float, limit: int) -> Page | str:
    """Request a page from one server; return it, or the address that the server redirects to."""
    core = need("httpcore2")
    parts = _read_address(url)
    host, is_secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    lookup = resolve if f"{host}:{port}" in allowed else public_addresses
    backend = _PinnedBackend(lookup(host, port), deadline)
    path = quote(parts.path or "/", safe=_UNSAFE)
    query = f"?{quote(parts.query, safe=_UNSAFE)}" if parts.query else ""
    headers = {
        "Host": parts.netloc,
        "User-Agent": _AGENT,
        "Accept": _ACCEPT,
        "Accept-Encoding": "gzip",
    }
    target = core.URL(scheme=parts.scheme, host=host, port=port, target=path + query)
    context = ssl.create_default_context() if is_secure else None
    with (
        core.ConnectionPool(ssl_context=context, network_backend=backend) as pool,
        pool.stream("GET", target, headers=headers) as response,
    ):
        location = _read_header(response, b"location")
        if response.status in _REDIRECTS and location:
            return location
        if response.status != 200:
            raise FetchFailed(f"the server answered with status {response.status}")
        body, is_cut = _read_body(response, limit)
        return Page(url, _read_header(response, b"content-type"), body, is_cut)


def _seconds_left(deadline: float) -> float:
    """Return the seconds until a deadline.

    Raises:
      TimeoutError: it has passed.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _PinnedBackend:
    """A network backend that connects to checked addresses; it looks up no name.

    Args:
      addresses: the addresses to try in turn, whatever host the pool asks for.
      deadline: monotonic time at which connecting, writing and reading end.
    """

    def __init__(self, addresses: list[str], deadline: float) -> None:
        self._addresses = addresses
        self._deadline = deadline

    def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> _TimedStream:
        """Connect to the first address that answers."""
        core = need("httpcore2")
        failure: Exception = core.ConnectError("no address")
        for address in self._addresses:
            left = _seconds_left(self._deadline)
            try:
                stream = core.SyncBackend().connect_tcp(address, port, left, socket_options=[])
            except (core.ConnectError, core.ConnectTimeout) as error:
                failure = error
                continue
            return _TimedStream(stream, self._deadline)
        raise failure


class _TimedStream:
    """A network stream whose reads and writes end at a deadline.

    A timeout of each read would not stop a server that sends its answer byte by byte.
    """

    def __init__(self, stream: Any, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read until the deadline at most."""
        return self._stream.read(max_bytes, _seconds_left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write until the deadline at most."""
        self._stream.write(buffer, _seconds_left(self._deadline))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: Any = None
    ) -> _TimedStream:
        """Return an encrypted stream to a server that holds a certificate for the host."""
        left = _seconds_left(self._deadline)  # bounds the whole handshake
        secure = self._stream.start_tls(ssl_context, server_hostname, left)
        return _TimedStream(secure, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return a property of the socket."""
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()


def cut_text(text: str) -> str:
    """Return the beginning of a text that a model or a server sent, for a message."""
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def _read_address(url: str) -> SplitResult:
    """Return the parts of an address, or raise FetchFailed if it may not be requested."""
    if len(url) > _MAX_URL:
        raise FetchFailed(f"the address has more than {_MAX_URL} characters")
    if "\\" in url.partition("?")[0]:
        # Browsers read a backslash as a slash, so the server that it names is not certain.
        raise FetchFailed("an address with a backslash in it is not loaded")
    try:
        parts = urlsplit(url.strip())
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError as error:  # UnicodeError is one
        raise FetchFailed("the address cannot be read") from error
    if parts.scheme not in ("http", "https"):
        raise FetchFailed("only http and https addresses can be loaded")
    if parts.username is not None or parts.password is not None:
        raise FetchFailed("an address with a user name or password in it is not loaded")
    if not host or port == 0 or any(char.isspace() or ord(char) < 33 for char in parts.netloc):
        raise FetchFailed("the address names no server")
    netloc = f"[{host}]" if ":" in host else host
    default_port = 443 if parts.scheme == "https" else 80
    return parts._replace(netloc=netloc if port in (None, default_port) else f"{netloc}:{port}")


def _read_header(response: Any, name: bytes) -> str:
    values = (value for key, value in response.headers if key.lower() == name)
    return b", ".join(values).decode("latin-1")


def _read_body(response: Any, limit: int) -> tuple[bytes, bool]:
    """Return the decompressed body, and whether it was cut."""
    encoding = (_read_header(response, b"content-encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise FetchFailed(f"the server packed the page as {cut_text(encoding)}")
    unpacker = zlib.decompressobj(31) if encoding != "identity" else None
    body = bytearray()
    for piece in response.iter_stream():
        # Bounded while decompressing: a small answer may hold a very large page.
        body += unpacker.decompress(piece, limit + 1 - len(body)) if unpacker else piece
        if len(body) > limit or (unpacker is not None and unpacker.eof):
            break
    return bytes(body[:limit]), len(body) > limit
