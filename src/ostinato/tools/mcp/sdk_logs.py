"""Log records of the SDK and its HTTP client, without secrets that servers repeat."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar

from pydantic import ValidationError

_OF_TRANSPORTS = ("mcp.client.streamable_http", "mcp.client.sse")
_OTHERS = (
    "client",
    "mcp.client.client",
    "mcp.client.caching",
    "mcp.shared.jsonrpc_dispatcher",
    "httpx2",  # which logs where a redirect leads
)

Redact = Callable[[str], str]
REDACT: ContextVar[Redact | None] = ContextVar("ostinato_mcp_redact", default=None)
"""Returns a text of the current context without secrets."""


def redact_sdk_logs(redact: Redact) -> None:
    """Redact what the SDK logs in the current context and in tasks that begin in it.

    Args:
      redact: returns a text without secrets.
    """
    REDACT.set(redact)
    for name in (*_OF_TRANSPORTS, *_OTHERS):
        logging.getLogger(name).addFilter(_clean)  # one function is added once


def _clean(record: logging.LogRecord) -> bool:
    """Take secrets out of a record; one of no connection is left alone."""
    redact = REDACT.get()
    if redact is None:
        return True
    text = record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    # The text of such an error may hold a part of a secret, which nothing would recognise.
    if error is not None and (record.name in _OF_TRANSPORTS or isinstance(error, ValidationError)):
        text = f"{text} ({type(error).__name__})"
        record.exc_info = record.exc_text = None
    record.msg, record.args = redact(text), None
    return True
