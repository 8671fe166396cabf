"""The command `ostinato mcp`: agents as the tools of an MCP server on standard input and output."""

from __future__ import annotations

import argparse
import logging
import sys
from importlib import import_module
from pathlib import Path

from .._optional import need
from ..server.settings import ServerSettings


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    need("starlette", extra="server")
    settings = ServerSettings(
        agents=Path(args.path),
        db=args.db,
        page=False,
        allow_code_from=tuple(args.allow_code_from),
    )
    return import_module("ostinato.server.mcp.transports").serve_stdio(settings)
