"""Fetches a page that a model asked for: checked address, pinned connection, bounds, redirects.

load_web_page uses it. It reads no proxy settings: a proxy would resolve names on its own.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from ._public_address import RefusedAddress, public_addresses, resolve

_REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 65_536
_AGENT = "Mozilla/5.0 (compatible; Ostinato)"
_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,application/json;q=0.8,*/*;q=0.1"
_UNSAFE = "!#$%&'()*+,/:;=?@[]~"


class FetchFailed(Exception):
    """A page that could not or may not be fetched; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a server answered.

    Attributes:
      url: where it was found, after redirects.
      content_type: header of this name, as sent.
      body: the bytes, unpacked.
      is_cut: whether there was more than the bound.
    """

    url: str
    content_type: str
    body: bytes
    is_cut: bool


@dataclass(frozen=True, slots=True)
class FetchBounds:
    """What one fetch may use.

    Attributes:
      seconds: wall time for all hops together, name lookups apart.
      body_bytes: size of the body, unpacked; more is cut off.
      redirects: hops.
    """

    seconds: float = 20.0
    body_bytes: int = 2_000_000
    redirects: int = 5


def fetch(url: str, *, bounds: FetchBounds, allowed: Collection[str] = ()) -> Page:
    """Fetch a page.

    Args:
      url: an http or https address.
      bounds: what it may use.
      allowed: "host:port" of servers that may be asked wherever they are.

    Raises:
      FetchFailed: it could not or may not be fetched.
    """
    deadline = time.monotonic() + bounds.seconds
    for _ in range(bounds.redirects + 1):
        try:
            answer = _Hop(url, allowed).get(deadline, bounds)
        except RefusedAddress as error:
            raise FetchFailed(str(error)) from error
        except (OSError, http.client.HTTPException, zlib.error) as error:
            if time.monotonic() >= deadline:
                raise FetchFailed(f"no answer within {bounds.seconds:g} seconds") from error
            raise FetchFailed(f"the connection failed ({type(error).__name__})") from error
        if isinstance(answer, Page):
            return answer
        url = urljoin(url, answer)
    raise FetchFailed(f"more than {bounds.redirects} redirects")


class _Hop:
    """One request to one server."""

    def __init__(self, url: str, allowed: Collection[str]) -> None:
        self.url = url
        self.parts = parts = _read(url)
        self.host = parts.hostname or ""
        is_secure = parts.scheme == "https"
        port = parts.port or (443 if is_secure else 80)
        lookup = resolve if f"{self.host}:{port}" in allowed else public_addresses
        addresses = lookup(self.host, port)
        kind = _PinnedSecureConnection if is_secure else _PinnedConnection
        self.connection = kind(self.host, port, addresses)

    def get(self, deadline: float, bounds: FetchBounds) -> Page | str:
        """Ask for the page; return it, or where the server says that it is."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.timeout = left
        # Each read has a timeout of its own, which a server that drips bytes would never meet.
        watch = threading.Timer(left, self.connection.cut)
        watch.daemon = True
        watch.start()
        try:
            path = quote(self.parts.path or "/", safe=_UNSAFE)
            query = f"?{quote(self.parts.query, safe=_UNSAFE)}" if self.parts.query else ""
            headers = {"User-Agent": _AGENT, "Accept": _ACCEPT, "Accept-Encoding": "gzip"}
            self.connection.request("GET", path + query, headers=headers)
            response = self.connection.getresponse()
            location = response.getheader("Location")
            if response.status in _REDIRECTS and location:
                return location
            if response.status != 200:
                raise FetchFailed(f"the server answered with status {response.status}")
            body, is_cut = _body(response, bounds.body_bytes)
            if time.monotonic() >= deadline and not is_cut:
                raise TimeoutError  # It was cut by the watch, and may look complete.
            return Page(self.url, response.getheader("Content-Type") or "", body, is_cut)
        finally:
            watch.cancel()
            self.connection.close()


class _PinnedConnection(http.client.HTTPConnection):
    """A connection to addresses that were checked; the name is not looked up again."""

    def __init__(self, host: str, port: int, addresses: list[str]) -> None:
        super().__init__(f"[{host}]" if ":" in host else host, port)
        self._addresses = addresses
        self._is_cut = False

    def connect(self) -> None:
        """Connect to the first address that answers."""
        failure: OSError = ConnectionError("no address")
        for address in self._addresses:
            try:
                self.sock = socket.create_connection((address, self.port), self.timeout)
                break
            except OSError as error:
                failure = error
                if self._is_cut:
                    break
        if self._is_cut:
            self.close()
            raise TimeoutError
        if self.sock is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise failure

    def cut(self) -> None:
        """End the connection at once, from another thread."""
        self._is_cut = True
        sock = self.sock
        if sock is None:
            return
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # It has ended.


class _PinnedSecureConnection(_PinnedConnection):
    """The same over TLS; the certificate has to be the name's."""

    default_port = 443

    def connect(self) -> None:
        """Connect, then check who answered."""
        super().connect()
        context = ssl.create_default_context()
        # The handshake comes after, so that `cut` reaches a server that drips it.
        secure = self.sock = context.wrap_socket(
            self.sock, server_hostname=self.host.strip("[]"), do_handshake_on_connect=False
        )
        secure.do_handshake()


def _read(url: str) -> SplitResult:
    """Return the parts of an address that may be asked for at all."""
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
    return parts._replace(netloc=f"{netloc}:{port}" if port else netloc)


def _body(response: http.client.HTTPResponse, limit: int) -> tuple[bytes, bool]:
    """Return the body, unpacked, and whether it was cut."""
    encoding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise FetchFailed(f"the server packed the page as {encoding}")
    unpacker = zlib.decompressobj(31) if encoding != "identity" else None
    body = bytearray()
    while len(body) <= limit:
        piece = response.read1(_PIECE)
        if not piece:
            break
        # Bounded while unpacking: a small answer may hold a very large page.
        body += unpacker.decompress(piece, limit + 1 - len(body)) if unpacker else piece
        if unpacker is not None and unpacker.eof:
            break
    return bytes(body[:limit]), len(body) > limit
