"""RestClient: sends the requests of REST tools, to public addresses only unless told otherwise."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self
from urllib.parse import urljoin

from ..._bounded_body import read_body
from ..._optional import need
from ..._public_address import RefusedAddress, is_public, public_addresses, resolve
from ..._secret_values import redact_values
from ...models.client_per_loop import ClientPerLoop
from ...models.http.client import (
    connect_to,
    hide_urls_in_log,
    is_library_error,
    watch_bytes,
)
from ...models.http.errors import HttpRequestError
from ...models.http.urls import Origin, origin_of, place_of
from .rest_request import RestRequest

SslVerify = bool | str | ssl.SSLContext | None
HttpxClientFactory = Callable[[], Any]

SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE", "QUERY")
_CONNECT_SECONDS = 10.0
_PATIENCE = 10  # times the timeout, for a server that sends byte by byte
_MAX_REDIRECTS = 5
_MAX_ADDRESSES = 3  # of one host that are tried
_MAX_BODY = 32 * 2**20  # bytes of a response after decompression
# What a request to another origin keeps; all else may hold a secret.
_HARMLESS = ("accept", "accept-encoding", "accept-language", "user-agent")
_NOT_CONNECTED = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError")
_NOT_WRITTEN = ("InvalidURL", "UnsupportedProtocol", "LocalProtocolError")
# Libraries below the HTTP library, which passes some of their errors on unmapped.
_LOWER_LIBRARIES = ("h11", "h2", "hpack", "httpcore", "httpcore2")


class RequestFailed(Exception):
    """There is no response; the message says why, and whether the request may have been carried
    out.

    Args:
      message: as said.
      may_have_run: whether the request was sent, so that it may have been carried out.
    """

    def __init__(self, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run


@dataclass(frozen=True, slots=True)
class RestResponse:
    """A response.

    Attributes:
      status: its status.
      headers: its headers, names in lower case.
      body: its body, decompressed.
      is_cut: whether the body exceeded the bound.
    """

    status: int
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    is_cut: bool = False

    @property
    def media_type(self) -> str:
        """Its media type, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class RestClient:
    """Sends requests.

    A host is resolved once per request, all its addresses are checked, and the connection goes to
    a checked one, so that a name which changes later does no harm. Proxies of the environment are
    used only where private addresses are allowed, as a proxy resolves names itself. A client of the
    factory opens its own connections, after the check.

    Args:
      ssl_verify: how certificates are checked: True or None by the system's authorities, False not
        at all, or by a bundle's path or a context.
      client_factory: makes a client of httpx or httpx2 for each request, which is closed after it.
      allow_private: whether addresses that are not public may be requested.
      timeout_seconds: how long to wait for the next bytes of a response; ten times as long for the
        whole of it, with its redirects.
      keeps_connections: whether connections are kept for the next request; `aclose` closes them.
    """

    def __init__(
        self,
        *,
        ssl_verify: SslVerify = None,
        client_factory: HttpxClientFactory | None = None,
        allow_private: bool = False,
        timeout_seconds: float = 600.0,
        keeps_connections: bool = False,
    ) -> None:
        self.ssl_verify = ssl_verify
        self.client_factory = client_factory
        self.allow_private = allow_private
        self.timeout_seconds = timeout_seconds
        self._context: tuple[SslVerify, ssl.SSLContext] | None = None
        self._pools = (
            ClientPerLoop[_ClientPool](_ClientPool, _ClientPool.retire)
            if keeps_connections
            else None
        )

    async def aclose(self) -> None:
        """Close the running loop's connections, after its requests under way, which may be those of
        another Runner; the next request opens others."""
        if self._pools is not None:
            await self._pools.aclose()

    async def send(self, request: RestRequest) -> RestResponse:
        """Send a request within `_PATIENCE` times the timeout; see `_send`."""
        try:
            bound = None if self.client_factory else _PATIENCE * self.timeout_seconds
            async with asyncio.timeout(bound):
                return await self._send(request)
        except TimeoutError as error:
            reason = _explain_failure(error, False, True, _repeats(request))
            raise RequestFailed(f"{place_of(request.url)}: {reason}", may_have_run=True) from error

    async def _send(self, request: RestRequest) -> RestResponse:
        """Send a request, follow its redirects, and return the response of any status.

        It is sent again only if no connection could be opened or, for methods that change nothing,
        if the connection broke and the request may be repeated. A redirect is followed if the
        method stays; to another origin only for these methods, without the request's own headers.

        Raises:
          RequestFailed: there is no response, or it comes from an address that may not be asked.
        """
        url, headers = request.url, request.headers
        for redirects in range(_MAX_REDIRECTS + 1):
            try:
                response = await self._send_once(request, url, headers)
            except RequestFailed as error:
                error.may_have_run |= redirects > 0  # the server that redirects has received it
                raise
            location = response.headers.get("location", "")
            if not 300 <= response.status < 400 or response.status == 304 or not location:
                return response
            url, headers = _follow_redirect(request, url, headers, response.status, location)
        is_safe = request.method in SAFE_METHODS
        repeated = "" if is_safe else ". It may have been carried out"
        raise RequestFailed(
            f"the server redirects more than {_MAX_REDIRECTS} times{repeated}", may_have_run=True
        )

    async def _send_once(
        self, request: RestRequest, url: str, headers: dict[str, str]
    ) -> RestResponse:
        """Send a request; send it again if that can do no harm."""
        try:
            origin = origin_of(url)
        except HttpRequestError as error:
            raise RequestFailed(str(error)) from error
        addresses = await self._find_addresses(origin)
        repeats, was_sent = _repeats(request), False
        attempts = [*addresses[:_MAX_ADDRESSES], addresses[0]]
        for number, address in enumerate(attempts):
            is_last = number == len(attempts) - 1
            try:
                return await self._exchange(request, url, headers, origin, address)
            except Exception as error:  # boundary: map the HTTP library's errors to ours
                is_ours = is_library_error(error)
                if not is_ours and type(error).__module__.partition(".")[0] not in _LOWER_LIBRARIES:
                    raise
                names = {kind.__name__ for kind in type(error).__mro__}
                never_sent = bool(names & {*_NOT_CONNECTED})
                if is_ours and names & {*_NOT_WRITTEN}:
                    raise RequestFailed(
                        f"{place_of(url)}: the request could not be written "
                        f"({redact_values(str(error), request.secrets)}). It was not sent"
                    ) from error
                timed_out = "TimeoutException" in names and not never_sent
                was_sent = was_sent or not never_sent
                if is_last or timed_out or not (never_sent or repeats):
                    reason = _explain_failure(error, not was_sent, timed_out, repeats)
                    raise RequestFailed(
                        f"{place_of(url)}: {redact_values(reason, request.secrets)}",
                        may_have_run=was_sent,
                    ) from error
        raise AssertionError  # the last attempt returns or raises

    async def _find_addresses(self, origin: Origin) -> list[str | None]:
        """Return the addresses to connect to; None leaves it to the client."""
        if self.allow_private:
            return [None]
        try:
            if self.client_factory is None:
                return [*await asyncio.to_thread(public_addresses, origin.host, origin.port)]
            await asyncio.to_thread(_check_known_addresses, origin.host, origin.port)
            return [None]
        except RefusedAddress as error:
            raise RequestFailed(
                f"{error}, and only public addresses are requested. Pass "
                "allow_private_network_access=True if this is the service that you mean"
            ) from error

    async def _exchange(
        self,
        request: RestRequest,
        url: str,
        headers: dict[str, str],
        origin: Origin,
        address: str | None,
    ) -> RestResponse:
        if self.client_factory is not None:
            async with self.client_factory() as client:
                return await self._send_by(client, request, url, headers, address)
        if self._pools is None:
            async with self._open_client(origin) as client:
                return await self._send_by(client, request, url, headers, address)
        async with self._pools.get() as pool:
            key = origin, self.ssl_verify
            if key not in pool.clients:
                pool.clients[key] = self._open_client(origin)
            return await self._send_by(pool.clients[key], request, url, headers, address)

    def _open_client(self, origin: Origin) -> Any:
        httpx2 = need("httpx2")
        return httpx2.AsyncClient(
            # Reading the authorities takes longer than a request; plain HTTP needs none.
            verify=self._find_context() if origin.scheme == "https" else False,
            timeout=httpx2.Timeout(self.timeout_seconds, connect=_CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=5.0),
            follow_redirects=False,
            trust_env=self.allow_private,
            # One client serves many users: it must not keep one's cookies for another.
            cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
        )

    def _find_context(self) -> ssl.SSLContext:
        """Return how certificates are checked now; it is read once for each setting."""
        verify = self.ssl_verify
        if isinstance(verify, ssl.SSLContext):
            return verify
        if self._context is None or self._context[0] != verify:
            if isinstance(verify, str):
                is_folder = os.path.isdir(verify)
                context = ssl.create_default_context(
                    cafile=None if is_folder else verify, capath=verify if is_folder else None
                )
            else:
                context = need("httpx2").create_ssl_context(verify=verify is not False)
            self._context = verify, context
        return self._context[1]

    async def _send_by(
        self,
        client: Any,
        request: RestRequest,
        url: str,
        headers: dict[str, str],
        address: str | None,
    ) -> RestResponse:
        prepared = client.build_request(
            request.method,
            url,
            headers={"Accept-Encoding": "gzip, deflate", **headers},
            content=request.body or None,
        )
        if address is not None:
            connect_to(prepared, address)
        hide_urls_in_log()
        with watch_bytes():  # while it is entered, the library's log shows no query
            response = await client.send(prepared, stream=True, follow_redirects=False)
        try:
            body = await read_body(response, _MAX_BODY)
        finally:
            await response.aclose()
        found = {name.lower(): value for name, value in response.headers.items()}
        is_cut = len(body) > _MAX_BODY
        return RestResponse(response.status_code, found, body[:_MAX_BODY], is_cut)


