"""Spans through the OpenTelemetry API: `invocation`, `invoke_agent`, `call_llm`, `execute_tool`.

Nothing is imported and nothing recorded unless the program itself uses OpenTelemetry. Message
contents are never put into spans.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

_SCOPE = "ostinato"


class _Nothing:
    """A span that nobody records."""

    __slots__ = ()

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def resume(self) -> None:
        """Nothing to make current."""

    def suspend(self) -> None:
        """Nothing to take back."""

    def end(self, error: BaseException | None = None) -> None:
        """Nothing to end."""


_NOTHING = _Nothing()


class _Span:
    """A recorded span that generators may make current for a while and take back.

    A span attached across the `yield` of an async generator may be taken back in another context,
    which OpenTelemetry reports as an error; so generators call `resume` and `suspend` around each
    step.
    """

    __slots__ = ("_otel_context", "_span", "_token")

    def __init__(self, trace: Any, name: str, attributes: dict[str, Any]) -> None:
        tracer = trace.get_tracer(_SCOPE)
        self._span = tracer.start_span(name, attributes=attributes)
        self._otel_context = sys.modules["opentelemetry.context"]
        self._token: Any = None

    def __enter__(self) -> _Span:
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
        trace = sys.modules["opentelemetry.trace"]
        self._token = self._otel_context.attach(trace.set_span_in_context(self._span))

    def suspend(self) -> None:
        """Make current again what was before."""
        if self._token is not None:
            self._otel_context.detach(self._token)
            self._token = None

    def end(self, error: BaseException | None = None) -> None:
        """End the span, as failed where there is an error."""
        if isinstance(error, Exception):
            status = sys.modules["opentelemetry.trace"].StatusCode.ERROR
            self._span.set_status(status, type(error).__name__)
            self._span.set_attribute("error.type", type(error).__name__)
        self._span.end()


def span(operation: str, name: str = "", **attributes: str | None) -> _Span | _Nothing:
    """Start a span where the program records spans (FEATURES row 7).

    Args:
      operation: what is done, such as `execute_tool`.
      name: of the agent, model or tool; part of the span's name.
      **attributes: further attributes; None values are left out.

    Returns:
      A context manager with `resume`, `suspend` and `end`.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return _NOTHING
    kept = {f"ostinato.{k}": v for k, v in attributes.items() if v is not None}
    kept["gen_ai.operation.name"] = operation
    return _Span(trace, f"{operation} {name}".rstrip(), kept)
