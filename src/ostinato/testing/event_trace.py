"""Readable traces of events, and assertions over them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import Any

from .. import types
from ..events.event import Event

_EFFECTS = (
    "state_delta",
    "artifact_delta",
    "agent_state",
    "end_of_agent",
    "escalate",
    "skip_summarization",
    "rewind_before_invocation_id",
    "route",
)


def trace(events: Iterable[Event], *, partial: bool = False) -> list[str]:
    """Return one line for each thing that happened.

    Lines read `agent: text`, `agent: weather(city='Rome')`, `agent: weather -> {'sky': 'clear'}`,
    `agent: [transfer to child]`, `agent: [state_delta {'a': 1}]`.

    Args:
      events: events as a run yields them or a session stores them.
      partial: whether streamed pieces show too, as `agent~ text`.
    """
    lines: list[str] = []
    for event in events:
        if event.partial and not partial:
            continue
        mark = "~" if event.partial else ":"
        lines.extend(f"{event.author}{mark} {line}" for line in _event_lines(event))
    return lines


def assert_trace(
    events: Iterable[Event],
    expected: Sequence[str | re.Pattern[str] | EllipsisType],
    *,
    partial: bool = False,
) -> None:
    """Compare a trace with what a test expects.

    Args:
      events: the events.
      expected: lines as `trace` gives them; a compiled pattern matches a whole line, `...` any
        number of lines.
      partial: as in `trace`.

    Raises:
      AssertionError: they differ; the message holds both, line by line.
    """
    got = trace(events, partial=partial)
    if _matches_trace(got, list(expected)):
        return
    wanted = [_describe_line(line) for line in expected]
    diff = "\n".join(difflib.ndiff(wanted, got))
    raise AssertionError(f"the trace differs ('-' expected, '+' happened):\n{diff}")


def final_text(events: Iterable[Event]) -> str:
    """Return the text of the last final response with text, or an empty string."""
    text = ""
    for event in events:
        if not event.partial and event.is_final_response():
            text = _event_text(event) or text
    return text


def tool_calls(events: Iterable[Event]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls in complete events, in order, as pairs of name and arguments."""
    return [
        (call.name or "", call.args or {})
        for event in events
        if not event.partial
        for call in event.get_function_calls()
    ]


def _event_text(event: Event) -> str:
    parts = event.content.parts if event.content is not None else None
    return "".join(part.text for part in parts or [] if part.text and not part.thought)


def _event_lines(event: Event) -> list[str]:
    parts = event.content.parts if event.content is not None else None
    lines = [line for part in parts or [] if (line := _part_line(part))]
    if event.error_code or event.error_message:
        lines.append(f"[error {event.error_code}: {event.error_message}]")
    if event.actions.transfer_to_agent:
        lines.append(f"[transfer to {event.actions.transfer_to_agent}]")
    effects = [(name, getattr(event.actions, name)) for name in _EFFECTS]
    lines += [f"[{n}]" if value is True else f"[{n} {value}]" for n, value in effects if value]
    return lines


def _part_line(part: types.Part) -> str | None:
    if part.function_call is not None:
        args = ", ".join(f"{k}={v!r}" for k, v in (part.function_call.args or {}).items())
        return f"{part.function_call.name}({args})"
    if part.function_response is not None:
        return f"{part.function_response.name} -> {part.function_response.response}"
    if part.executable_code is not None:
        return f"[code] {part.executable_code.code}"
    if part.code_execution_result is not None:
        result = part.code_execution_result
        outcome = result.outcome.value if result.outcome is not None else None
        return f"[{outcome}] {result.output}"
    if part.inline_data is not None:
        return f"[{part.inline_data.mime_type}, {len(part.inline_data.data or b'')} bytes]"
    if part.text:
        return f"[thought] {part.text}" if part.thought else part.text
    return None


def _matches_trace(got: list[str], expected: list[Any]) -> bool:
    """Match lines against lines, patterns and `...`, which stands for any number of lines."""
    reachable: set[int] = {0}
    for wanted in expected:
        if wanted is ...:
            reachable = set(range(min(reachable), len(got) + 1)) if reachable else set[int]()
            continue
        reachable = {at + 1 for at in reachable if at < len(got) and _line_matches(got[at], wanted)}
    return len(got) in reachable


def _line_matches(line: str, wanted: str | re.Pattern[str]) -> bool:
    return line == wanted if isinstance(wanted, str) else wanted.fullmatch(line) is not None


def _describe_line(wanted: str | re.Pattern[str] | EllipsisType) -> str:
    if isinstance(wanted, str):
        return wanted
    return "..." if isinstance(wanted, EllipsisType) else f"re: {wanted.pattern}"
