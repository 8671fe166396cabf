"""Spans: `invocation`, `invoke_agent`, `chat`, `execute_tool`, by OpenTelemetry's GenAI names.

They go to OpenTelemetry where the program itself uses it, and to the recorder where a host put one
in; where neither is so, nothing is imported and nothing recorded.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from .. import _clock
from .recorder import RECORDERS, SpanRecord

_SCOPE = "ostinato"

# What the attributes are called outside; others get our own prefix.
_NAME_OF = {
    "invoke_agent": "gen_ai.agent.name",
    "chat": "gen_ai.request.model",
    "execute_tool": "gen_ai.tool.name",
}
_NAMES = {
    "session_id": "gen_ai.conversation.id",
    "call_id": "gen_ai.tool.call.id",
    "description": "gen_ai.agent.description",
    "provider": "gen_ai.provider.name",
    "response_model": "gen_ai.response.model",
    "finish_reasons": "gen_ai.response.finish_reasons",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
    "time_to_first_chunk": "gen_ai.response.time_to_first_chunk",
    "error_type": "error.type",
}


class _Nothing:
    """A span that nobody records."""

    __slots__ = ()

    recording = False

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def resume(self) -> None:
        """Nothing to make current."""

    def suspend(self) -> None:
        """Nothing to take back."""

    def set(self, **attributes: Any) -> None:
        """Nothing to note."""

    def end(self, error: BaseException | None = None) -> None:
        """Nothing to end."""


_NOTHING = _Nothing()


class Span:
    """A recorded span that generators may make current for a while and take back.

    A span attached across the `yield` of an async generator may be taken back in another context,
    which OpenTelemetry reports as an error; so generators call `resume` and `suspend` around each
    step.

    Attributes:
      recording: True; whoever gathers what costs something asks first.
      record: what recorders keep of it.
    """

    __slots__ = ("_before", "_ended", "_otel", "_token", "record")

    recording = True

    def __init__(self, operation: str, name: str, attributes: dict[str, Any]) -> None:
        parent = _CURRENT.get()
        full = f"{operation} {name}".rstrip()
        self._otel = _start_otel(full, attributes)
        self._token: Any = None
        self._before: Span | None = None
        self._ended = False
        ids = _otel_ids(self._otel) or _new_ids(parent)
        self.record = SpanRecord(
            id=ids[1],
            trace_id=ids[0],
            parent_id=parent.record.id if parent is not None else None,
            name=full,
            operation=operation,
            start=_clock.now(),
            attributes=attributes,
        )
        if parent is not None:
            self.record.place = parent.record.place
        self.record.place = (
            attributes.get("ostinato.app") or self.record.place[0],
            attributes.get("ostinato.user") or self.record.place[1],
            attributes.get("gen_ai.conversation.id") or self.record.place[2],
        )
        self.record.invocation_id = attributes.get("ostinato.invocation_id") or (
            parent.record.invocation_id if parent is not None else ""
        )
        for recorder in RECORDERS:
            recorder.started(self.record)

    def __enter__(self) -> Span:
        self.resume()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.suspend()
        self.end(error)

    def resume(self) -> None:
        """Make the span current."""
        self._before = _CURRENT.get()
        _CURRENT.set(self)
        if self._otel is not None:
            trace = sys.modules["opentelemetry.trace"]
            context = sys.modules["opentelemetry.context"]
            self._token = context.attach(trace.set_span_in_context(self._otel))

    def suspend(self) -> None:
        """Make current again what was before."""
        if _CURRENT.get() is self:
            _CURRENT.set(self._before)
        if self._token is not None:
            sys.modules["opentelemetry.context"].detach(self._token)
            self._token = None

    def set(self, **attributes: Any) -> None:
        """Note what became known; None values are left out."""
        named = _named(attributes)
        self.record.attributes.update(named)
        if "ostinato.invocation_id" in named:
            self.record.invocation_id = named["ostinato.invocation_id"]
        for name, value in named.items():
            self.set_raw(name, value)

    def set_raw(self, name: str, value: Any) -> None:
        """Set an attribute of the exported span alone, by its full name."""
        if self._otel is not None:
            self._otel.set_attribute(name, value)

    def end(self, error: BaseException | None = None) -> None:
        """End the span, as failed where there is an error; once."""
        if self._ended:
            return
        self._ended = True
        if isinstance(error, Exception):
            self.record.error = f"{type(error).__name__}: {error}"
            self.set(error_type=type(error).__name__)
        if self._otel is not None:
            if isinstance(error, Exception):
                status = sys.modules["opentelemetry.trace"].StatusCode.ERROR
                self._otel.set_status(status, type(error).__name__)
            self._otel.end()
        self.record.end = _clock.now()
        for recorder in RECORDERS:
            recorder.ended(self.record)


_CURRENT: ContextVar[Span | None] = ContextVar("ostinato_span", default=None)


def span(operation: str, name: str = "", **attributes: Any) -> Span | _Nothing:
    """Start a span where the program records spans (FEATURES row 7).

    Args:
      operation: what is done, such as `execute_tool`.
      name: of the agent, model or tool; part of the span's name.
      **attributes: further attributes; None values are left out.

    Returns:
      A context manager with `resume`, `suspend`, `set` and `end`.
    """
    if not RECORDERS:
        trace = sys.modules.get("opentelemetry.trace")  # asked here, because runs ask often
        if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return _NOTHING
    return made_span(operation, name, **attributes)


def made_span(operation: str, name: str = "", **attributes: Any) -> Span:
    """Start a span whether or not the program records spans: one for whoever wants its attributes.

    Args:
      operation: as `span` takes it.
      name: as `span` takes it.
      **attributes: as `span` takes them.
    """
    named = _named(attributes)
    named["gen_ai.operation.name"] = operation
    if operation in _NAME_OF:
        named[_NAME_OF[operation]] = name
    return Span(operation, name, named)


def is_exported() -> bool:
    """Tell whether the program itself records spans with OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider
    )


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        _NAMES.get(key) or f"ostinato.{key}": value
        for key, value in attributes.items()
        if value is not None
    }


def _start_otel(name: str, attributes: dict[str, Any]) -> Any:
    if not is_exported():
        return None
    tracer = sys.modules["opentelemetry.trace"].get_tracer(_SCOPE)
    return tracer.start_span(name, attributes=attributes)


def _otel_ids(otel: Any) -> tuple[str, str] | None:
    if otel is None:
        return None
    context = otel.get_span_context()
    return (f"{context.trace_id:032x}", f"{context.span_id:016x}") if context.is_valid else None


def _new_ids(parent: Span | None) -> tuple[str, str]:
    own = _clock.new_id().replace("-", "")
    return (parent.record.trace_id if parent is not None else own), own[-16:]
