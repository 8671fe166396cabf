"""The command-line arguments of `ostinato test`."""

from __future__ import annotations

from typing import Any

from .store_options import add_allow_code


def add_session_tests(commands: Any) -> None:
    """Add `test`."""
    command = commands.add_parser(
        "test",
        help="run recorded sessions as tests",
        description="Run the sessions in tests/*.json beside agents again, with the recorded "
        "answers of the models, and compare the events. Tools run. A file whose name ends with "
        "_xfail.json has to fail.",
        epilog="exit codes: 0 passed, 1 a test failed, 2 could not run",
    )
    command.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=".", help="folder of agents (default: .)"
    )
    command.add_argument(
        "--rebuild", action="store_true", help="ask the models, and write the files anew"
    )
    add_allow_code(command)
