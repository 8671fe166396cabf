"""The command `ostinato sessions`: list, show, export, import and delete what a file holds."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.cells import cell_len

from .._clock import now
from ..artifacts.file_artifact_service import FileArtifactService
from ..hosting.places import Places, make_folder, places_of
from ..sessions.session import Session
from ..sessions.sqlite_session_service import SqliteSessionService
from ..telemetry.span_store import SqliteSpanStore
from .failure import USAGE, CliError
from .printer import Printer
from .screen import Screen
from .session_file import read_session, store_session
from .session_index import Entry, find_session, read_index, read_stuck
from .shorten import as_json, safe


def main(args: argparse.Namespace) -> int:
    """Run the verb that was asked for; return the exit code."""
    places = places_of(args.db)
    if args.verb == "list":
        return _list(args, places)
    if args.verb == "import":
        return asyncio.run(_import(args, places))
    entry = find_session(places.db, args.app, args.user, args.id)
    if args.verb == "delete":
        return _delete(args, places, entry)
    session = asyncio.run(_load(places, entry))
    return _show(args, session) if args.verb == "show" else _export(args, session)


def _list(args: argparse.Namespace, places: Places) -> int:
    if args.stuck:
        return _list_stuck(args, places)
    entries = read_index(places.db, args.app, args.user)
    screen = Screen()
    if not entries:
        screen.line(("No sessions found.", "dim"))
        return 0
    rows = [
        (safe(e.id), safe(e.app), safe(e.user), _when(e.updated), str(e.events)) for e in entries
    ]
    titles = ("SESSION", "APP", "USER", "UPDATED", "EVENTS")
    _table(screen, titles, rows, numbers=True)
    return 0


def _list_stuck(args: argparse.Namespace, places: Places) -> int:
    leases = read_stuck(places.db, args.app, args.user)
    screen = Screen()
    if not leases:
        screen.line(("No invocation is stuck.", "dim"))
        return 0
    rows = [
        (
            safe(lease.place.session_id),
            safe(lease.place.app_name),
            safe(lease.place.user_id),
            safe(lease.invocation_id),
            str(lease.attempts),
            safe(lease.stuck),
        )
        for lease in leases
    ]
    titles = ("SESSION", "APP", "USER", "INVOCATION", "ATTEMPTS", "REASON")
    _table(screen, titles, rows)
    return 0


def _table(
    screen: Screen,
    titles: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    numbers: bool = False,
) -> None:
    """Write rows under titles; the last column at its right edge where it holds numbers."""
    right = len(titles) - 1 if numbers else None
    widths = [
        max(cell_len(row[column]) for row in [titles, *rows]) for column in range(len(titles))
    ]
    screen.line(*((_cell(t, widths[c], c == right), "dim") for c, t in enumerate(titles)))
    styles = ("bold", "", "", "dim", "", "")
    for row in rows:
        screen.line(*((_cell(t, widths[c], c == right), styles[c]) for c, t in enumerate(row)))


def _cell(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return f"{space}{text}" if right else f"{text}{space}  "


def _when(seconds: float) -> str:
    """Return a time as the clock on the wall shows it; the day only where it is not today."""
    moment, today = datetime.fromtimestamp(seconds), datetime.fromtimestamp(now())
    if moment.date() == today.date():
        return moment.strftime("today %H:%M")
    return moment.strftime("%Y-%m-%d %H:%M")


async def _load(places: Places, entry: Entry) -> Session:
    service = SqliteSessionService(places.db)
    try:
        session = await service.get_session(
            app_name=entry.app, user_id=entry.user, session_id=entry.id
        )
    finally:
        await service.close()
    if session is None:
        raise CliError(f"Session {entry.id} was deleted just now.")
    return session


def _show(args: argparse.Namespace, session: Session) -> int:
    screen = Screen()
    printer = Printer(screen, args.verbose)
    printer.note(
        (session.id, "bold"),
        (
            f"  app {session.app_name}, user {session.user_id}, {len(session.events)} events, "
            f"updated {_when(session.last_update_time)}",
            "dim",
        ),
    )
    for event in session.events:
        printer.event(event)
    printer.end_turn()
    if session.state:
        printer.section(("State", "bold"))
        for key, value in sorted(session.state.items()):
            printer.note((f"  {key} = ", "dim"), as_json(value))
    return 0


def _export(args: argparse.Namespace, session: Session) -> int:
    text = session.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"
    if args.file is None:
        sys.stdout.write(text)
    else:
        try:
            Path(args.file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CliError(f"{args.file} cannot be written: {error.strerror}.") from error
        print(f"Wrote session {session.id} to {args.file}.", file=sys.stderr)
    return 0


async def _import(args: argparse.Namespace, places: Places) -> int:
    session = read_session(args.file)
    make_folder(places)
    service = SqliteSessionService(places.db)
    try:
        await store_session(service, session, args.as_id or session.id)
    finally:
        await service.close()
    print(
        f"Imported session {args.as_id or session.id} of app {session.app_name}, user "
        f"{session.user_id}: {len(session.events)} events."
    )
    return 0


def _delete(args: argparse.Namespace, places: Places, entry: Entry) -> int:
    name = f"session {entry.id} (app {entry.app}, user {entry.user}, {entry.events} events)"
    if not args.yes:
        if not sys.stdin.isatty():
            raise CliError(f"Deleting {name} needs --yes where nobody can be asked.", USAGE)
        if input(f"Delete {name}? y / n: ").strip().lower() not in ("y", "yes"):
            print("Kept.")
            return 0
    asyncio.run(_remove(places, entry))
    print(f"Deleted {name}.")
    return 0


async def _remove(places: Places, entry: Entry) -> None:
    """Delete a session, and the artifacts and spans that are its own."""
    names = {"app_name": entry.app, "user_id": entry.user, "session_id": entry.id}
    if places.artifacts.is_dir():
        artifacts = FileArtifactService(places.artifacts)
        for key in await artifacts.list_artifact_keys(**names):
            if not key.startswith("user:"):
                await artifacts.delete_artifact(**names, filename=key)
    service = SqliteSessionService(places.db)
    try:
        await service.delete_session(**names)
    finally:
        await service.close()
    if places.traces.is_file():
        spans = SqliteSpanStore(places.traces)
        await spans.forget(*names.values())
        await spans.close()
