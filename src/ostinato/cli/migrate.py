"""The command `ostinato migrate`: copy the sessions of one SQL database into another."""

from __future__ import annotations

import argparse
import asyncio

from ..errors import AlreadyExistsError
from ..sessions.database_session_service import DatabaseSessionService
from .failure import USAGE, CliError
from .screen import Screen


def main(args: argparse.Namespace) -> int:
    """Copy, and tell how many; return the exit code."""
    if args.source == args.target:
        raise CliError("--from and --to name the same database; give a new one to --to.", USAGE)
    copied, present = asyncio.run(_migrate(args.source, args.target))
    there = f"; {present} were there already" if present else ""
    Screen().line((f"{copied} sessions copied{there}.", ""))
    return 0


async def _migrate(source_url: str, target_url: str) -> tuple[int, int]:
    source, target = DatabaseSessionService(source_url), DatabaseSessionService(target_url)
    copied = present = 0
    try:
        for app, user, name in await source.keys():
            session = await source.get_session(app_name=app, user_id=user, session_id=name)
            if session is None:
                continue  # deleted meanwhile
            try:
                await target.take_over(session, await source.initial_state(session))
            except AlreadyExistsError:
                present += 1
            else:
                copied += 1
    finally:
        await source.close()
        await target.close()
    return copied, present
