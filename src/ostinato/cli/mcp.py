"""The command `ostinato mcp`: serves agents as MCP tools on standard input and output."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from .._optional import need
from ..hosting.log_setup import log_to_stderr
from ..server.settings import ServerSettings


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    need("starlette", extra="server")
    settings = ServerSettings(
        agents=Path(args.path),
        db=args.db,
        page=False,
        allow_code_from=tuple(args.allow_code_from),
    )
    with log_to_stderr("warning", "text"):
        return import_module("ostinato.server.mcp.transports").serve_stdio(settings)
