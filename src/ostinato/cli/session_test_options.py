"""The command-line arguments of `ostinato test` and `ostinato conformance`."""

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


def add_conformance(commands: Any) -> None:
    """Add `conformance`."""
    command = commands.add_parser(
        "conformance",
        help="record and test conformance cases",
        description="Record and test cases (category/name/spec.yaml) with the requests that agents "
        "make to models and tools. Needs the extra yaml.",
        epilog="exit codes: 0 passed, 1 a case failed, 2 could not run",
    )
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, words in (
        ("record", "run the cases with the agents' models, and write their recordings"),
        ("test", "play the recordings, and compare requests, events and state"),
    ):
        added = verbs.add_parser(verb, help=words, description=f"{words[0].upper()}{words[1:]}.")
        added.add_argument(
            "folders", metavar="FOLDER", nargs="*", default=["tests"], help="folders of cases"
        )
        added.add_argument(
            "--agents", metavar="FOLDER", default=".", help="folder of the agents (default: .)"
        )
        add_allow_code(added)
