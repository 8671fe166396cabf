"""The command-line arguments of `ostinato serve`, `web` and `mcp`."""

from __future__ import annotations

import argparse
from typing import Any

from .store_options import (
    add_allow_code,
    add_artifacts,
    add_db,
    add_log,
    add_memory,
    add_policy,
    add_traces,
)

_FURTHER_STORES = ", agentengine://ID of Vertex AI, memory://"

_SERVE_EXAMPLES = """\
FOLDER holds one folder per app, each with agent.py, __init__.py or root_agent.yaml; or it is the
folder of a single app.
Prefer --token-file or the variable OSTINATO_TOKEN (several tokens separated by commas) to --token:
other users of the machine can read the command line.

examples:
  ostinato serve agents                                     http://127.0.0.1:8000, one SQLite file
  ostinato serve agents --db postgresql://user@host/db --workers 4
  OSTINATO_TOKEN=... ostinato serve agents --host 0.0.0.0   for other machines, with a token

exit codes: 0 stopped, 1 failed, 2 wrong usage
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
        description="Serve the agents of a folder to their developer, with a page that shows runs "
        "and errors. Agents are reloaded when their files change.",
        epilog=_SERVE_EXAMPLES.replace("ostinato serve", "ostinato web"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for command, reload in ((serve, False), (web, True)):
        _add_place(command, developer=reload)
        _add_stores(command)
        _add_limits(command)
        _add_observation(command)
        command.add_argument(
            "--reload",
            "--reload_agents",
            action=argparse.BooleanOptionalAction,
            default=reload,
            help=f"reload an app when its files change (default: {'yes' if reload else 'no'})",
        )
        command.add_argument(
            "--contents",
            action=argparse.BooleanOptionalAction,
            default=reload,
            help="store the exact model requests beside the sessions "
            f"(default: {'yes' if reload else 'no'})",
        )
        add_allow_code(command)
        add_policy(command)
        command.add_argument(
            "--ui-dir", metavar="FOLDER", help="serve the built page of this folder at /dev-ui/"
        )


def add_mcp(commands: Any) -> None:
    """Add the command `mcp`."""
    mcp = commands.add_parser(
        "mcp",
        help="offer agents as the tools of an MCP server",
        description="Offer the agents of a folder as the tools of an MCP server on standard input "
        "and output. `ostinato serve` offers them at /mcp. `ostinato mcp list` and `ostinato mcp "
        "call` look at another server; see `ostinato mcp list --help`.",
    )
    mcp.add_argument("path", metavar="FOLDER", nargs="?", default=".", help="the agents")
    add_allow_code(mcp)
    add_policy(mcp)
    add_db(mcp, more=_FURTHER_STORES)


def _add_place(command: argparse.ArgumentParser, *, developer: bool) -> None:
    command.add_argument("path", metavar="FOLDER", nargs="?", default=".", help="the agents")
    who = command.add_argument_group("address and access")
    who.add_argument("--host", default="127.0.0.1", help="address to bind (default: 127.0.0.1)")
    who.add_argument("--port", type=int, default=8000, help="0 for a free one (default: 8000)")
    who.add_argument("--url-prefix", "--url_prefix", metavar="PATH", default="", help="such as /ai")
    who.add_argument(
        "--token",
        action="append",
        default=[],
        help="token that clients send as Authorization: Bearer ...; repeat it to accept several "
        "(for rotation)",
    )
    who.add_argument(
        "--token-file",
        metavar="FILE",
        help="a file with one token per line, such as a mounted secret",
    )
    who.add_argument(
        "--trusted-proxies",
        metavar="ADDRESSES",
        action="append",
        default=[],
        help="addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are "
        "trusted, separated by commas",
    )
    who.add_argument(
        "--allow-app-state",
        action=argparse.BooleanOptionalAction,
        default=developer,
        help="let clients write app: state, which all users of an app share "
        f"(default: {'yes' if developer else 'no'})",
    )
    who.add_argument(
        "--allow-origin",
        "--allow_origins",
        metavar="ORIGIN",
        action="append",
        default=[],
        help="origin of other sites' pages that may call the server; * or regex:PATTERN for more",
    )
    who.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a host name that clients may use, for example behind a proxy",
    )


def _add_stores(command: argparse.ArgumentParser) -> None:
    stores = command.add_argument_group("stores")
    add_db(stores, "--session-service-uri", "--session_service_uri", more=_FURTHER_STORES)
    add_artifacts(stores)
    add_memory(stores)
    add_traces(stores)


def _add_limits(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("processes and limits")
    limits.add_argument(
        "--workers", metavar="N", type=int, default=1, help="processes (default: 1)"
    )
    limits.add_argument(
        "--grace",
        metavar="SECONDS",
        type=float,
        default=30.0,
        help="time that runs get to finish after SIGTERM (default: 30)",
    )
    limits.add_argument(
        "--drain-delay",
        metavar="SECONDS",
        type=float,
        default=0.0,
        help="time after SIGTERM during which requests are accepted although /health/ready is "
        "503, so that a proxy can stop sending them (default: 0)",
    )
    limits.add_argument(
        "--lease",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="time after its last heartbeat until others take over its runs (default: 10)",
    )
    limits.add_argument(
        "--max-body",
        metavar="BYTES",
        type=int,
        default=32 * 1024 * 1024,
        help="largest request body, files included (default: 33554432)",
    )
    limits.add_argument(
        "--rate-limit",
        metavar="N",
        type=int,
        help="requests per minute and address (behind a proxy: see --trusted-proxies)",
    )
    limits.add_argument(
        "--max-connections",
        metavar="N",
        type=int,
        default=2000,
        help="open connections of one process (default: 2000)",
    )


def _add_observation(command: argparse.ArgumentParser) -> None:
    add_log(command)
    seen = command.add_argument_group("observation")
    seen.add_argument("--access-log", action="store_true", help="log each request")
    seen.add_argument(
        "--metrics", action="store_true", help="serve /metrics for Prometheus; needs the token"
    )
