"""RequestLog: middleware for request ids, the caller's trace, metrics and the access log."""

from __future__ import annotations

import re
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import _clock
from .._log import CURRENT, CURRENT_REQUEST, get_logger
from ..telemetry.prometheus import PrometheusMetrics
from ..telemetry.tracing import attach_caller, detach_caller

logger = get_logger("ostinato.access")

_HEADER = "x-request-id"
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
_LONGEST_PATH = 512


class RequestLog:
    """The outermost middleware, around the guard."""

    def __init__(
        self, app: ASGIApp, *, access_log: bool, metrics: PrometheusMetrics | None
    ) -> None:
        self._app = app
        self._access_log = access_log
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        state = scope["app"].state  # read now: an app that is mounted in this one replaces it
        request_id = _request_id(headers)
        status = 0
        began = time.perf_counter()

        async def with_id(message: Message) -> None:
            nonlocal status
            kind = message["type"]
            if kind in ("http.response.start", "websocket.accept"):
                status = message.get("status", 101)
                answer = MutableHeaders(scope=message)
                answer[_HEADER] = request_id
                if kind == "http.response.start" and state.host.leaving:
                    answer["connection"] = "close"  # the proxy's next request goes elsewhere
            elif kind == "websocket.close" and not status:
                status = 403
            await send(message)

        request = CURRENT_REQUEST.set(request_id)
        label = CURRENT.set(CURRENT.get())  # the endpoint names the session of its request
        caller = attach_caller(headers)
        try:
            await self._app(scope, receive, with_id)
        except Exception:  # boundary: an unhandled error counts as 500
            status = status or 500
            raise
        finally:
            self._log_request(scope, status, time.perf_counter() - began)
            detach_caller(caller)
            CURRENT.reset(label)
            CURRENT_REQUEST.reset(request)

    def _log_request(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope.get("method", "WEBSOCKET")
        if self._metrics is not None:
            self._metrics.count_request(method, status)
        if not self._access_log:
            return
        # Without the query, which may contain secrets.
        path = scope["path"][:_LONGEST_PATH]
        shown = path if path.isprintable() else ascii(path)
        took = round(seconds * 1000, 1)
        # Status 0: the client disconnected before the response.
        fields: dict[str, Any] = {"method": method, "path": path, "status": status, "ms": took}
        logger.info("%s %s %d %.1f ms", method, shown, status, took, extra={"fields": fields})


def _request_id(headers: Headers) -> str:
    """Return the caller's request id if it is well-formed, else a new one."""
    given = headers.get(_HEADER, "")
    return given if _WELL_FORMED.fullmatch(given) else _clock.new_id().replace("-", "")