class _ClientPool:
    """The clients of one event loop; each request enters the pool.

    Attributes:
      clients: a client per host, since a client knows its connections by address, and hosts share
        addresses.
    """

    def __init__(self) -> None:
        self.clients: dict[tuple[Origin, SslVerify], Any] = {}
        self._requests = 0
        self._is_retired = False

    async def __aenter__(self) -> Self:
        self._requests += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._requests -= 1
        if self._is_retired:
            await self.retire()

    async def retire(self) -> None:
        """Close the clients, at once or when the last request ends; the pool gets no more."""
        self._is_retired = True
        if self._requests == 0:
            for client in self.clients.values():
                await client.aclose()


def _check_known_addresses(host: str, port: int) -> None:
    """Check the addresses of a host that a client of the developer's is to ask.

    A name that does not resolve here is left to that client, which may know it otherwise.

    Raises:
      RefusedAddress: one of the addresses is not public.
    """
    try:
        found = resolve(host, port)
    except RefusedAddress:
        return
    if not all(map(is_public, found)):
        raise RefusedAddress(f"{host} does not lead to a public address")


def _follow_redirect(
    request: RestRequest, url: str, headers: dict[str, str], status: int, location: str
) -> tuple[str, dict[str, str]]:
    """Return where a redirect leads, and the headers to send there.

    Raises:
      RequestFailed: it may not be followed.
    """
    is_safe = request.method in SAFE_METHODS
    carried_out = "" if is_safe else ". It may have been carried out"
    try:
        target = urljoin(url, location)
        there, here = origin_of(target), origin_of(url)
    except (HttpRequestError, ValueError) as error:
        raise RequestFailed(
            f"the server redirects to no valid URL (HTTP {status}){carried_out}", may_have_run=True
        ) from error
    shown = place_of(target)
    if here.scheme == "https" and there.scheme != "https":
        raise RequestFailed(
            f"the server redirects to {shown}, which is not encrypted{carried_out}",
            may_have_run=True,
        )
    if not is_safe and status not in (307, 308):
        raise RequestFailed(
            f"the server redirects to {shown} (HTTP {status}), which a {request.method} does not "
            "follow. It may have been carried out",
            may_have_run=True,
        )
    if there == here:
        return target, headers
    if not is_safe:
        raise RequestFailed(
            f"the server redirects to another origin, {shown} (HTTP {status}), which gets no "
            f"body and no credentials. Set base_url to where the API is{carried_out}",
            may_have_run=True,
        )
    kept = {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
    return target, kept


def _repeats(request: RestRequest) -> bool:
    """Return whether a request may be sent again after it was sent."""
    return request.may_repeat and request.method in SAFE_METHODS


def _explain_failure(error: Exception, never_sent: bool, timed_out: bool, repeats: bool) -> str:
    reason = str(error) or type(error).__name__
    if never_sent:
        return f"no connection could be opened ({reason}). The request was not sent"
    what = "no answer came in time" if timed_out else f"the connection broke ({reason})"
    if repeats:
        return what
    return f"{what} after the request was sent. It may have been carried out; it was not repeated"
