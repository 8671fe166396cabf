"""Guard: who may call the server, and how often. Every request passes it before any route."""

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

from .problems import Problem, problem_response
from .settings import ServerSettings

# A browser's WebSocket sends no headers of its own choice, but subprotocols: this one, which the
# server answers with, and one that holds the token.
SUBPROTOCOL = "ostinato-live"
_TOKEN = "ostinato-token."

_LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")
_ANY_ADDRESS = ("0.0.0.0", "::")
_CLIENTS = 10_000  # addresses whose requests are counted
_REGEX = "regex:"
_LONGEST_TARGET = 8192

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Guard:
    """Refuses what comes from other pages, under other names, without the token, or too often.

    Args:
      app: what is guarded.
      settings: what is allowed.
      open_paths: paths that need no token.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings, open_paths: frozenset[str]) -> None:
        self._app = app
        self._settings = settings
        self._open = open_paths
        self._rate = Rate(settings.rate_limit)
        self._hosts = _hosts(settings)
        self._origins = settings.allow_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._problem(scope, headers)
        origin = headers.get("origin")
        allowed = origin is not None and self._may_call(origin)
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
                    _allow(answer, origin)
            await send(message)

        if problem is not None:
            await problem_response(problem)(scope, receive, with_headers)
        elif allowed and _is_preflight(scope, headers):
            await Response(status_code=204)(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _problem(self, scope: Scope, headers: Headers) -> Problem | None:
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_TARGET:
            return Problem(414, "UriTooLong", "The address is too long.")
        host = headers.get("host", "")
        if self._hosts is not None and _name_of(host) not in self._hosts:
            return Problem(403, "HostNotAllowed", "This host name is not allowed (--allow-host).")
        origin = headers.get("origin")
        if origin is not None and not self._is_same(origin, host) and not self._may_call(origin):
            if scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD"):
                return Problem(403, "OriginNotAllowed", "This origin is not allowed.")
        wait = self._rate.wait((scope.get("client") or ("",))[0])
        if wait:
            after = {"Retry-After": str(int(wait) + 1)}
            return Problem(429, "TooManyRequests", "Too many requests; wait.", headers=after)
        if self._needs_token(scope, headers) and not self._has_token(scope, headers):
            ask = {"WWW-Authenticate": "Bearer"}
            return Problem(401, "Unauthorized", "The token is missing or wrong.", headers=ask)
        return None

    def _needs_token(self, scope: Scope, headers: Headers) -> bool:
        if self._settings.token is None or scope["path"] in self._open:
            return False
        return not _is_preflight(scope, headers)  # which no browser sends a token with

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode() if kind.lower() == "bearer" else b""
        if not given and scope["type"] == "websocket":
            given = _offered_token(scope)
        wanted = (self._settings.token or "").encode()
        return bool(given) and hmac.compare_digest(given, wanted)

    @staticmethod
    def _is_same(origin: str, host: str) -> bool:
        return urlsplit(origin).netloc.lower() == host.lower()

    def _may_call(self, origin: str) -> bool:
        for allowed in self._origins:
            if allowed in ("*", origin):
                return True
            if allowed.startswith(_REGEX) and re.fullmatch(allowed[len(_REGEX) :], origin):
                return True
        return False


class Rate:
    """Counts requests by client address; a bucket that fills again with time.

    Args:
      per_minute: how many; None for any number.
    """

    def __init__(self, per_minute: int | None) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Count a request; return the seconds after which it may come, 0 where it may now."""
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
    """Return the token among the subprotocols that a client offers; nothing where none is."""
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(_TOKEN):
            told = offered[len(_TOKEN) :]
            try:
                return base64.b64decode(
                    told + "=" * (-len(told) % 4), altchars=b"-_", validate=True
                )
            except (binascii.Error, ValueError):
                return b""
    return b""


def _hosts(settings: ServerSettings) -> frozenset[str] | None:
    """Return the names under which the server may be called; None for any."""
    named = {name.lower() for name in settings.allow_hosts}
    if "*" in named:
        return None
    if settings.on_loopback:
        return frozenset({*_LOOPBACK, settings.host.lower(), *named})
    if named:
        return frozenset({*_LOOPBACK, *named, settings.host.lower()})
    # Bound to the outside a token is needed, which no page of another name has.
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


def _allow(answer: MutableHeaders, origin: str) -> None:
    answer["access-control-allow-origin"] = origin
    answer["access-control-allow-methods"] = "GET, POST, PATCH, PUT, DELETE, OPTIONS"
    answer["access-control-allow-headers"] = (
        "authorization, content-type, idempotency-key, last-event-id"
    )
    answer["access-control-max-age"] = "600"
    answer.add_vary_header("Origin")
