"""Errors of MCP connections and calls."""

from __future__ import annotations

from ...errors import OstinatoError


class McpConnectionError(OstinatoError, ConnectionError):
    """An MCP server cannot be reached, refuses the connection, or has ended it.

    Args:
      message: what happened, to which server, and what to do.
      status: the HTTP status with which the server refused, or None.
      challenge: the server's `WWW-Authenticate` header, or an empty text.
    """

    def __init__(self, message: str, *, status: int | None = None, challenge: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.challenge = challenge


class McpCallError(OstinatoError):
    """An MCP server answered a request with an error, or not at all.

    Args:
      message: what happened, to which tool of which server, and what to do.
      status: the HTTP status of a refused request, or None.
      code: the JSON-RPC code of the server's error, or None.
    """

    def __init__(self, message: str, *, status: int | None = None, code: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
