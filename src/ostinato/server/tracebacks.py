"""Endpoint of tracebacks: where the developer's code failed at run time, in `ostinato web` only."""

from __future__ import annotations

from typing import Any

from .endpoint import SESSION_PATH, Call, Endpoint
from .names import Id
from .problems import Problem
from .runs import StrictRecord, WireRecord
from .spans import need_span_store
from .traceback_recorder import TEXT, ErrorChain, TracedError

_LIMIT = 5_000  # spans that are looked at


class Traceback(WireRecord):
    """The traceback of what failed.

    Attributes:
      span_id: the span that failed first with this error.
      invocation_id: the run.
      name: what failed, such as `execute_tool pay`.
      call_id: the call, if a tool failed.
      errors: the error, then its cause, and so on.
    """

    span_id: str
    invocation_id: str
    name: str
    call_id: str | None = None
    errors: list[TracedError]


class TracebackList(WireRecord):
    """The tracebacks of a session, oldest first."""

    tracebacks: list[Traceback]


class TracebackQuery(StrictRecord):
    """Which tracebacks: those of one invocation, or of all."""

    invocation_id: Id | None = None


async def list_tracebacks(call: Call) -> TracebackList:
    """List the tracebacks of a session.

    Raises:
      Problem: the server is not a developer's, or records no spans.
    """
    if not call.host.settings.developer:
        raise Problem(
            403, "DeveloperOnly", "Tracebacks are for developers: only `ostinato web` shows them."
        )
    place, store = call.read_place(), need_span_store(call)
    spans = await store.of_session(*place, invocation_id=call.query.invocation_id, limit=_LIMIT)
    found: list[Traceback] = []
    for one in spans:
        if one.error is None and one.operation != "execute_tool":
            continue  # a tool's error may have been answered; nothing else's is
        span = await store.span(one.id, of=place)
        text = None if span is None else span.texts.get(TEXT)
        if span is None or text is None:
            continue
        call_id: Any = span.attributes.get("gen_ai.tool.call.id")
        found.append(
            Traceback(
                span_id=span.id,
                invocation_id=span.invocation_id,
                name=span.name,
                call_id=call_id,
                errors=ErrorChain.model_validate_json(text).errors,
            )
        )
    return TracebackList(tracebacks=found)


ENDPOINTS = (
    Endpoint(
        "GET",
        f"{SESSION_PATH}/tracebacks",
        "List the tracebacks of errors in a session, on the development server",
        list_tracebacks,
        query=TracebackQuery,
        answer=TracebackList,
    ),
)
