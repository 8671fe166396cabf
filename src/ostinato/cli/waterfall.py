"""A waterfall of spans: trees of what ran within what, with their share of the time. `ostinato
trace` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..telemetry.recorder import SpanRecord


@dataclass(frozen=True, slots=True)
class Row:
    """A span in its waterfall.

    Attributes:
      span: the span.
      depth: how many spans it lies in.
      offset, share: where it begins and how long it takes, as parts of the whole.
      took: its length for people.
      note: tokens, the error, or that it never ended.
    """

    span: SpanRecord
    depth: int
    offset: float
    share: float
    took: str
    note: str


def waterfall(spans: Sequence[SpanRecord]) -> Iterator[tuple[SpanRecord, list[Row]]]:
    """Yield each root span with its rows, the oldest first."""
    known = {span.id for span in spans}
    below: dict[str | None, list[SpanRecord]] = {}
    for span in sorted(spans, key=lambda span: span.start):
        below.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
    for root in below.get(None, ()):
        tree = list(_tree(root, below, 0))
        last = max((span.end or span.start) for span, _ in tree)
        whole = max(last - root.start, 1e-9)
        yield root, [_row(span, depth, root.start, whole) for span, depth in tree]


def _tree(
    span: SpanRecord, below: dict[str | None, list[SpanRecord]], depth: int
) -> Iterator[tuple[SpanRecord, int]]:
    yield span, depth
    for child in below.get(span.id, ()):
        yield from _tree(child, below, depth + 1)


def _row(span: SpanRecord, depth: int, start: float, whole: float) -> Row:
    seconds = (span.end or span.start) - span.start
    took = "open" if span.end is None else _duration(seconds)
    return Row(span, depth, (span.start - start) / whole, seconds / whole, took, _note(span))


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s"


def _note(span: SpanRecord) -> str:
    if span.error is not None:
        return span.error
    if span.end is None:
        return "running, or the process ended"
    tokens = [
        f"{span.attributes[key]:,} {word}"
        for key, word in (
            ("gen_ai.usage.input_tokens", "in"),
            ("gen_ai.usage.cache_read.input_tokens", "cached"),
            ("gen_ai.usage.output_tokens", "out"),
        )
        if key in span.attributes
    ]
    return ", ".join(tokens)
