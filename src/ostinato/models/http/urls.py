"""Request URLs: joining, redirects, and which hosts are allowed."""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from ..._public_address import RefusedAddress, public_addresses
from .errors import HttpAnswerError, HttpRequestError

_PORTS = {"http": 80, "https": 443}
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "host.docker.internal")
_LONGEST_SHOWN = 200
# Fields of a query that hold no secret.
_PLAIN_FIELDS = ("api-version", "alt", "version", "deployment", "region")
_HIDDEN = "***"


class Origin(NamedTuple):
    """The scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int

    @property
    def is_plain_and_remote(self) -> bool:
        """Whether requests leave this machine without encryption."""
        return self.scheme == "http" and self.host not in _LOCAL_HOSTS

    def keeps_secrets_of(self, other: Origin) -> bool:
        """Return whether this is the same service, or the same one with encryption turned on."""
        is_upgrade = self == Origin("https", other.host, 443) and other == Origin(
            "http", other.host, 80
        )
        return self == other or is_upgrade


def origin_of(url: str) -> Origin:
    """Return the origin of a URL.

    Raises:
      HttpRequestError: the URL is not a valid HTTP URL.
    """
    try:
        parts = urlsplit(url)
        scheme, host = parts.scheme.lower(), parts.hostname
        port = parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        scheme, host, port = "", None, 0
    if scheme not in _PORTS or not host or not url.isprintable():
        # A text without a scheme may be a key that was set as the URL by mistake.
        shown = repr(place_of(url)) if "://" in url else "The base URL"
        raise HttpRequestError(
            f"{shown} is no URL that starts with http:// or https:// and names a host."
        )
    return Origin(scheme, host, port)


def redirect_target(url: str, location: str) -> str:
    """Return the target URL of a redirect.

    Raises:
      HttpAnswerError: it leads to no URL of HTTP, or gives up encryption.
    """
    try:
        target = urljoin(url, location)
        there = origin_of(target)
    except (ValueError, HttpRequestError) as error:
        raise HttpAnswerError("the server redirects to no valid URL", retryable=False) from error
    if origin_of(url).scheme == "https" and there.scheme != "https":
        raise HttpAnswerError(
            f"the server redirects to {place_of(target)}, which is not encrypted", retryable=False
        )
    return target


async def check_public(origin: Origin) -> str:
    """Return a public address of a host; the caller connects to it and to no other.

    Raises:
      HttpRequestError: the host is local, or one of its addresses is private.
    """
    try:
        found = await asyncio.to_thread(public_addresses, origin.host, origin.port)
    except RefusedAddress as error:
        raise HttpRequestError(
            f"{error}, and `public_only` forbids endpoints that are not public."
        ) from error
    return found[0]


def has_login(url: str) -> bool:
    """Return whether a URL holds a login (`user:password@`)."""
    return "@" in url.partition("://")[2].partition("/")[0].partition("?")[0]


def hide_secrets(url: str) -> str:
    """Return a URL without its login, and without the values of its query that may be secrets."""
    scheme, separator, rest = url.rpartition("://")
    place, mark, query = rest.partition("?")
    host, slash, path = place.partition("/")
    shown = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
    fields = (field.partition("=") for field in query.split("&"))
    kept = (
        f"{name}={value if name.lower() in _PLAIN_FIELDS else _HIDDEN}" if equals else _HIDDEN
        for name, equals, value in fields
    )
    return f"{shown}?{'&'.join(kept)}" if mark and query else shown


def join_url(base: str, path: str) -> str:
    """Return a path below a base URL; a query of the base stays at the end."""
    place, mark, query = base.partition("?")
    return f"{place.rstrip('/')}{path}{mark}{query}"


def place_of(url: str) -> str:
    """Return a URL's scheme, host and path, without a login and without the query."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    host, slash, path = rest.partition("?")[0].partition("/")
    shown = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def server_of(url: str) -> str:
    """Return a URL's scheme and host, without a login that may stand in it."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('?')[0].partition('/')[0].rpartition('@')[2]}"
