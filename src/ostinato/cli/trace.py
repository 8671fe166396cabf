"""`ostinato trace`: a session's runs as a waterfall in the terminal, from the spans stored beside
it.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from ..hosting.places import places_of
from ..telemetry.recorder import SpanRecord
from ..telemetry.span_store import SqliteSpanStore
from .failure import CliError
from .screen import Screen
from .session_index import Entry, find_session
from .waterfall import Row, waterfall

_BAR = 32


def main(args: argparse.Namespace) -> int:
    """Print the waterfall; returns 0."""
    entry = find_session(Path(args.db), args.app, args.user, args.id)
    traces = places_of(args.db).traces
    if not traces.is_file():
        raise CliError(
            "No spans are kept beside these sessions. `ostinato run`, `web` and `serve` keep them; "
            "runs of other programs do where they install a SqliteSpanStore."
        )
    spans = asyncio.run(_read(traces, entry, args.invocation))
    if not spans:
        raise CliError(f"No spans are kept of session {entry.id!r}.")
    _print(Screen(), spans)
    return 0


async def _read(db: Path, entry: Entry, invocation: str | None) -> list[SpanRecord]:
    store = SqliteSpanStore(db)
    try:
        return await store.of_session(entry.app, entry.user, entry.id, invocation_id=invocation)
    finally:
        await store.close()


def _print(screen: Screen, spans: Sequence[SpanRecord]) -> None:
    for number, (root, rows) in enumerate(waterfall(spans)):
        if number:
            screen.line()
        screen.line((f"invocation {root.invocation_id or '?'}", "bold"))
        names = max(2 * row.depth + len(row.span.name) for row in rows)
        for row in rows:
            _line(screen, row, names)


def _line(screen: Screen, row: Row, width: int) -> None:
    before = round(row.offset * _BAR)
    length = max(1, round(row.share * _BAR))
    bar = (" " * before + "━" * length)[:_BAR].ljust(_BAR)
    failed = row.span.error is not None
    open_ = row.span.end is None
    name = f"{'  ' * row.depth}{row.span.name}".ljust(width)
    style = "red" if failed else "yellow" if open_ else "cyan"
    screen.line((name, ""), "  ", (bar, style), "  ", f"{row.took:>9}", "  ", (row.note, "dim"))
