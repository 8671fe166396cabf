"""The command `ostinato erase`: erase everything that is stored of a user."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict
from pathlib import Path

from ..hosting.erasure import ErasureReport, erase_user
from ..hosting.store_address import parse_store
from ..server.server_services import Services
from ..server.settings import ServerSettings
from ..sessions.base_session_service import check_name
from .cli_error import CliError
from .screen import Screen, may_delete
from .session_index import check_existing


def main(args: argparse.Namespace) -> int:
    """Ask for confirmation, erase, and print the counts; return the exit code."""
    check_name("user id", args.user)
    address = parse_store(args.db)
    check_existing(address)
    where = f"user {args.user}" + (f" of app {args.app}" if args.app else " of all apps")
    if not may_delete(f"Erase everything of {where} in {address.shown}?", args.yes):
        print("Nothing was erased.")
        return 0
    report = asyncio.run(_erase_user(args))
    screen = Screen()
    screen.line((f"Erased {where}:", "bold"))
    for name, count in asdict(report).items():
        if isinstance(count, int):
            screen.line((f"{count:>8}", ""), f" {name}")
    screen.line(("Write-ahead logs and backups may keep the data for a while.", "dim"))
    if not report.not_erased:
        return 0
    raise CliError(
        f"{', '.join(report.not_erased)} cannot delete a user's data"
        + (": what it keeps is still there." if args.app else " without --app: see there.")
    )


async def _erase_user(args: argparse.Namespace) -> ErasureReport:
    settings = ServerSettings(
        agents=Path(),
        db=args.db,
        artifacts=args.artifacts,
        memory=args.memory,
        traces=args.traces,
    )
    services = Services.from_settings(settings)
    try:
        return await erase_user(services, args.app, args.user)
    finally:
        await services.close()
