"""The command `ostinato prove`: kill an agent at every commit point, and report what to mend."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..errors import OstinatoError
from ..hosting.loader import load_agent
from ..hosting.setup_error import SetupError
from ..testing.crash_report import CrashReport
from ..testing.crash_runs import ScenarioError, crash_everywhere
from ..testing.scenario import Scenario
from .cli_error import FAILED, USAGE, CliError
from .screen import Screen
from .shorten import safe


def main(args: argparse.Namespace) -> int:
    """Run the scenario and its deaths, and print the report.

    Returns:
      0 if nothing has to be mended, 1 if something has.

    Raises:
      CliError: the scenario could not be run; its exit code is 2.
    """
    if args.points < 1:
        raise CliError(f"--points has to be 1 or more, not {args.points}.", USAGE)
    try:
        loaded = load_agent(args.path)
    except SetupError as error:  # 1 would say that something has to be mended
        raise CliError(error.message, USAGE) from error
    try:
        scenario = Scenario.read(Path(args.scenario))
    except OstinatoError as error:
        raise CliError(str(error), USAGE) from error
    try:
        report = crash_everywhere(
            loaded.app or loaded.root,
            scenario,
            kills=False if args.fast else None,
            max_points=args.points,
        )
    except (ScenarioError, OstinatoError, RuntimeError) as error:  # or a process of it hangs
        raise CliError(str(error), USAGE) from error
    if args.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        _show_report(report)
    return 0 if report.ok else FAILED


def _show_report(report: CrashReport) -> None:
    screen = Screen()
    head, *lines = str(report).splitlines()
    screen.line((safe(head), "bold"))
    for line in lines:
        screen.line((safe(line), "red" if line[2:3].isupper() and not report.ok else ""))
