"""The command `ostinato conformance`: records and tests cases in google-adk's format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..errors import AgentConfigError, InputValidationError
from ..evaluation.session_tests.conformance import (
    RECORDINGS,
    check_case,
    find_cases,
    read_case,
    record_case,
)
from ..hosting.loader import load_agent
from .cli_error import FAILED, USAGE, CliError
from .interrupts import run_interruptibly
from .screen import Screen


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    cases = find_cases([Path(one) for one in args.folders])
    if not cases:
        raise CliError("The folders have no case (category/name/spec.yaml).", USAGE)
    screen, failed, skipped = Screen(sys.stdout), 0, 0
    for folder in cases:
        name = f"{folder.parent.name}/{folder.name}"
        if args.verb == "test" and not (folder / RECORDINGS).is_file():
            skipped += 1
            screen.line(("· ", "yellow"), f"{name}: no recordings")
            continue
        try:
            problem = _run(args, folder)
        except (AgentConfigError, InputValidationError) as error:
            raise CliError(f"{name}: {error}", USAGE) from error
        failed += bool(problem)
        screen.line(("✗ ", "red") if problem else ("✓ ", "green"), name)
        for line in problem:
            screen.line(line, indent=4)
    done = "recorded" if args.verb == "record" else "passed"
    screen.line((f"{len(cases) - failed - skipped} of {len(cases)} {done}", "bold"))
    return FAILED if failed or skipped == len(cases) else 0


def _run(args: argparse.Namespace, folder: Path) -> list[str]:
    """Record or test a case; return what went wrong."""
    spec = read_case(folder)
    agent = _load(args, spec.agent)
    if args.verb == "test":
        return run_interruptibly(check_case(spec, agent, folder))
    try:
        files = run_interruptibly(record_case(spec, agent))
    except (AgentConfigError, InputValidationError):
        raise
    except Exception as error:  # boundary: the agent's code may raise anything
        return [f"{type(error).__name__}: {error}"]
    for name, text in files.items():
        try:
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CliError(
                f"{folder / name} cannot be written: {error.strerror}.", USAGE
            ) from error
    return []


def _load(args: argparse.Namespace, name: str) -> Any:
    home = Path(args.agents) / name
    if not home.is_dir() or home.resolve().parent != Path(args.agents).resolve():
        raise CliError(f"There is no agent {name!r} in {args.agents}; see --agents.", USAGE)
    loaded = load_agent(str(home), args.allow_code_from)
    return loaded.app or loaded.root
