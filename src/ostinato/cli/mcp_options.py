"""The command-line arguments of `ostinato mcp list` and `ostinato mcp call`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

ACTIONS = ("list", "call")
"""Words after `mcp` that look at another server, rather than name a folder with agents."""


def build_client_parser() -> argparse.ArgumentParser:
    """Return the parser of both commands; the server's command is split off before."""
    parser = argparse.ArgumentParser(
        prog="ostinato mcp",
        description="Look at an MCP server. Agents are offered by `ostinato mcp FOLDER`; a folder "
        "called list or call is named ./list.",
        epilog="examples:\n  ostinato mcp list -- npx -y @modelcontextprotocol/server-memory\n"
        "  ostinato mcp list --url https://shop.example/mcp --header Authorization='Bearer ...'\n"
        "  ostinato mcp call read_graph --file .mcp.json --server memory\n"
        "  ostinato mcp call add a=1 b=2 -- python server.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="print tools, resources and prompts")
    calling = actions.add_parser("call", help="call a tool and print its result")
    calling.add_argument("tool", metavar="TOOL", help="the server's name of the tool")
    calling.add_argument(
        "argument",
        metavar="ARGUMENT",
        nargs="*",
        help="name=value, where value is JSON or else a text; or one JSON object",
    )
    for one in (listing, calling):
        one.add_argument("--url", help="address of a server over HTTP")
        one.add_argument("--sse", action="store_true", help="the address speaks the older SSE")
        one.add_argument("--file", help="a file with mcpServers, such as .mcp.json")
        one.add_argument("--server", metavar="NAME", help="which server of the file")
        one.add_argument(
            "--header", metavar="NAME=VALUE", action="append", default=[], help="sent over HTTP"
        )
        one.add_argument(
            "--timeout", type=float, default=60.0, help="seconds to connect (default: 60)"
        )
    return parser


def parse_client_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse `mcp list ...` or `mcp call ...`; exit with code 2 if it is wrong.

    Args:
      argv: the arguments after `mcp`.
    """
    words = list(argv)
    command: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    parser = build_client_parser()
    args, rest = parser.parse_known_args(words)
    # argparse reads all ARGUMENTs at once, those before the options, and misses those behind them.
    if args.action == "call" and not any(one.startswith("-") for one in rest):
        args.argument += rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    args.command, args.server_command = "mcp list", command
    return args
