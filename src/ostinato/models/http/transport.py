"""HttpTransport, which sends the requests of model adapters and limits their responses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from ..._log import get_logger
from ...version import __version__
from ..client_per_loop import ClientPerLoop
from ..wire.faults import BadAnswer
from .client import (
    OwnRequests,
    build_request,
    connect_to,
    find_client_fault,
    hide_urls_in_log,
    is_library_error,
    open_client,
    report_bytes,
    timeout_extension,
    translate_error,
    watch_bytes,
)
from .credentials import Credential, NoCredential
from .errors import (
    HttpAnswerError,
    HttpConnectError,
    HttpCutOffError,
    HttpError,
    HttpRequestError,
)
from .messages import Bounds, HttpAnswer, HttpRequest
from .observers import notify_observer
from .secrets import HEADERS_WITHOUT_SECRETS, SentSecrets
from .stream import HttpStream
from .urls import Origin, check_public, has_login, origin_of, place_of, redirect_target, server_of

logger = get_logger(__name__)

_MAX_REDIRECTS = 5
_OPENED = (".connect_tcp.complete", ".start_tls.complete")  # events that name a new stream
_USER_AGENT = f"ostinato/{__version__}"


class HttpTransport:
    """Sends requests over one client for each event loop.

    Args:
      credential: adds its headers to each request; they stay with the request's origin.
      http_client: returns an `httpx2.AsyncClient` to use instead, or None; its owner closes it.
      bounds: how large an answer may be.
      public_only: refuse hosts that are not on the public internet, also behind redirects.
    """

    def __init__(
        self,
        credential: Credential | None = None,
        *,
        http_client: Callable[[], Any] | None = None,
        bounds: Bounds | None = None,
        public_only: bool = False,
    ) -> None:
        self._credential = credential or NoCredential()
        self._http_client: Callable[[], Any] = http_client or _get_none
        self._bounds = bounds or Bounds()
        self._public_only = public_only
        self._clients = {
            scheme: ClientPerLoop[Any](lambda url=f"{scheme}:": open_client(url), _close)
            for scheme in ("http", "https")
        }
        self._secrets = SentSecrets()
        self._warned: set[str] = set()

    def __repr__(self) -> str:
        return f"HttpTransport({self._credential!r})"

    def redact(self, text: str) -> str:
        """Return a text without the secrets of the latest requests."""
        return self._secrets.redact(text)

    async def aclose(self) -> None:
        """Close the running loop's connections; the next request opens others."""
        for clients in self._clients.values():
            await clients.aclose()

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send a request and return the complete answer.

        Raises:
          HttpError: the request failed; its class says why. A status of 300 or more raises
            HttpStatusError.
        """
        async with self.stream(request) as stream:
            return await stream.read()

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncGenerator[HttpStream, None]:
        """Send a request and yield its response once the headers have arrived.

        Leaving the context closes the connection unless the body was read to its end. An error
        that leaves the context gets the provider's id of the request as `request_id`.

        Raises:
          HttpError: there is no answer; its class says why. A status of 300 or more is an
            HttpStatusError.
        """
        began = asyncio.get_running_loop().time()
        headers = {
            "user-agent": _USER_AGENT,
            **request.headers,
            **await self._credential.headers(request),
        }
        self._secrets.note(headers)
        response = await self._follow(request, headers)
        stream: HttpStream | None = None
        try:
            stream = HttpStream(
                response, request, bounds=self._bounds, secrets=self._secrets, began=began
            )
            notify_observer(stream)
            if stream.status >= 300:
                raise await stream.read_error()
            yield stream
        except Exception as error:  # boundary: the reader of the answer may fail
            if isinstance(error, BadAnswer) and stream is not None and stream.is_whole:
                error.retryable = False
            if stream is not None and not getattr(error, "request_id", ""):
                with suppress(AttributeError):
                    error.request_id = stream.request_id  # type: ignore[attr-defined]
            raise
        finally:
            await response.aclose()

    async def _follow(self, request: HttpRequest, headers: dict[str, str]) -> Any:
        """Send a request and follow redirects that keep its method.

        A redirect to another origin gets none of the headers that may hold a secret.
        """
        url = request.url
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                response = await self._open(request, url, headers)
            except HttpError as error:
                if server_of(url) != server_of(request.url):
                    error.redirected_to = server_of(url)
                raise
            if logger.isEnabledFor(logging.DEBUG):
                logger.debug("%s %s: HTTP %d", request.method, place_of(url), response.status_code)
            status, location = response.status_code, response.headers.get("location", "")
            keeps_method = status in (307, 308) or (
                status in (301, 302, 303) and request.method == "GET"
            )
            if not 300 <= status < 400:
                return response
            await response.aclose()
            if not location or not keeps_method:
                to = f" to {place_of(location)}" if location else ""
                raise HttpAnswerError(
                    f"the server redirects{to} (HTTP {status}): set base_url to where the API is",
                    retryable=False,
                )
            target = redirect_target(url, location)
            if not origin_of(target).keeps_secrets_of(origin_of(url)):
                headers = {
                    name: value
                    for name, value in headers.items()
                    if name.lower() in HEADERS_WITHOUT_SECRETS
                }
            url = target
        raise HttpAnswerError(
            f"the server redirects more than {_MAX_REDIRECTS} times", retryable=False
        )

    async def _open(self, request: HttpRequest, url: str, headers: dict[str, str]) -> Any:
        """Send a request; resend it if its connection was stale or could not be opened.

        A kept connection that ends before the first byte of an answer was closed by the server
        while it was idle. A server that began to answer has the request: it is not sent again.
        """
        origin = self._check(url, headers)
        address = await check_public(origin) if self._public_only else None
        try:
            return await self._open_once(request, url, headers, address)
        except (_StaleConnection, HttpConnectError):
            return await self._open_once(request, url, headers, address, is_last=True)

    async def _open_once(
        self,
        request: HttpRequest,
        url: str,
        headers: dict[str, str],
        address: str | None,
        *,
        is_last: bool = False,
    ) -> Any:
        is_foreign = is_fresh = self._http_client() is not None
        is_http2 = False  # there, bytes may arrive that answer no request

        async def note(name: str, info: Any) -> None:
            nonlocal is_fresh, is_http2
            is_http2 = is_http2 or name.startswith("http2.")
            is_fresh = is_fresh or ".connect_" in name
            if not is_foreign and name.endswith(_OPENED):
                report_bytes(info["return_value"])

        timeout = timeout_extension(request.timeouts)
        with watch_bytes() as received:
            try:
                client = self._client(url)
                extensions = {"timeout": timeout, "trace": note}
                prepared = build_request(
                    client, request, url, headers, extensions, is_foreign=is_foreign
                )
                if address is not None:
                    connect_to(prepared, address)
                response = await client.send(prepared, stream=True, follow_redirects=False)
            except Exception as error:  # boundary: map the library's errors to ours
                if not is_library_error(error):
                    raise
                known = translate_error(error, url, request.timeouts, has_begun=False)
                is_stale = not is_fresh and (is_http2 or not received.has_bytes)
                if isinstance(known, HttpCutOffError) and is_stale and not is_last:
                    raise _StaleConnection from error
                raise known from error
        # The library reads this dictionary once more when the body begins.
        timeout["read"] = request.timeouts.between_chunks
        return response

    def _client(self, url: str) -> Any:
        hide_urls_in_log()
        foreign = self._http_client()
        if foreign is not None:
            if not isinstance(foreign, OwnRequests) and (fault := find_client_fault(foreign)):
                raise HttpRequestError(fault)
            if foreign.is_closed:
                raise HttpRequestError("The http_client is closed: hand in one that is open.")
            return foreign
        scheme = "https" if url.lower().startswith("https:") else "http"
        return self._clients[scheme].get()

    def _check(self, url: str, headers: Mapping[str, str]) -> Origin:
        """Refuse what the library would refuse with a header's value in its message."""
        origin = origin_of(url)
        if has_login(url) and any(name.lower() == "authorization" for name in headers):
            raise HttpRequestError(
                f"The URL of {place_of(url)} holds a login (user:password@), which would replace "
                "the key in the header 'authorization'. Take it out; a proxy that wants a login of "
                "its own gets it from http_client=httpx2.AsyncClient(auth=...)."
            )
        for name, value in headers.items():
            if not value.isascii() or not value.isprintable():
                raise HttpRequestError(
                    f"The header {name!r} holds a line break or a character outside of ASCII."
                )
        if origin.is_plain_and_remote and origin.host not in self._warned:
            self._warned.add(origin.host)
            logger.warning("Requests to %s are not encrypted: use https.", place_of(url))
        return origin


class _StaleConnection(Exception):
    """The server had closed an idle connection."""


def _get_none() -> None:
    return None


async def _close(client: Any) -> None:
    await client.aclose()
