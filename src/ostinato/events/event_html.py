"""Events and runs as HTML, for notebooks. Every text is escaped; no part of it becomes markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .. import types
    from .event import Event

LONGEST = 2000
"""Characters of a text that are shown."""

_TABLE = '<table style="text-align:left;border-collapse:collapse">'
_CELL = '<td style="text-align:left;vertical-align:top;padding:2px 8px;white-space:pre-wrap">'


def render_event(event: Event) -> str:
    """Return an event as an HTML table of one row."""
    return render_events([event], "")


def render_events(events: Iterable[Event], title: str) -> str:
    """Return events as an HTML table with a row for each.

    Args:
      events: the events, in order.
      title: a line above the table; empty for none.
    """
    rows = "".join(_render_row(event) for event in events)
    above = f"<p>{clean_text(title)}</p>" if title else ""
    return f"{above}{_TABLE}{rows}</table>"


def clean_text(text: str) -> str:
    """Return a text for HTML: shortened, escaped, and with hidden characters made visible."""
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
    return escape("".join(map(_make_visible, shown)))


def _make_visible(character: str) -> str:
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return f"\\u{ord(character):04x}" if hidden and character not in "\n\t" else character


def _render_row(event: Event) -> str:
    parts = (event.content.parts if event.content is not None else None) or []
    lines = [*map(_describe_part, parts), *_describe_effects(event)]
    author = f"<b>{clean_text(event.author or '?')}</b>"
    inside = "<br>".join(lines) or "<i>empty</i>"
    return f"<tr>{_CELL}{author}</td>{_CELL}{inside}</td></tr>"


def _describe_part(part: types.Part) -> str:
    if part.function_call is not None:
        return (
            f"→ {clean_text(f'{part.function_call.name}({_list_args(part.function_call.args)})')}"
        )
    if part.function_response is not None:
        answer = part.function_response
        return f"← {clean_text(f'{answer.name}: {answer.response!r}')}"
    if part.inline_data is not None:
        data = part.inline_data
        return f"[{clean_text(data.mime_type or 'data')}, {len(data.data or b''):,} bytes]"
    if part.file_data is not None:
        return f"[{clean_text(part.file_data.file_uri or 'file')}]"
    if part.text is not None:
        text = clean_text(part.text)
        return f"<i>{text}</i>" if part.thought else text
    if part.executable_code is not None:
        return f"<code>{clean_text(part.executable_code.code or '')}</code>"
    if part.code_execution_result is not None:
        return f"<code>{clean_text(part.code_execution_result.output or '')}</code>"
    return "<i>other</i>"


def _list_args(args: dict[str, Any] | None) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in (args or {}).items())


def _describe_effects(event: Event) -> Iterator[str]:
    if event.error_code or event.error_message:
        yield f"<b>{clean_text(f'{event.error_code}: {event.error_message}')}</b>"
    if event.output is not None:
        yield f"output: {clean_text(repr(event.output))}"
    if event.actions.transfer_to_agent:
        yield f"transfer to {clean_text(event.actions.transfer_to_agent)}"
    if event.actions.state_delta:
        yield f"state: {clean_text(repr(event.actions.state_delta))}"
