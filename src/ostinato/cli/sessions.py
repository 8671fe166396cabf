"""The command `ostinato sessions`: list, show, export, import and delete what a store holds."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.cells import cell_len

from .._clock import now
from .._private_files import create_private_file
from ..hosting.places import make_folder, traces_file
from ..hosting.store_address import StoreAddress, parse_store
from ..hosting.stores import Store, open_artifacts, open_store
from ..server.names import check_owner
from ..sessions.session import Session
from ..telemetry.span_store import SqliteSpanStore
from .cli_error import USAGE, CliError
from .escape import label
from .printer import Printer
from .screen import Screen, may_delete
from .session_file import read_session, store_session
from .session_index import Entry, existing_store, find_session, list_entries, list_stuck
from .shorten import as_json, safe


def main(args: argparse.Namespace) -> int:
    """Run the verb that was asked for; return the exit code."""
    address = parse_store(args.db)
    if args.verb == "import":
        return asyncio.run(_import_session(args, address))
    if args.verb == "list" and args.limit < 1:
        raise CliError(f"--limit has to be 1 or more, not {args.limit}.", USAGE)
    return asyncio.run(_run_verb(args, address))


async def _run_verb(args: argparse.Namespace, address: StoreAddress) -> int:
    async with existing_store(address) as store:
        if args.verb == "list":
            return await (_list_stuck if args.stuck else _list_sessions)(args, store)
        entry = await find_session(store, address, args.app, args.user, args.id)
        if args.verb == "delete":
            return await _delete_session(args, store, address, entry)
        session = await _load_session(store, entry)
        return (
            _show_session(args, session) if args.verb == "show" else _export_session(args, session)
        )


async def _list_sessions(args: argparse.Namespace, store: Store) -> int:
    entries, more = await list_entries(store, args.app, args.user, args.limit)
    screen = Screen()
    if not entries:
        screen.line(("No sessions found.", "dim"))
        return 0
    rows = [
        (safe(e.id), safe(e.app), safe(e.user), _format_time(e.updated), str(e.events))
        for e in entries
    ]
    titles = ("SESSION", "APP", "USER", "UPDATED", "EVENTS")
    _write_table(screen, titles, rows, numbers=True)
    if more:
        print(
            f"These are the newest {args.limit}; there are more. Narrow the list with --app or "
            "--user, or raise --limit.",
            file=sys.stderr,
        )
    return 0


async def _list_stuck(args: argparse.Namespace, store: Store) -> int:
    leases = await list_stuck(store, args.app, args.user)
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
    _write_table(screen, titles, rows)
    return 0


def _write_table(
    screen: Screen,
    titles: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    numbers: bool = False,
) -> None:
    """Write rows under titles; a last column of numbers is right-aligned."""
    right = len(titles) - 1 if numbers else None
    widths = [
        max(cell_len(row[column]) for row in [titles, *rows]) for column in range(len(titles))
    ]
    screen.line(*((_pad_cell(t, widths[c], c == right), "dim") for c, t in enumerate(titles)))
    styles = ("bold", "", "", "dim", "", "")
    for row in rows:
        screen.line(*((_pad_cell(t, widths[c], c == right), styles[c]) for c, t in enumerate(row)))


def _pad_cell(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return f"{space}{text}" if right else f"{text}{space}  "


def _format_time(seconds: float) -> str:
    """Return a local time; a time of today without its date."""
    moment, today = datetime.fromtimestamp(seconds), datetime.fromtimestamp(now())
    if moment.date() == today.date():
        return moment.strftime("today %H:%M")
    return moment.strftime("%Y-%m-%d %H:%M")


async def _load_session(store: Store, entry: Entry) -> Session:
    session = await store.get_session(app_name=entry.app, user_id=entry.user, session_id=entry.id)
    if session is None:
        raise CliError(f"Session {entry.id} was deleted just now.")
    return session


def _show_session(args: argparse.Namespace, session: Session) -> int:
    screen = Screen()
    printer = Printer(screen, args.verbose)
    printer.note(
        (session.id, "bold"),
        (
            f"  app {session.app_name}, user {session.user_id}, {len(session.events)} events, "
            f"updated {_format_time(session.last_update_time)}",
            "dim",
        ),
    )
    for event in session.events:
        printer.event(event)
    printer.end_turn()
    if session.state:
        printer.section(("State", "bold"))
        for key, value in sorted(session.state.items()):
            printer.note((f"  {label(key)} = ", "dim"), as_json(value))
    return 0


def _export_session(args: argparse.Namespace, session: Session) -> int:
    text = session.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"
    if args.file is None:
        sys.stdout.write(text)
    else:
        try:
            create_private_file(args.file)
            Path(args.file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CliError(f"{args.file} cannot be written: {error.strerror}.") from error
        print(f"Wrote session {session.id} to {args.file}.", file=sys.stderr)
    return 0


async def _import_session(args: argparse.Namespace, address: StoreAddress) -> int:
    session = read_session(args.file)
    check_owner("session id", args.as_id or session.id)
    make_folder(address.find_places())
    store = open_store(address)
    try:
        await store_session(store, session, args.as_id or session.id)
    finally:
        await store.close()
    print(
        f"Imported session {args.as_id or session.id} of app {session.app_name}, user "
        f"{session.user_id}: {len(session.events)} events."
    )
    return 0


async def _delete_session(
    args: argparse.Namespace, store: Store, address: StoreAddress, entry: Entry
) -> int:
    name = f"session {entry.id} (app {entry.app}, user {entry.user}, {entry.events} events)"
    if not may_delete(f"Delete {name}?", args.yes):
        print("Nothing was deleted.")
        return 0
    await _delete_files(args, address, entry)
    await store.delete_session(app_name=entry.app, user_id=entry.user, session_id=entry.id)
    print(f"Deleted {name}.")
    return 0


async def _delete_files(args: argparse.Namespace, address: StoreAddress, entry: Entry) -> None:
    """Delete the artifacts and the spans of a session."""
    names = {"app_name": entry.app, "user_id": entry.user, "session_id": entry.id}
    artifacts = open_artifacts(args.artifacts, address.find_places())
    for key in await artifacts.list_artifact_keys(**names):
        if not key.startswith("user:"):
            await artifacts.delete_artifact(**names, filename=key)
    traces = traces_file(args.traces, address.find_places())
    if traces is not None and traces.is_file():
        spans = SqliteSpanStore(traces)
        await spans.forget(*names.values())
        await spans.close()
