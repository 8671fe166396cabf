"""The commands `ostinato serve` and `ostinato web`: agents over HTTP, until a signal ends it."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from importlib import import_module
from pathlib import Path

from .._optional import need
from ..server.settings import ServerSettings
from .failure import USAGE, CliError

_TOKEN = "OSTINATO_TOKEN"
_SMALL = 4 * 1024 * 1024  # bytes of a body that carries no files


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    settings = _settings(args)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    for name in ("ostinato", "uvicorn"):
        logging.getLogger(name).setLevel(settings.log_level.upper())
    for package in ("starlette", "uvicorn"):
        need(package, extra="server")
    page = import_module("ostinato.server.page")
    if settings.page and settings.ui is None and not page.is_built():
        raise CliError(page.HOW_TO_BUILD)
    return import_module("ostinato.server.serving").serve(settings)


def _settings(args: argparse.Namespace) -> ServerSettings:
    for option, value, least in (
        ("--workers", args.workers, 1),
        ("--max-body", args.max_body, 1),
        ("--grace", args.grace, 0),
        ("--port", args.port, 0),
        ("--rate-limit", args.rate_limit, 1),
    ):
        if value is not None and value < least:
            raise CliError(f"{option} has to be {least} or more, not {value}.", USAGE)
    if not args.lease > 0:
        raise CliError(f"--lease has to be more than 0, not {args.lease}.", USAGE)
    return ServerSettings(
        agents=Path(args.path),
        db=args.db,
        artifacts=args.artifacts,
        memory=args.memory,
        host=args.host,
        port=args.port,
        url_prefix=args.url_prefix.rstrip("/"),
        token=args.token or os.environ.get(_TOKEN) or None,
        allow_origins=tuple(args.allow_origin),
        allow_hosts=tuple(args.allow_host),
        reload=args.reload,
        workers=args.workers,
        grace=args.grace,
        lease_seconds=args.lease,
        max_body=min(args.max_body, _SMALL),
        max_upload=args.max_body,
        rate_limit=args.rate_limit,
        log_level=args.log_level,
        contents=args.contents,
        page=args.command == "web",
        ui=Path(args.ui_dir) if args.ui_dir else None,
        allow_code_from=tuple(args.allow_code_from),
    )
