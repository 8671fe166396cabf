"""The arguments of `ostinato serve` and `ostinato web`. Called by parser."""

from __future__ import annotations

import argparse
from typing import Any

from ..hosting.places import DEFAULT_DB
from .file_options import add_allow_code

_SERVE_EXAMPLES = """\
FOLDER holds one folder per app, each with agent.py, __init__.py or root_agent.yaml; or it
is the folder of one app.
The token comes from OSTINATO_TOKEN where --token is not given: other users of the machine can read
a command line.

examples:
  ostinato serve agents                                     http://127.0.0.1:8000, one SQLite file
  ostinato serve agents --db postgresql+asyncpg://user@host/db --workers 4
  OSTINATO_TOKEN=... ostinato serve agents --host 0.0.0.0   for others, who have to know the token

exit codes: 0 it was stopped, 1 it failed, 2 wrong usage
"""


def add_serve(commands: Any) -> None:
    """Add both commands."""
    serve = commands.add_parser(
        "serve",
        help="serve agents over HTTP",
        description="Serve the agents of a folder over HTTP: REST, server-sent events, OpenAPI.",
        epilog=_SERVE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    web = commands.add_parser(
        "web",
        help="serve agents with a page for their developer",
        description="Serve the agents of a folder to their developer: loaded again when they "
        "change, with what is wrong with them, and a page.",
        epilog=_SERVE_EXAMPLES.replace("ostinato serve", "ostinato web"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for command, reload in ((serve, False), (web, True)):
        _add_place(command)
        _add_stores(command)
        _add_limits(command)
        command.add_argument(
            "--reload",
            "--reload_agents",
            action=argparse.BooleanOptionalAction,
            default=reload,
            help=f"load an app again when its files change (default: {'yes' if reload else 'no'})",
        )
        command.add_argument(
            "--contents",
            action=argparse.BooleanOptionalAction,
            default=reload,
            help="keep what exactly was sent to models, beside the sessions "
            f"(default: {'yes' if reload else 'no'})",
        )
        add_allow_code(command)
        command.add_argument(
            "--ui-dir", metavar="FOLDER", help="serve the built page of this folder at /dev-ui/"
        )


def add_mcp(commands: Any) -> None:
    """Add the command `mcp`."""
    mcp = commands.add_parser(
        "mcp",
        help="offer agents as the tools of an MCP server",
        description="Offer the agents of a folder as the tools of an MCP server on standard input "
        "and output. `ostinato serve` offers them at /mcp.",
    )
    mcp.add_argument("path", metavar="FOLDER", nargs="?", default=".", help="the agents")
    add_allow_code(mcp)
    mcp.add_argument(
        "--db", default=DEFAULT_DB, help=f"SQLite file, URL or memory:// (default: {DEFAULT_DB})"
    )


def _add_place(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="FOLDER", nargs="?", default=".", help="the agents")
    who = command.add_argument_group("address and access")
    who.add_argument("--host", default="127.0.0.1", help="address to bind (default: 127.0.0.1)")
    who.add_argument("--port", type=int, default=8000, help="0 for a free one (default: 8000)")
    who.add_argument("--url-prefix", "--url_prefix", metavar="PATH", default="", help="such as /ai")
    who.add_argument("--token", help="what clients send as Authorization: Bearer ...")
    who.add_argument(
        "--allow-origin",
        "--allow_origins",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="origin of pages that may call from elsewhere; * or regex:PATTERN for more",
    )
    who.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name under which the server may be called, such as behind a proxy",
    )


def _add_stores(command: argparse.ArgumentParser) -> None:
    stores = command.add_argument_group("stores")
    stores.add_argument(
        "--db",
        "--session-service-uri",
        "--session_service_uri",
        metavar="DB",
        default=DEFAULT_DB,
        help="SQLite file, URL of a database, agentengine://ID of Vertex AI, or memory:// "
        f"(default: {DEFAULT_DB})",
    )
    stores.add_argument(
        "--artifacts",
        "--artifact-service-uri",
        "--artifact_service_uri",
        metavar="PLACE",
        help="folder, gs://BUCKET or memory:// (default: beside the sessions)",
    )
    stores.add_argument(
        "--memory",
        "--memory-service-uri",
        "--memory_service_uri",
        metavar="PLACE",
        help="SQLite file of the memories, agentengine://ID of Vertex AI, or memory:// "
        "(default: beside the sessions)",
    )


def _add_limits(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("processes and limits")
    limits.add_argument("--workers", metavar="N", type=int, default=1, help="how many (default: 1)")
    limits.add_argument(
        "--grace",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="how long what runs may go on after SIGTERM (default: 30)",
    )
    limits.add_argument(
        "--lease",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="others go on with what it ran, so long after it was last heard of (default: 10)",
    )
    limits.add_argument(
        "--max-body",
        metavar="BYTES",
        type=int,
        default=32 * 1024 * 1024,
        help="largest body, with files in it (default: 33554432)",
    )
    limits.add_argument(
        "--rate-limit", metavar="N", type=int, help="requests per minute and address"
    )
    limits.add_argument(
        "--log-level",
        "--log_level",
        metavar="LEVEL",
        type=str.lower,
        choices=("debug", "info", "warning", "error", "critical"),
        default="info",
        help="debug, info, warning, error or critical (default: info)",
    )
