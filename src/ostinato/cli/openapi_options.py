"""The command-line arguments of `ostinato openapi`."""

from __future__ import annotations

import argparse
from typing import Any

_EXAMPLES = """\
SPEC is a file, - for standard input, or an http(s) address. OpenAPI 3.0, 3.1, 3.2 and Swagger 2.0
are read, as JSON or YAML. ARGS is a JSON object of the tool's arguments; `list NAME` shows them.
Other users of the machine can read the command line: $NAME in a header is the value of the
environment variable NAME.

examples:
  ostinato openapi list openapi.json                      list the tools
  ostinato openapi list openapi.json get_pet_by_id        show one with its arguments
  ostinato openapi call openapi.json get_pet_by_id '{"pet_id": 7}'
  ostinato openapi call openapi.json get_pet_by_id '{}' --header 'Authorization: Bearer $TOKEN'
  ostinato openapi call api.yaml ping --base-url http://localhost:8000 --allow-private

exit codes: 0 success, 1 the document or the call failed, 2 wrong usage
"""


def add_openapi(commands: Any) -> None:
    """Add the command."""
    command = commands.add_parser(
        "openapi",
        help="list and call the tools of an OpenAPI document",
        description="List and call the tools that OpenAPIToolset makes of a document.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = command.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the tools, or show one")
    listing.add_argument("spec", metavar="SPEC", help="the document")
    listing.add_argument("tool", metavar="NAME", nargs="?", help="the tool to show")
    listing.add_argument("--json", action="store_true", help="print JSON")
    call = actions.add_parser("call", help="call a tool and print its result as JSON")
    call.add_argument("spec", metavar="SPEC", help="the document")
    call.add_argument("tool", metavar="NAME", help="the tool to call")
    call.add_argument("args", metavar="ARGS", nargs="?", default="{}", help="its arguments, JSON")
    call.add_argument(
        "--header", action="append", default=[], metavar="'NAME: VALUE'", help="a header to send"
    )
    for action in (listing, call):
        action.add_argument("--base-url", metavar="URL", help="where the document's API is")
        action.add_argument(
            "--strict", action="store_true", help="fail if an operation cannot be read"
        )
        action.add_argument(
            "--allow-private",
            action="store_true",
            help="permit requests to addresses that are not public, such as localhost",
        )
