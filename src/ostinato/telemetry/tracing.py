"""Spans of the runtime: `invocation`, `invoke_agent`, `chat`, `execute_tool`.

They go to OpenTelemetry if the program uses it, and to the installed recorders. Without either,
nothing is imported or recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from .. import _clock
from .._absences import refuse_absent
from .._lazy import load
from .._optional import need
from .recorder import RECORDERS, SpanRecord

_SCOPE = "ostinato"
# Names of google-adk's `telemetry.tracing` that load OpenTelemetry, and where they are.
_LATE = {
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS": "context",
    "GenerateContentSpan": "span_attributes",
    "otel_logger": "span_attributes",
    "trace_agent_invocation": "span_attributes",
    "trace_call_llm": "span_attributes",
    "trace_generate_content_result": "span_attributes",
    "trace_inference_result": "span_attributes",
    "trace_merged_tool_calls": "span_attributes",
    "trace_send_data": "span_attributes",
    "trace_tool_call": "span_attributes",
    "tracer": "span_attributes",
    "use_generate_content_span": "span_attributes",
    "use_inference_span": "span_attributes",
}

# Public names of the attributes; all others get the prefix `ostinato.`.
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


_refuse = refuse_absent(__name__)


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return load(f"ostinato.telemetry.{_LATE[name]}:{name}")
    return _refuse(name)


class _Nothing:
    """A span that is not recorded."""

    __slots__ = ()

    recording = False

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def resume(self) -> None:
        """Do nothing."""

    def suspend(self) -> None:
        """Do nothing."""

    def set(self, **attributes: Any) -> None:
        """Do nothing."""

    def end(self, error: BaseException | None = None, outcome: str | None = None) -> None:
        """Do nothing."""


_NOTHING = _Nothing()


class Span:
    """A recorded span that a generator makes current for each of its steps.

    OpenTelemetry reports an error if a span is attached across the `yield` of an async generator
    and detached in another context, so generators call `resume` and `suspend` around each step.

    Attributes:
      recording: True; callers check it before they compute costly attributes.
      record: the record that recorders receive.
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
            recorder.on_start(self.record)

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
        """Restore the previous current span."""
        if _CURRENT.get() is self:
            _CURRENT.set(self._before)
        if self._token is not None:
            sys.modules["opentelemetry.context"].detach(self._token)
            self._token = None

    def set(self, **attributes: Any) -> None:
        """Set attributes; None values are left out."""
        named = _name_attributes(attributes)
        self.record.attributes.update(named)
        if "ostinato.invocation_id" in named:
            self.record.invocation_id = named["ostinato.invocation_id"]
        for name, value in named.items():
            self.set_raw(name, value)

    def set_raw(self, name: str, value: Any) -> None:
        """Set an attribute of the exported span alone, by its full name."""
        if self._otel is not None:
            self._otel.set_attribute(name, value)

    def rename(self, name: str) -> None:
        """Rename the span of a model call to the model that is finally called."""
        full = f"{self.record.operation} {name}"
        if full == self.record.name:
            return
        self.record.name = full
        if self._otel is not None:
            self._otel.update_name(full)
        attribute = _NAME_OF[self.record.operation]
        self.record.attributes[attribute] = name
        self.set_raw(attribute, name)

    def end(self, error: BaseException | None = None, outcome: str | None = None) -> None:
        """End the span; only the first call counts.

        Args:
          error: what ended it: an Exception is a failure, any other a cancellation.
          outcome: another outcome than completion, such as `paused`.
        """
        if self._ended:
            return
        self._ended = True
        if error is not None and not isinstance(error, Exception):
            outcome = "cancelled"
        if outcome is not None:
            self.set(outcome=outcome)
        if isinstance(error, Exception):
            self.record.error = f"{type(error).__name__}: {error}"
            self.record.exception = error
            self.set(error_type=type(error).__name__)
        if self._otel is not None:
            if isinstance(error, Exception):
                status = sys.modules["opentelemetry.trace"].StatusCode.ERROR
                self._otel.set_status(status, type(error).__name__)
            self._otel.end()
        self.record.end = _clock.now()
        for recorder in RECORDERS:
            recorder.on_end(self.record)


_CURRENT: ContextVar[Span | None] = ContextVar("ostinato_span", default=None)


def note_exception(error: Exception) -> None:
    """Give an error to the recorders of the current span, which may end without one."""
    current = _CURRENT.get()
    if current is not None:
        current.record.exception = error


def span(operation: str, name: str = "", **attributes: Any) -> Span | _Nothing:
    """Start a span if spans are recorded.

    Args:
      operation: what is done, such as `execute_tool`.
      name: of the agent, model or tool; part of the span's name.
      **attributes: further attributes; None values are left out.

    Returns:
      A context manager with `resume`, `suspend`, `set` and `end`.
    """
    if not RECORDERS:
        trace = sys.modules.get("opentelemetry.trace")  # inline: this is a hot path
        if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return _NOTHING
    return made_span(operation, name, **attributes)


def made_span(operation: str, name: str = "", **attributes: Any) -> Span:
    """Start a span even if spans are not recorded, for the sake of its attributes.

    Args:
      operation: as `span` takes it.
      name: as `span` takes it.
      **attributes: as `span` takes them.
    """
    named = _name_attributes(attributes)
    named["gen_ai.operation.name"] = operation
    if operation in _NAME_OF:
        named[_NAME_OF[operation]] = name
    return Span(operation, name, named)


def is_exported() -> bool:
    """Return whether the program records spans with OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and not isinstance(
        trace.get_tracer_provider(), trace.ProxyTracerProvider
    )


def _name_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
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
    own = _clock.unique_id().replace("-", "")
    return (parent.record.trace_id if parent is not None else own), own[-16:]


def caller_headers() -> dict[str, str] | None:
    """Return headers that name the current trace, or None if there is no exported trace.

    `attach_caller` takes them, in this process or another one.
    """
    if not is_exported():
        return None
    headers: dict[str, str] = {}
    need("opentelemetry.propagate", extra="otel").inject(headers)
    return headers or None


def attach_caller(headers: Mapping[str, str]) -> Any:
    """Make the trace that a request's headers name the current one (`traceparent`).

    Returns:
      A token for `detach_caller`, or None if there is no exported trace.
    """
    if not is_exported() or "traceparent" not in headers:
        return None
    propagate = need("opentelemetry.propagate", extra="otel")
    context = need("opentelemetry.context", extra="otel")
    return context.attach(propagate.extract(headers))


def detach_caller(token: Any) -> None:
    """Restore what was current before `attach_caller`."""
    if token is not None:
        sys.modules["opentelemetry.context"].detach(token)
