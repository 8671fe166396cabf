"""The command `ostinato test`: sessions in `tests/*.json` beside agents, run again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..errors import AgentConfigError, InputValidationError
from ..evaluation.session_tests.session_file import (
    find_test_files,
    rebuild_session_file,
    run_session_file,
)
from ..hosting.loader import load_agent
from .cli_error import FAILED, USAGE, CliError
from .interrupts import run_interruptibly
from .screen import Screen


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    folder = Path(args.folder)
    if not folder.is_dir():
        raise CliError(f"{args.folder} is not a folder.", USAGE)
    files = find_test_files(folder)
    if not files:
        raise CliError(f"{args.folder} has no agent with a test in tests/*.json.", USAGE)
    screen, failed, agents = Screen(sys.stdout), 0, dict[Path, Any]()
    for home, file in files:
        name = str(file.relative_to(folder))
        try:
            if home not in agents:
                loaded = load_agent(str(home), args.allow_code_from)
                agents[home] = loaded.app or loaded.root
            if args.rebuild:
                failed += not _rebuild(screen, agents[home], file, name)
                continue
            result = run_interruptibly(run_session_file(agents[home], file))
        except (AgentConfigError, InputValidationError) as error:
            raise CliError(str(error), USAGE) from error
        failed += not result.passed
        screen.line(("✓ ", "green") if result.passed else ("✗ ", "red"), name)
        for line in result.problem:
            screen.line(line, indent=4)
    if not args.rebuild:
        screen.line((f"{len(files) - failed} of {len(files)} passed", "bold"))
    return FAILED if failed else 0


def _rebuild(screen: Screen, agent: Any, file: Path, name: str) -> bool:
    """Write a file anew; return whether its agent did not fail."""
    try:
        rebuild_session_file(agent, file)
    except (AgentConfigError, InputValidationError):
        raise
    except Exception as error:  # boundary: the agent's code may raise anything
        screen.line(("✗ ", "red"), f"{name} is unchanged, because its agent failed")
        screen.line(f"{type(error).__name__}: {error}", indent=4)
        return False
    screen.line(("✓ ", "green"), f"{name} rebuilt")
    return True
