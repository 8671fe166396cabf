"""Events of a session that hold the words of a search, each with the text around the first one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from .._words import asked_words
from ..sessions.log.event_log import EventRecord
from .runs import WireRecord

_AROUND = 60  # characters of a snippet on each side of the word
_DEEPEST = 12  # levels of arguments and results that are read

Kind = Literal["text", "thought", "call", "result", "error"]


class SessionHit(WireRecord):
    """An event that holds words of a search.

    Attributes:
      number: its number in the session's log.
      event_id: its id.
      author: who wrote it.
      kind: where in the event the first word is.
      snippet: the text around that word, on one line.
      start: where the word begins in the snippet, in characters.
      end: where it ends.
    """

    number: int
    event_id: str
    author: str
    kind: Kind
    snippet: str
    start: int
    end: int


def find_hits(
    records: Sequence[EventRecord], first: int, text: str, limit: int
) -> list[SessionHit]:
    """Return the events that hold most of the words, newest first.

    Args:
      records: the events.
      first: the number of the first one.
      text: what was searched for.
      limit: at most so many.
    """
    asked = asked_words(text)
    if not asked or not limit:
        return []
    found: list[tuple[int, int, SessionHit]] = []
    for number in range(first + len(records) - 1, first - 1, -1):
        record = records[number - first]
        raw = record.data.casefold()
        count = sum(word in raw for word in asked)
        if not count or (len(found) >= limit and count <= found[-1][0]):
            continue
        hit = _find_hit(record, number, asked)
        if hit is not None:
            found.append((count, number, hit))
            found.sort(key=lambda one: (-one[0], -one[1]))
            del found[limit:]
    return [hit for _, _, hit in found]


def _find_hit(record: EventRecord, number: int, asked: list[str]) -> SessionHit | None:
    """Return the first word of an event with the text around it; None if only a field has it."""
    for kind, text in _texts_of(record.data):
        folded = text.casefold()
        if len(folded) != len(text):  # the offsets would not fit
            folded = text.lower() if len(text.lower()) == len(text) else text
        places = [(folded.find(word), word) for word in asked]
        start, word = min((one for one in places if one[0] >= 0), default=(-1, ""))
        if start < 0:
            continue
        begin = max(0, start - _AROUND)
        before = ("…" if begin else "") + _flatten(text[begin:start])
        middle = _flatten(text[start : start + len(word)])
        end = start + len(word)
        after = _flatten(text[end : end + _AROUND]) + ("…" if end + _AROUND < len(text) else "")
        return SessionHit(
            number=number,
            event_id=record.id,
            author=record.author,
            kind=kind,
            snippet=before + middle + after,
            start=len(before),
            end=len(before) + len(middle),
        )
    return None


def _flatten(text: str) -> str:
    """Return a text with each line break and tab as one space, so that it keeps its length."""
    return text.translate({10: " ", 13: " ", 9: " "})


def _texts_of(data: str) -> Iterator[tuple[Kind, str]]:
    """Yield the texts of an event, in the order of its parts."""
    try:
        fields: Any = json.loads(data)
        content: dict[str, Any] = fields.get("content") or {}
        for part in content.get("parts") or ():
            yield from _part_texts(part)
        error = " ".join(str(fields[key]) for key in ("errorCode", "errorMessage") if key in fields)
    except (ValueError, TypeError, AttributeError):  # loading the session raises the error
        return
    if error:
        yield "error", error


def _part_texts(part: dict[str, Any]) -> Iterator[tuple[Kind, str]]:
    text = part.get("text")
    if isinstance(text, str):
        yield ("thought" if part.get("thought") else "text"), text
    kinds: tuple[tuple[Kind, str, str], ...] = (
        ("call", "functionCall", "args"),
        ("result", "functionResponse", "response"),
    )
    for kind, key, values in kinds:
        call = part.get(key)
        if isinstance(call, dict):
            named: dict[str, Any] = call  # pyright: ignore[reportUnknownVariableType]
            leaves = _leaves(named.get(values), 0)
            yield kind, " ".join((str(named.get("name") or ""), *leaves))


def _leaves(value: Any, depth: int) -> Iterable[str]:
    """Yield names and values of arguments or of a result."""
    if depth > _DEEPEST or value is None:
        return
    if isinstance(value, dict):
        entries: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        for key, one in entries.items():
            yield f"{key}:"
            yield from _leaves(one, depth + 1)
    elif isinstance(value, list):
        items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
        for one in items:
            yield from _leaves(one, depth + 1)
    else:
        yield value if isinstance(value, str) else json.dumps(value)
