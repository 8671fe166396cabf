"""The command `ostinato replay`: recorded invocations against a changed agent."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..context.budget import Price
from ..errors import OstinatoError
from ..evaluation.replay.child import make_settings, replay_elsewhere
from ..evaluation.replay.comparison import compare_runs
from ..evaluation.replay.lane import LaneRun, LaneRunner, LaneSettings, list_models, read_recorded
from ..evaluation.replay.recording import Exchange
from ..evaluation.replay.replay_report import (
    DEFAULT_GATES,
    InvocationReport,
    ReplayReport,
    describe,
    format_json,
    format_markdown,
    format_summary,
    list_skipped,
    parse_gates,
)
from ..evaluation.replay.selection import (
    Selected,
    Selection,
    list_parked,
    parse_time,
    select_exchanges,
)
from ..evaluation.replay.worktree import check_out, find_repository
from ..hosting.loader import LoadedAgent, load_agent
from ..hosting.setup_error import SetupError
from ..hosting.stand_in import use_model
from ..hosting.store_address import parse_store
from .cli_error import FAILED, INTERRUPTED, USAGE, CliError
from .interrupts import run_interruptibly
from .screen import Screen
from .session_index import existing_store
from .shorten import one_line, safe

_SHOWN = 20


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    with exit_with_2_on_error():
        return Replay(args).run()


@contextmanager
def exit_with_2_on_error() -> Generator[None]:
    """Let every error end the command with 2: 1 means that a gate is broken.

    Raises:
      CliError: the error, with the exit code 2.
    """
    try:
        yield
    except CliError as error:
        raise CliError(error.message, USAGE) from error
    except SetupError as error:
        raise CliError(error.message, USAGE) from error
    except OstinatoError as error:
        raise CliError(str(error), USAGE) from error


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a lane as JSON.

    Raises:
      CliError: an option is not valid.
    """
    for name in ("parallelism", "sample"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise CliError(f"--{name} has to be 1 or more.", USAGE)
    prices: dict[str, dict[str, Any]] = {}
    for text in args.price:
        model, _, numbers = text.rpartition("=")
        try:
            given, made = (float(number) for number in numbers.split(","))
            prices[model] = Price(input=given, output=made).model_dump(exclude_none=True)
        except (ValueError, ValidationError) as error:
            raise CliError(
                f"--price {text!r} is not MODEL=INPUT,OUTPUT, with prices of 0 or more.", USAGE
            ) from error
    return {
        "prices": prices,
        "read_only": args.read_only,
        "mock_model": args.mock_model,
        "seed": args.seed or None,
        "parallelism": args.parallelism,
        "allow_code": args.allow_code,
        "allow_code_from": args.allow_code_from,
        "model": args.model,
    }


def read_selection(args: argparse.Namespace, app_name: str | None) -> Selection:
    """Return which exchanges the options choose.

    Args:
      args: the options.
      app_name: the app, unless an option names one.
    """
    return Selection(
        app_name=args.app or app_name,
        user_id=args.user,
        session_id=args.session,
        since=parse_time(args.since) if args.since else None,
        until=parse_time(args.until) if args.until else None,
        labels=args.label,
        sample=args.sample,
        seed=args.seed,
    )


class Replay:
    """One call of the command."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._screen = Screen(sys.stdout)
        self._gates: str = DEFAULT_GATES if args.fail_on is None else args.fail_on
        if not args.old and any(gate.name == "noise" for gate in parse_gates(self._gates)):
            raise CliError("The gate noise compares with --old; name the old agent.", USAGE)
        self._options = read_options(args)
        self._settings = make_settings(self._options)
        self._done: dict[int, LaneRun] = {}

    def run(self) -> int:
        """Replay, print and write the reports; return the exit code."""
        loaded = load_agent(self._args.agent, self._args.allow_code_from)
        if self._args.model:
            use_model(loaded.root, self._args.model)
        selection = read_selection(self._args, loaded.app_name)
        if self._args.resume_check:
            return self._check_resume(loaded, selection.app_name)
        selected = asyncio.run(self._select(selection))
        if not selected.exchanges:
            lines = ["The store has no invocation to replay in this range."]
            lines += [f"Not replayed: {safe(one)}." for one in list_skipped(selected.skipped)]
            raise CliError(" ".join(lines), USAGE)
        runner = LaneRunner(loaded.app or loaded.root, self._settings)
        report = ReplayReport(self._args.agent, [], dict(selected.skipped))
        old: list[LaneRun] | None = None
        try:
            if self._args.old:
                old = self._run_old(selected.exchanges)
            run_interruptibly(runner.run_all(selected.exchanges, self._note_run))
        except KeyboardInterrupt:
            report.interrupted = True
        models = list_models(loaded.root)
        report.invocations = [
            make_row(
                one,
                self._done[number],
                None if old is None else old[number],
                self._settings,
                models,
            )
            for number, one in enumerate(selected.exchanges)
            if number in self._done
        ]
        return self._finish(report)

    async def _select(self, selection: Selection) -> Selected:
        async with existing_store(parse_store(self._args.db)) as store:
            return await select_exchanges(store, selection)

    def _note_run(self, number: int, run: LaneRun) -> None:
        self._done[number] = run
        if sys.stderr.isatty():
            print(f"\r{len(self._done)} replayed", end="", file=sys.stderr)

    def _run_old(self, exchanges: list[Exchange]) -> list[LaneRun]:
        """Return the lane of the old agent: another path, or the agent's path at a revision."""
        wanted, agent = self._args.old, Path(self._args.agent).resolve()
        if Path(wanted).exists():
            path = Path(wanted).resolve()
            return replay_elsewhere(str(path), path.parent, exchanges, self._options)
        if not agent.exists():
            raise CliError(
                "--old with a revision needs the path of the agent, not a module.", USAGE
            )
        top = find_repository(agent)
        with check_out(top, wanted) as folder:
            path = folder / agent.relative_to(top)
            return replay_elsewhere(str(path), folder, exchanges, self._options)

    def _check_resume(self, loaded: LoadedAgent, app_name: str | None) -> int:
        async def check() -> list[dict[str, str]]:
            async with existing_store(parse_store(self._args.db)) as store:
                return await list_parked(store, loaded.root, app_name)

        report = ReplayReport(self._args.agent, [], parked=asyncio.run(check()))
        self._write_files(report)
        for one in report.parked or []:
            self._screen.line(
                ("✗ ", "red"),
                f"{safe(one['invocation_id'])} in session {safe(one['session_id'])} of "
                f"{safe(one['user_id'])}: {one['reason']}",
            )
        number = len(report.parked or [])
        self._screen.line((f"This agent would park {number} open invocations.", "bold"))
        return FAILED if number else 0

    def _finish(self, report: ReplayReport) -> int:
        """Print and write the report; return the exit code."""
        if sys.stderr.isatty():
            print(file=sys.stderr)
        try:
            print_report(self._screen, report)
        finally:  # also if the reader of the output has exited
            self._write_files(report)
        if report.interrupted:
            return INTERRUPTED
        broken = report.find_broken_gates(self._gates)
        for gate in broken:
            self._screen.line(("✗ ", "red"), gate)
        return FAILED if broken else 0

    def _write_files(self, report: ReplayReport) -> None:
        if self._args.json:
            write_report(self._args.json, format_json(report))
        if self._args.markdown:
            write_report(self._args.markdown, format_markdown(report))


def make_row(
    exchange: Exchange,
    new: LaneRun,
    old: LaneRun | None,
    settings: LaneSettings,
    models: dict[str, str],
) -> InvocationReport:
    """Return the report of one exchange.

    Args:
      exchange: the exchange.
      new, old: the runs of the new and the old agent.
      settings: with the prices of models.
      models: the models of agents by name.
    """
    recorded = read_recorded(exchange, settings.prices, models)
    content = exchange.messages[0].content
    texts = [part.text or "" for part in (content.parts if content else None) or ()]
    return InvocationReport(
        app_name=exchange.session.app_name,
        user_id=exchange.session.user_id,
        session_id=exchange.session.session_id,
        invocation_id=exchange.invocation_id,
        message=" ".join(texts)[:200],
        recorded=recorded,
        new=new,
        change=compare_runs(recorded, new),
        old=old,
        noise=compare_runs(recorded, old) if old is not None else None,
    )


def print_report(screen: Screen, report: ReplayReport) -> None:
    """Print what changed, and the totals.

    Args:
      screen: where to.
      report: the report.
    """
    changed = [one for one in report.invocations if one.outcome != "same"]
    for one in changed[:_SHOWN]:
        screen.line(
            ("✗ ", "red" if one.change.rank > 1 else "yellow"),
            f"{safe(one.session_id)} {safe(one.invocation_id)}: "
            f"{one_line(describe(one.change, one.new))}",
        )
        screen.line((one_line(one.message[:100]), "dim"), indent=4)
    if len(changed) > _SHOWN:
        screen.line((f"{len(changed) - _SHOWN} more changed; --json has all.", "dim"))
    for line in list_skipped(report.skipped):
        screen.line((f"Not replayed: {safe(line)}.", "yellow"))
    screen.line((format_summary(report), "bold"))


def write_report(path: str, text: str) -> None:
    """Write a report into a file.

    Raises:
      CliError: the file cannot be written.
    """
    try:
        Path(os.path.expanduser(path)).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.", USAGE) from error
