"""The command `ostinato trace`: the runs of a session as a waterfall of spans."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..hosting.places import traces_file
from ..hosting.store_address import StoreAddress, parse_store
from ..telemetry.recorder import SpanRecord
from ..telemetry.span_store import SqliteSpanStore
from .cli_error import CliError
from .escape import reveal
from .screen import Screen
from .session_index import Entry, existing_store, find_session

_BAR = 32


def main(args: argparse.Namespace) -> int:
    """Print the waterfall; returns 0."""
    address = parse_store(args.db)
    traces = traces_file(args.traces, address.find_places())
    kept = traces is not None and traces.is_file()
    entry, spans = asyncio.run(_read_spans(args, address, traces if kept else None))
    if not kept:
        raise CliError(
            f"No spans are kept in {traces or 'any file (--traces off)'}. `ostinato run`, `web`, "
            "`serve` and `worker` keep those of their own runs on their machine; other programs "
            "do if they install a SqliteSpanStore. Name another file with --traces."
        )
    if not spans:
        raise CliError(
            f"No spans are kept of session {entry.id!r} in {traces}. Each machine keeps those of "
            "its own runs; the newest 100,000."
        )
    _print_waterfall(Screen(), spans)
    return 0


async def _read_spans(
    args: argparse.Namespace, address: StoreAddress, traces: Path | None
) -> tuple[Entry, list[SpanRecord]]:
    async with existing_store(address) as sessions:
        entry = await find_session(sessions, address, args.app, args.user, args.id)
    if traces is None:
        return entry, []
    store = SqliteSpanStore(traces)
    try:
        return entry, await store.of_session(
            entry.app, entry.user, entry.id, invocation_id=args.invocation
        )
    finally:
        await store.close()


def _print_waterfall(screen: Screen, spans: Sequence[SpanRecord]) -> None:
    for number, (root, rows) in enumerate(build_waterfall(spans)):
        if number:
            screen.line()
        screen.line((f"invocation {root.invocation_id or '?'}", "bold"))
        names = max(2 * row.depth + len(reveal(row.span.name)) for row in rows)
        for row in rows:
            _print_row(screen, row, names)


def _print_row(screen: Screen, row: Row, width: int) -> None:
    before = round(row.offset * _BAR)
    length = max(1, round(row.share * _BAR))
    bar = (" " * before + "━" * length)[:_BAR].ljust(_BAR)
    failed = row.span.error is not None
    open_ = row.span.end is None
    name = f"{'  ' * row.depth}{reveal(row.span.name)}".ljust(width)
    style = "red" if failed else "yellow" if open_ else "cyan"
    screen.line(
        (name, ""), "  ", (bar, style), "  ", f"{row.took:>9}", "  ", (reveal(row.note), "dim")
    )


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


def build_waterfall(spans: Sequence[SpanRecord]) -> Iterator[tuple[SpanRecord, list[Row]]]:
    """Yield each root span with its rows, the oldest first."""
    known = {span.id for span in spans}
    below: dict[str | None, list[SpanRecord]] = {}
    for span in sorted(spans, key=lambda span: span.start):
        below.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
    for root in below.get(None, ()):
        tree = list(_walk_tree(root, below, 0))
        last = max((span.end or span.start) for span, _ in tree)
        whole = max(last - root.start, 1e-9)
        yield root, [_make_row(span, depth, root.start, whole) for span, depth in tree]


def _walk_tree(
    span: SpanRecord, below: dict[str | None, list[SpanRecord]], depth: int
) -> Iterator[tuple[SpanRecord, int]]:
    yield span, depth
    for child in below.get(span.id, ()):
        yield from _walk_tree(child, below, depth + 1)


def _make_row(span: SpanRecord, depth: int, start: float, whole: float) -> Row:
    seconds = (span.end or span.start) - span.start
    took = "open" if span.end is None else _format_duration(seconds)
    return Row(
        span, depth, (span.start - start) / whole, seconds / whole, took, _describe_outcome(span)
    )


def _format_duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.2f} s"


def _describe_outcome(span: SpanRecord) -> str:
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
