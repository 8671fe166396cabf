"""The command `ostinato migrate`: copies the sessions of one store into another."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ..errors import AlreadyExistsError
from ..hosting.places import make_folder
from ..hosting.store_address import parse_store
from ..hosting.stores import Store, has_database_tables, open_store
from ..sessions.database_session_service import DatabaseSessionService
from ..sessions.session import Session
from .cli_error import USAGE, CliError
from .screen import Screen
from .session_file import SessionThereError, store_session

_PAGE = 500
_SQL = "sqlite+aiosqlite:///"


def main(args: argparse.Namespace) -> int:
    """Copy the sessions and print the counts; return the exit code."""
    source = parse_store(args.source)
    if source.kind == "file" and not Path(source.target).is_file():
        if Path(source.target).is_dir():
            raise CliError(f"{source.shown} is a folder. Name a file with --from.")
        raise CliError(f"There is no file {source.shown} to copy from.")
    if source.target == parse_store(args.target).target:
        raise CliError("--from and --to name the same store; give a new one to --to.", USAGE)
    copied, present = asyncio.run(_copy_sessions(args))
    there = f"; {present} already existed" if present else ""
    Screen().line((f"{copied} sessions copied{there}.", ""))
    return 0


async def _copy_sessions(args: argparse.Namespace) -> tuple[int, int]:
    copied = present = 0
    source = _open_source(args.source)
    target = _open_store(args.target)
    try:
        async for app, user, name in _iterate_keys(source):
            session = await source.get_session(app_name=app, user_id=user, session_id=name)
            if session is None:
                continue  # deleted in the meantime
            if await _copy_session(session, await source.initial_state(session), target):
                copied += 1
            else:
                present += 1
    finally:
        await source.close()
        await target.close()
    return copied, present


def _open_source(db: str) -> Store:
    """Open the source; a SQLite file may have Ostinato's format or that of google-adk."""
    address = parse_store(db)
    if address.kind == "file" and has_database_tables(Path(address.target)):
        return DatabaseSessionService(_SQL + address.target)
    return _open_store(db)


def _open_store(db: str) -> Store:
    """Open a store; the driver in a URL of SQLite asks for a SQL database."""
    address = parse_store(db)
    if address.kind == "file" and db.startswith(_SQL):
        return DatabaseSessionService(_SQL + address.target)
    make_folder(address.find_places())
    return open_store(address)


async def _iterate_keys(store: Store) -> AsyncIterator[tuple[str, str, str]]:
    """Yield app, user and id of each session."""
    if isinstance(store, DatabaseSessionService):
        for key in await store.keys():
            yield key
        return
    token: str | None = None
    while True:
        page = await store.list_sessions(app_name=None, page_size=_PAGE, page_token=token)
        for one in page.sessions:
            yield one.app_name, one.user_id, one.id
        token = page.next_page_token
        if token is None:
            return


async def _copy_session(session: Session, initial: dict[str, Any], target: Store) -> bool:
    """Store a session; return whether it is new in the target."""
    try:
        if isinstance(target, DatabaseSessionService):
            await target.take_over(session, initial)
        else:
            await store_session(target, session, session.id)
    except (AlreadyExistsError, SessionThereError):
        return False
    return True
