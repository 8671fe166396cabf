"""Endpoints of spans: what took how long in a session, and what exactly was sent to a model."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from ..telemetry.recorder import SpanRecord
from ..telemetry.span_store import SqliteSpanStore
from .endpoint import Call, Endpoint
from .problems import Problem, public_text
from .runs import Wire


class SpansQuery(Wire):
    """Which spans: those of one invocation, or of all; the newest."""

    invocation_id: str | None = None
    limit: int = Field(default=5_000, ge=1, le=20_000)


class SpanSummary(Wire):
    """A span without contents.

    Attributes:
      id: 16 hexadecimal digits.
      parent_id: the span it is a part of.
      name: what is done, with whom.
      operation: `invocation`, `invoke_agent`, `chat` or `execute_tool`.
      start, end: seconds since 1970; no end where it runs, or its process was killed.
      invocation_id: the invocation.
      error: what went wrong.
      attributes: what else is known, by OpenTelemetry's names.
    """

    id: str
    parent_id: str | None = None
    name: str
    operation: str
    start: float
    end: float | None = None
    invocation_id: str
    error: str | None = None
    attributes: dict[str, Any]


class SpanDetail(SpanSummary):
    """A span with what was recorded of its contents.

    Attributes:
      contents: the prompt of a model call.
      texts: `system`, `tools`, `config`, `response`, `arguments`, `result`, as JSON texts.
    """

    contents: list[Any]
    texts: dict[str, str]


class Spans(Wire):
    """A session's spans, oldest first; those too of agents that ran as tools, under the id of
    their own invocation.
    """

    spans: list[SpanSummary]


async def listing(call: Call) -> Spans:
    """List the spans of a session."""
    place, query = call.place(), call.query
    found = await _store(call).of_session(
        *place, invocation_id=query.invocation_id, limit=query.limit
    )
    return Spans(spans=[SpanSummary(**_fields(span)) for span in found])


async def one(call: Call) -> SpanDetail:
    """Return a span with what was recorded of its contents."""
    span = await _store(call).span(call.path["span"], of=call.place())
    if span is None:
        raise Problem(404, "NotFoundError", "There is no such span.")
    contents = [json.loads(content) for content in span.contents]
    return SpanDetail(**_fields(span), contents=contents, texts=span.texts)


def _store(call: Call) -> SqliteSpanStore:
    return call.host.services.spans


def _fields(span: SpanRecord) -> dict[str, Any]:
    return {
        "id": span.id,
        "parent_id": span.parent_id,
        "name": span.name,
        "operation": span.operation,
        "start": span.start,
        "end": span.end,
        "invocation_id": span.invocation_id,
        "error": None if span.error is None else public_text(span.error),
        "attributes": span.attributes,
    }


_SPANS = "/apps/{app}/users/{user}/sessions/{session}/spans"

ENDPOINTS = (
    Endpoint(
        "GET",
        _SPANS,
        "List what took how long in a session",
        listing,
        query=SpansQuery,
        answer=Spans,
        problems=(404, 503),
    ),
    Endpoint(
        "GET",
        f"{_SPANS}/{{span}}",
        "Return a span with what was sent and answered",
        one,
        answer=SpanDetail,
        problems=(404, 503),
    ),
)
