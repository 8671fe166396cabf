"""Guard: middleware that checks host, origin, token and rate of every request."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import time
from collections import OrderedDict
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, answering_developer, problem_response
from .proxies import TrustedProxies
from .settings import ServerSettings

# A browser's WebSocket cannot set headers, but it can offer subprotocols: this one, which the
# server accepts, and one that contains the token.
SUBPROTOCOL = "ostinato-live"
_TOKEN = "ostinato-token."

_LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
_ANY_ADDRESS = ("0.0.0.0", "::")
_CLIENTS = 10_000  # client addresses with a rate limit, at most
REGEX = "regex:"
_LONGEST_TARGET = 8192
LARGEST_HEAD = 64 * 1024  # bytes of the head of a request

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """Refuses requests from other origins, for other hosts, without the token, or too frequent."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, open_paths: frozenset[str]) -> None:
        self._app = app
        self._settings = settings
        self._open = open_paths
        self._tokens = [one.encode() for one in settings.tokens]
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._rate = RateLimiter(settings.rate_limit)
        self._hosts = _allowed_hosts(settings)
        self._origins = settings.allow_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope = self._proxies.resolve_client(scope, headers)
        problem = self._find_problem(scope, headers)
        origin = headers.get("origin")
        allowed = origin is not None and self._is_allowed_origin(origin)
        if problem is not None and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": problem.kind})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    answer.setdefault(name, value)
                if allowed and origin is not None:
                    _allow_origin(answer, origin)
            await send(message)

        if problem is not None:
            await problem_response(problem)(scope, receive, with_headers)
        elif allowed and _is_preflight(scope, headers):
            await Response(status_code=204)(scope, receive, with_headers)
        else:
            with answering_developer(self._settings.developer):
                await self._app(scope, receive, with_headers)

    def _find_problem(self, scope: Scope, headers: Headers) -> Problem | None:
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_TARGET:
            return Problem(414, "UriTooLong", "The address is too long.")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEAD:
            return Problem(431, "HeadTooLarge", f"The headers have more than {LARGEST_HEAD} bytes.")
        if "transfer-encoding" in headers and "content-length" in headers:
            return Problem(
                400,
                "InvalidHttp",
                "A body has one length: Content-Length or Transfer-Encoding, not both.",
                headers={"Connection": "close"},
            )
        host = headers.get("host", "")
        if self._hosts is not None and _name_of(host) not in self._hosts:
            return Problem(
                403, "HostNotAllowed", "This host name is not allowed; allow it with --allow-host."
            )
        origin = headers.get("origin")
        if (
            origin is not None
            and not self._is_same_origin(origin, host)
            and not self._is_allowed_origin(origin)
        ):
            if scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD"):
                return Problem(403, "OriginNotAllowed", "This origin is not allowed.")
        wait = self._rate.count_request((scope.get("client") or ("",))[0])
        if wait:
            after = {"Retry-After": str(int(wait) + 1)}
            return Problem(
                429, "TooManyRequests", "Too many requests; try again later.", headers=after
            )
        if self._is_token_required(scope, headers) and not self._has_token(scope, headers):
            ask = {"WWW-Authenticate": "Bearer"}
            return Problem(401, "Unauthorized", "The token is missing or wrong.", headers=ask)
        return None

    def _is_token_required(self, scope: Scope, headers: Headers) -> bool:
        # If another app mounts this one, its prefix is in the path and in root_path.
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if not self._tokens or path in self._open:
            return False
        return not _is_preflight(scope, headers)  # browsers send no token with a preflight

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode() if kind.lower() == "bearer" else b""
        if not given and scope["type"] == "websocket":
            given = _offered_token(scope)
        # Compare with all tokens, so that the time does not reveal which one is similar.
        return any([hmac.compare_digest(given, one) for one in self._tokens]) and bool(given)

    @staticmethod
    def _is_same_origin(origin: str, host: str) -> bool:
        return urlsplit(origin).netloc.lower() == host.lower()

    def _is_allowed_origin(self, origin: str) -> bool:
        for allowed in self._origins:
            if allowed in ("*", origin):
                return True
            if allowed.startswith(REGEX) and re.fullmatch(allowed[len(REGEX) :], origin):
                return True
        return False


class RateLimiter:
    """A token bucket of requests per minute for each client address; None sets no limit."""

    def __init__(self, per_minute: int | None) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count_request(self, client: str) -> float:
        """Count a request; return the seconds to wait, or 0 if it is allowed now."""
        most = self._per_minute
        if most is None:
            return 0.0
        now = time.monotonic()
        left, then = self._buckets.pop(client, (float(most), now))
        left = min(float(most), left + (now - then) * most / 60)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if left >= 1 else (1 - left) * 60 / most


def _offered_token(scope: Scope) -> bytes:
    """Return the token among the subprotocols that a client offers, or no bytes."""
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(_TOKEN):
            encoded = offered[len(_TOKEN) :]
            try:
                return base64.b64decode(
                    encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True
                )
            except (binascii.Error, ValueError):
                return b""
    return b""


def _allowed_hosts(settings: ServerSettings) -> frozenset[str] | None:
    """Return the host names of allowed requests, or None for all."""
    named = {name.lower() for name in settings.allow_hosts}
    if "*" in named:
        return None
    if settings.is_on_loopback:
        return frozenset({*_LOOPBACK, settings.host.lower(), *named})
    if named:
        return frozenset({*_LOOPBACK, *named, settings.host.lower()})
    # A server on an external address requires a token, which pages of other hosts do not have.
    return None


def _name_of(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "OPTIONS"
        and "access-control-request-method" in headers
    )


def _allow_origin(answer: MutableHeaders, origin: str) -> None:
    answer["access-control-allow-origin"] = origin
    answer["access-control-allow-methods"] = "GET, POST, PATCH, PUT, DELETE, OPTIONS"
    answer["access-control-allow-headers"] = (
        "authorization, content-type, idempotency-key, last-event-id"
    )
    answer["access-control-max-age"] = "600"
    answer.add_vary_header("Origin")
