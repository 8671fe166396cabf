"""Command-line arguments that several commands share: stores, filters, logging."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..hosting.log_setup import LEVELS
from ..hosting.places import DEFAULT_DB

DB_VARIABLE = "OSTINATO_DB"

_DB_HELP = (
    "SQLite file or URL of the session store: postgresql://, mysql:// or sqlite:///{more}. Set "
    f"{DB_VARIABLE} instead to hide a password from other users of the machine "
    f"(default: ${DB_VARIABLE}, else {DEFAULT_DB})"
)


def default_db() -> str:
    """Return the store that a command uses if `--db` is not given."""
    return os.environ.get(DB_VARIABLE) or DEFAULT_DB


def add_db(group: Any, *names: str, more: str = "") -> None:
    """Add `--db`.

    Args:
      group: the command's parser, or a group of its arguments.
      names: further names of the option.
      more: further kinds of stores, for the help.
    """
    group.add_argument("--db", *names, metavar="DB", dest="db", help=_DB_HELP.format(more=more))


def add_filters(group: Any) -> None:
    """Add `--app` and `--user`, which narrow a search for sessions."""
    group.add_argument("--app", metavar="NAME", help="only sessions of this app")
    group.add_argument("--user", metavar="ID", help="only sessions of this user")


def add_traces(group: Any) -> None:
    """Add `--traces`."""
    group.add_argument(
        "--traces",
        metavar="PATH",
        help="SQLite file for spans, or off (default: traces.db beside the SQLite file of the "
        "sessions, else in .ostinato)",
    )


def add_artifacts(group: Any) -> None:
    """Add `--artifacts`."""
    group.add_argument(
        "--artifacts",
        "--artifact-service-uri",
        "--artifact_service_uri",
        metavar="PLACE",
        help="folder, gs://BUCKET or memory:// (default: beside the sessions)",
    )


def add_memory(group: Any) -> None:
    """Add `--memory`."""
    group.add_argument(
        "--memory",
        "--memory-service-uri",
        "--memory_service_uri",
        metavar="PLACE",
        help="SQLite file of the memories, agentengine://ID of Vertex AI, or memory:// "
        "(default: beside the sessions)",
    )


def add_log(command: argparse.ArgumentParser) -> None:
    """Add `--log-level` and `--log-format`."""
    log = command.add_argument_group("log")
    log.add_argument(
        "--log-level",
        "--log_level",
        metavar="LEVEL",
        type=str.lower,
        choices=LEVELS,
        default="info",
        help=f"{', '.join(LEVELS[:-1])} or {LEVELS[-1]} (default: info)",
    )
    log.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="text for people, json for one object per line (default: text)",
    )


def add_policy(command: argparse.ArgumentParser) -> None:
    """Add `--policy`."""
    command.add_argument(
        "--policy",
        metavar="FILE",
        help="YAML file of rules that allow, ask about or deny tool calls, beside those of the app",
    )


def add_allow_code(command: argparse.ArgumentParser) -> None:
    """Add the option that lets YAML files name the code of further modules."""
    command.add_argument(
        "--allow-code-from",
        metavar="NAME",
        action="append",
        default=[],
        help="let YAML files use the code of this module and its submodules, or this name of "
        "Ostinato, such as ostinato.tools.ExecuteBashTool",
    )
