"""The HTTP protocol of a connection: uvicorn's, with limits on time, size and connections.

uvicorn limits the time between two requests, but not the time of a request's head, the number of
connections, or (with every parser) the size of the head; and it refuses in plain text.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .security import LARGEST_HEAD
from .settings import ServerSettings

_Base: Any = AutoHTTPProtocol


class BoundedProtocol(_Base):
    """Closes a connection whose request head takes too long, and refuses too many connections.

    Attributes:
      header_timeout: seconds for a head.
      max_connections: open connections of this process.
    """

    header_timeout: float
    max_connections: int
    _waiting: asyncio.TimerHandle | None = None
    _head: int = 0  # bytes of the incomplete head

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the timer for the head; refuse the connection if there are too many."""
        super().connection_made(transport)  # pyright: ignore[reportUnknownMemberType]
        if len(self.connections) > self.max_connections:
            transport.write(_refusal_response(HTTPStatus.SERVICE_UNAVAILABLE, "TooManyConnections"))
            transport.close()
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Process bytes; stop the timer once the head is complete."""
        if self.transport.is_closing():
            return
        super().data_received(data)  # pyright: ignore[reportUnknownMemberType]
        if self.transport.get_protocol() is not self or self._is_answering():
            self._stop_waiting()
            self._head = 0
            return
        self._head += len(data)
        if self._head <= LARGEST_HEAD:
            self._await_head()
        elif not self.transport.is_closing():
            self._stop_waiting()
            self.transport.write(
                _refusal_response(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "HeadTooLarge")
            )
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)  # pyright: ignore[reportUnknownMemberType]

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP, in JSON like all other errors."""
        self.transport.write(_refusal_response(HTTPStatus.BAD_REQUEST, "InvalidHttp", msg))
        self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.header_timeout, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing() and not self._is_answering():
            self.transport.write(_refusal_response(HTTPStatus.REQUEST_TIMEOUT, "RequestTimeout"))
            self.transport.close()


def http_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """Return the protocol class with the limits of the settings, for uvicorn."""
    bounds = {
        "header_timeout": settings.header_timeout,
        "max_connections": settings.max_connections,
    }
    return type("BoundedProtocol", (BoundedProtocol,), bounds)


def _refusal_response(status: HTTPStatus, kind: str, message: str = "") -> bytes:
    """Return a complete HTTP response for a connection without a valid request."""
    message = message or f"{status.phrase}."
    body = json.dumps({"detail": message, "error": {"type": kind, "message": message}}).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
