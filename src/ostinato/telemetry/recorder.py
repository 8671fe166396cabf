"""Recorder: the port behind which finished and running spans are kept on this machine. The tracer
feeds the one that a host put in; the store of `span_store.py` is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(slots=True)
class SpanRecord:
    """One piece of work of a run.

    Attributes:
      id: 16 hexadecimal digits.
      trace_id: 32 hexadecimal digits, shared by the spans of an invocation.
      parent_id: the span that it is a part of; None at the root.
      name: what is done, with whom: `chat gemini-2.5-flash`.
      operation: what is done: `invocation`, `invoke_agent`, `chat`, `execute_tool`.
      start, end: seconds since 1970; `end` is None while it runs.
      place: app, user and session.
      invocation_id: the invocation.
      error: the error's type and message; None where it went well.
      attributes: what else is known, by OpenTelemetry's names.
      contents: the prompt of a model call, content by content, as JSON; empty where contents are
        not recorded.
      texts: other texts of it by kind: `system`, `tools`, `config`, `response`, `arguments`,
        `result`.
    """

    id: str
    trace_id: str
    parent_id: str | None
    name: str
    operation: str
    start: float
    end: float | None = None
    place: tuple[str, str, str] = ("", "", "")
    invocation_id: str = ""
    error: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    contents: list[str] = field(default_factory=list[str])
    texts: dict[str, str] = field(default_factory=dict[str, str])


class Recorder(Protocol):
    """Keeps spans.

    Attributes:
      wants_content: whether prompts, responses, arguments and results are to be kept.
    """

    wants_content: bool

    def started(self, record: SpanRecord) -> None:
        """Take note of a span that has begun; it must not block."""

    def ended(self, record: SpanRecord) -> None:
        """Take note of a span that has ended; it must not block."""


#: The recorders that are fed with the spans of all runs of this process; change it by `install`.
RECORDERS: list[Recorder] = []


def install(recorder: Recorder) -> Callable[[], None]:
    """Feed a recorder with the spans of all runs of this process.

    Returns:
      What takes it out again.
    """
    RECORDERS.append(recorder)

    def take_out() -> None:
        if recorder in RECORDERS:
            RECORDERS.remove(recorder)

    return take_out
