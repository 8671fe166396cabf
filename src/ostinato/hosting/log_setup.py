"""Log output of the processes that the command line starts: lines of text, or JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

from .._log import UNKNOWN, InvocationIdFilter
from .._secrets import redact_text
from .store_address import mask_secrets

LogFormat = Literal["text", "json"]

LEVELS = ("debug", "info", "warning", "error", "critical")
_LONGEST = 32_000  # characters of a message or a traceback
_OURS = ("ostinato", "uvicorn")  # the level applies to these; others log from WARNING on

# Attribute of a log record -> its short name in a line of text.
_IDS = {
    "app_name": "app",
    "user_id": "user",
    "session_id": "session",
    "invocation_id": "invocation",
    "request_id": "request",
}
_COLORS = {"WARNING": "33", "ERROR": "31", "CRITICAL": "31;1"}


@contextmanager
def log_to_stderr(level: str, form: LogFormat) -> Generator[None]:
    """Write the log to the standard error within a block.

    Args:
      level: one of `LEVELS`, for Ostinato and its HTTP server.
      form: text or JSON.
    """
    handler = logging.StreamHandler(sys.stderr)
    colored = form == "text" and sys.stderr.isatty()
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter(colored=colored))
    handler.addFilter(InvocationIdFilter())
    root = logging.getLogger()
    loggers = [logging.getLogger(name) for name in _OURS]
    before = [one.level for one in loggers]
    root.addHandler(handler)
    for one in loggers:
        one.setLevel(level.upper())
    try:
        yield
    finally:
        root.removeHandler(handler)
        for one, its in zip(loggers, before, strict=True):
            one.setLevel(its)


def print_line(text: str, form: LogFormat) -> None:
    """Print a line to the standard output, in the format of the log.

    Args:
      text: one line.
      form: `json` prints the line as a log record.
    """
    if form == "json":
        record = logging.LogRecord("ostinato", logging.INFO, "", 0, text, None, None)
        text = JsonFormatter().format(record)
    print(text, flush=True)


class TextFormatter(logging.Formatter):
    """One line per record: time, level, message, and the ids that are known.

    Args:
      colored: mark levels and ids with a terminal's colors.
    """

    def __init__(self, *, colored: bool = False) -> None:
        super().__init__()
        self._colored = colored

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; a traceback follows it."""
        moment = datetime.fromtimestamp(record.created).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        level = f"{record.levelname:<7}"
        values = {name: getattr(record, key, UNKNOWN) for key, name in _IDS.items()}
        ids = " ".join(f"{name}={_quote_id(v)}" for name, v in values.items() if v != UNKNOWN)
        if self._colored:
            color = _COLORS.get(record.levelname)
            level = f"\033[{color}m{level}\033[0m" if color else level
            ids = f"\033[2m{ids}\033[0m" if ids else ""
        line = f"{moment} {level} {record.getMessage()}" + (f"  {ids}" if ids else "")
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return _clean(line)


class JsonFormatter(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object as one line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, object] = {
            "time": moment,
            "level": record.levelname,
            "logger": record.name,
            "message": _clean(record.getMessage()),
            "process": record.process,
        }
        for key in _IDS:
            value = getattr(record, key, UNKNOWN)
            fields[key] = None if value == UNKNOWN else value
        fields.update(getattr(record, "fields", {}))
        if record.exc_info:
            fields["exception"] = _clean(self.formatException(record.exc_info))
        return json.dumps(fields, ensure_ascii=False, default=str)


def _clean(text: str) -> str:
    """Return a text for the log: cut, without secrets."""
    if len(text) > _LONGEST:
        half, left = _LONGEST // 2, len(text) - _LONGEST
        text = f"{text[:half]} ... {left} characters left out ... {text[-half:]}"
    return redact_text(mask_secrets(text))


def _quote_id(value: str) -> str:
    """Return an id for a log line, quoted if it contains white space or unprintable characters."""
    return json.dumps(value) if any(c.isspace() or not c.isprintable() for c in value) else value
