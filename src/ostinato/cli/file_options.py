"""The arguments for agents in YAML files: those of `ostinato generate`, and what others share."""

from __future__ import annotations

import argparse
from typing import Any

_GENERATE_EXAMPLES = """\
FILE is the agent's YAML file, or a folder with root_agent.yaml. The program is written with names
relative to the agent's folder where it is written there, which is where it belongs.

examples:
  ostinato generate my_agent --out my_agent/agent.py        from then on the Python file counts
  ostinato generate my_agent/root_agent.yaml                print it
  ostinato generate --schema --out agent.schema.json        the JSON schema of such files

exit codes: 0 it was written, 1 the file describes no agent that can be, 2 wrong usage
"""


def add_allow_code(command: argparse.ArgumentParser) -> None:
    """Add the option that lets YAML files name the code of further modules."""
    command.add_argument(
        "--allow-code-from",
        metavar="MODULE",
        action="append",
        default=[],
        help="let YAML files name code of this module and those below it, besides that of the "
        "agent's own folder and of Ostinato",
    )


def add_generate(commands: Any) -> None:
    """Add the command `generate`."""
    generate = commands.add_parser(
        "generate",
        help="write the Python program of an agent in YAML",
        description="Write the Python program that does what an agent's YAML file describes.",
        epilog=_GENERATE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    generate.add_argument("path", metavar="FILE", nargs="?", help="the agent's file or folder")
    generate.add_argument("--out", metavar="FILE", help="file to write; else it is printed")
    generate.add_argument(
        "--force", action="store_true", help="write over a file that `generate` did not write"
    )
    generate.add_argument(
        "--schema", action="store_true", help="write the JSON schema of agents' files instead"
    )
    add_allow_code(generate)
