"""Lines on an MCP server's standard output that are no messages, such as a log: reported briefly.

The SDK logs each of them with a stack.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextvars import ContextVar
from typing import Any

from pydantic import ValidationError

from ..._log import get_logger
from ..._secrets import redact_text

FIRST_LINES = 5  # of each server that are logged with their text
_LONGEST, _LOOKED_AT = 120, 1000  # characters of a line that are logged, and read for secrets
_SDK_LOG = "mcp.client.stdio"

_log = get_logger(__name__)
_counts: Counter[str] = Counter()
_is_reported: ContextVar[bool] = ContextVar("ostinato_mcp_stray_output", default=False)


def report_stray_output() -> None:
    """Take over the reports about the connection that the current task opens."""
    _is_reported.set(True)
    logging.getLogger(_SDK_LOG).addFilter(_is_wanted)  # one function is added once


def note_stray_line(server: str, error: Exception) -> None:
    """Log a line that is no message; of a server that writes many, their count in powers of ten.

    Args:
      server: the server's name.
      error: what the SDK hands on in place of a message.
    """
    _counts[server] += 1
    count = _counts[server]
    if count <= FIRST_LINES:
        _log.warning(
            "MCP server %s wrote a line to its standard output that is no message of MCP: %s",
            server,
            _show_line(error),
        )
    if count == FIRST_LINES:
        _log.warning("MCP server %s: from now on only the number of such lines is logged.", server)
    elif count > FIRST_LINES and str(count).strip("0") == "1":
        _log.warning("MCP server %s has written %d such lines.", server, count)


def _show_line(error: Exception) -> str:
    """Return the line that an error is about, or the error's type."""
    found: Any = None
    if isinstance(error, ValidationError):
        found = error.errors()[0]["input"]
    if not isinstance(found, str):
        return type(error).__name__
    return repr(redact_text(found[:_LOOKED_AT])[:_LONGEST])


def _is_wanted(record: logging.LogRecord) -> bool:
    """Return whether a record of the SDK is about anything but a line that is no message."""
    return not (_is_reported.get() and record.funcName == "_parse_line")
