"""The command `ostinato generate`: the Python program of an agent in YAML, or the files' schema."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..agent_source.program import MARK, program_of
from ..agents.agent_config import build_json_schema
from ..agents.config_agent_utils import from_config
from ..errors import AgentConfigError
from ..hosting.loader import AGENT_FILE
from .cli_error import USAGE, CliError


def main(args: argparse.Namespace) -> int:
    """Write the program or the schema; return the exit code.

    Raises:
      CliError: there is no such file, it describes no agent, or another file would be lost.
    """
    if args.schema:
        return _write_output(json.dumps(build_json_schema(), indent=2) + "\n", args)
    if args.path is None:
        raise CliError("Name the agent's YAML file or its folder, or give --schema.", USAGE)
    path = Path(args.path).expanduser()
    file = path / AGENT_FILE if path.is_dir() else path
    if not file.is_file():
        raise CliError(f"There is no file {file}.", USAGE)
    try:
        program = program_of(file, args.out, allow_code_from=args.allow_code_from)
        from_config(file, allow_code_from=args.allow_code_from)  # what only the whole agent shows
    except AgentConfigError as error:
        raise CliError(str(error)) from error
    return _write_output(program, args)


def _write_output(text: str, args: argparse.Namespace) -> int:
    if args.out is None:
        sys.stdout.write(text)
        return 0
    out = Path(args.out).expanduser()
    try:
        if not (args.schema or args.force) and out.exists() and MARK not in out.read_text("utf-8"):
            raise CliError(
                f"{out} exists, and `ostinato generate` did not write it. Name another file, or "
                "give --force."
            )
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{out} cannot be written: {error.strerror}.") from error
    print(f"Wrote {out}.")
    return 0
