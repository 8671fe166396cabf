"""Endpoints of a session's spans: durations, and the exact requests to models."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from ..telemetry.recorder import SpanRecord
from ..telemetry.span_store import SqliteSpanStore
from .endpoint import SESSION_PATH, Call, Endpoint, NoQuery
from .names import Id
from .problems import Problem, public_message, public_name, public_text
from .runs import StrictRecord, WireRecord

_KIND = "error.type"
_TEXTS = ("system", "tools", "config", "response", "arguments", "result")


class SpansQuery(StrictRecord):
    """Which spans: those of one invocation, or of all; the newest."""

    invocation_id: Id | None = None
    limit: int = Field(default=5_000, ge=1, le=20_000)


class SpanSummary(WireRecord):
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


class Spans(WireRecord):
    """A session's spans, oldest first; those too of agents that ran as tools, under the id of
    their own invocation.
    """

    spans: list[SpanSummary]


async def list_spans(call: Call) -> Spans:
    """List the spans of a session."""
    place, query = call.read_place(), call.query
    found = await need_span_store(call).of_session(
        *place, invocation_id=query.invocation_id, limit=query.limit
    )
    return Spans(spans=[SpanSummary(**_span_fields(span)) for span in found])


async def get_span(call: Call) -> SpanDetail:
    """Return a span with its recorded contents."""
    span = await need_span_store(call).span(call.path["span"], of=call.read_place())
    if span is None:
        raise Problem(404, "NotFoundError", "The span does not exist.")
    contents = [json.loads(content) for content in span.contents]
    texts = {kind: text for kind, text in span.texts.items() if kind in _TEXTS}
    return SpanDetail(**_span_fields(span), contents=contents, texts=texts)


def need_span_store(call: Call) -> SqliteSpanStore:
    """Return the span store.

    Raises:
      Problem: the server records no spans.
    """
    store = call.host.services.spans
    if store is None:
        raise Problem(404, "NotFoundError", "This server records no spans (--traces off).")
    return store


def _span_fields(span: SpanRecord) -> dict[str, Any]:
    return {
        "id": span.id,
        "parent_id": span.parent_id,
        "name": span.name,
        "operation": span.operation,
        "start": span.start,
        "end": span.end,
        "invocation_id": span.invocation_id,
        "error": public_error(span),
        "attributes": public_attributes(span),
    }


def public_attributes(span: SpanRecord) -> dict[str, Any]:
    """Return a span's attributes for clients, with the class of its error cleaned."""
    found = span.attributes
    return {**found, _KIND: public_name(found[_KIND])} if _KIND in found else found


def public_error(span: SpanRecord) -> str | None:
    """Return a span's error for clients; it is recorded as `Type: text`."""
    if span.error is None:
        return None
    name, colon, text = span.error.partition(": ")
    return public_message(name, text, span.invocation_id) if colon else public_text(span.error)


_SPANS = f"{SESSION_PATH}/spans"

ENDPOINTS = (
    Endpoint(
        "GET",
        _SPANS,
        "List what took how long in a session",
        list_spans,
        query=SpansQuery,
        answer=Spans,
    ),
    Endpoint(
        "GET",
        f"{_SPANS}/{{span}}",
        "Return a span with what was sent and answered",
        get_span,
        query=NoQuery,
        answer=SpanDetail,
    ),
)
