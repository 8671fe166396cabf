"""OpenTelemetry exporter that stores spans in a SQLite file, searchable by session.

Prefer `span_store` for the spans of runs; it does not need OpenTelemetry.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._log import get_logger
from .._optional import need

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
else:
    SpanExporter = need("opentelemetry.sdk.trace.export", extra="otel").SpanExporter

logger = get_logger(__name__)

_SESSION = ("gen_ai.conversation.id", "gcp.vertex.agent.session_id")
_INVOCATION = ("ostinato.invocation_id", "gcp.vertex.agent.invocation_id")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS spans (
  span_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, parent_span_id TEXT, name TEXT NOT NULL,
  start_time_unix_nano INTEGER, end_time_unix_nano INTEGER,
  session_id TEXT, invocation_id TEXT, attributes_json TEXT
);
CREATE INDEX IF NOT EXISTS spans_session_id_idx ON spans (session_id);
CREATE INDEX IF NOT EXISTS spans_trace_id_idx ON spans (trace_id);
"""
_INSERT = "INSERT OR REPLACE INTO spans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OF_SESSION = """
SELECT trace_id, span_id, parent_span_id, name, start_time_unix_nano, end_time_unix_nano,
  attributes_json FROM spans
WHERE trace_id IN (SELECT trace_id FROM spans WHERE session_id = ?)
ORDER BY start_time_unix_nano
"""


class SqliteSpanExporter(SpanExporter):
    """Keeps spans in a file, for a span processor of OpenTelemetry.

    Args:
      db_path: the SQLite file; its folder has to exist.

    Raises:
      sqlite3.Error: the file cannot be opened.
    """

    def __init__(self, *, db_path: str | Path) -> None:
        self._path = str(db_path)
        self._lock = threading.Lock()
        with self._open_connection() as db:
            db.executescript(_SCHEMA)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Store spans; a failure is logged and returned as the result."""
        results: Any = need("opentelemetry.sdk.trace.export", extra="otel").SpanExportResult
        try:
            with self._open_connection() as db:
                db.executemany(_INSERT, [_make_row(span) for span in spans])
        except sqlite3.Error as error:
            logger.warning("Spans were not stored in %s: %s", self._path, error)
            return results.FAILURE
        return results.SUCCESS

    def shutdown(self) -> None:
        """Do nothing: the file is open while it is used only."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: `export` stores at once.

        Args:
          timeout_millis: not needed, as nothing is waited for.
        """
        return True

    def get_all_spans_for_session(self, session_id: str) -> list[ReadableSpan]:
        """Return all spans of the traces that a session has a part in, in order of their start.

        Args:
          session_id: of the session.
        """
        with self._open_connection() as db:
            rows = db.execute(_OF_SESSION, (session_id,)).fetchall()
        return [_make_span(row) for row in rows]

    @contextmanager
    def _open_connection(self) -> Generator[sqlite3.Connection]:
        with self._lock:
            db = sqlite3.connect(self._path)
            try:
                with db:
                    yield db
            finally:
                db.close()


def _make_row(span: ReadableSpan) -> tuple[Any, ...]:
    context, attributes = span.get_span_context(), span.attributes or {}
    assert context is not None  # a span that has ended has one
    return (
        f"{context.span_id:016x}",
        f"{context.trace_id:032x}",
        f"{span.parent.span_id:016x}" if span.parent is not None else None,
        span.name,
        span.start_time,
        span.end_time,
        _first_of(attributes, _SESSION),
        _first_of(attributes, _INVOCATION),
        json.dumps(dict(attributes), default=str),
    )


def _first_of(attributes: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((attributes[name] for name in names if attributes.get(name)), None)


def _make_span(row: Sequence[Any]) -> ReadableSpan:
    sdk = need("opentelemetry.sdk.trace", extra="otel")
    trace_id, span_id, parent, name, start, end, attributes = row
    return sdk.ReadableSpan(
        name=name,
        context=_make_context(trace_id, span_id),
        parent=_make_context(trace_id, parent) if parent else None,
        attributes=json.loads(attributes),
        start_time=start,
        end_time=end,
    )


def _make_context(trace_id: str, span_id: str) -> Any:
    trace = need("opentelemetry.trace", extra="otel")
    return trace.SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(span_id, 16),
        is_remote=False,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
