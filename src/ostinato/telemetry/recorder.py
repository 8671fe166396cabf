"""Port of span recorders, which the tracer notifies of each span; `SqliteSpanStore` is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

NOT_ASKED = "not asked"
"""Outcome of a model call's span if the model was not called: a callback answered or raised, or a
limit was reached."""


@dataclass(slots=True)
class SpanRecord:
    """One piece of work of a run.

    Attributes:
      id: 16 hexadecimal digits.
      trace_id: 32 hexadecimal digits, shared by the spans of an invocation.
      parent_id: the span that it is a part of; None at the root.
      name: operation and target: `chat gemini-2.5-flash`.
      operation: `invocation`, `invoke_agent`, `chat` or `execute_tool`.
      start, end: seconds since 1970; `end` is None while it runs.
      place: app, user and session.
      invocation_id: the invocation.
      error: the error's type and message, or None.
      attributes: further attributes, by OpenTelemetry's names.
      contents: the prompt of a model call, content by content, as JSON; empty if contents are not
        recorded.
      texts: other texts by kind: `system`, `tools`, `config`, `response`, `arguments`, `result`.
      exception: the error itself, for recorders when the span ends; it is not stored.
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
    exception: Exception | None = field(default=None, compare=False, repr=False)


class Recorder(Protocol):
    """Keeps spans.

    Attributes:
      wants_content: whether prompts, responses, arguments and results are to be kept.
    """

    wants_content: bool

    def on_start(self, record: SpanRecord) -> None:
        """Record a span that has begun; must not block."""

    def on_end(self, record: SpanRecord) -> None:
        """Record a span that has ended; must not block."""


#: The recorders that receive the spans of all runs of this process; change it with `install`.
RECORDERS: list[Recorder] = []


def install(recorder: Recorder) -> Callable[[], None]:
    """Send the spans of all runs of this process to a recorder.

    Returns:
      A function that removes the recorder.
    """
    RECORDERS.append(recorder)

    def take_out() -> None:
        if recorder in RECORDERS:
            RECORDERS.remove(recorder)

    return take_out
