"""The command `ostinato diff`: the behaviour of agents at two commits."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

from ..evaluation.evaluation_run import EvaluationRun
from ..evaluation.replay.behaviour import BehaviourReport, compare_rendered, format_behaviour
from ..evaluation.replay.child import make_settings, replay_elsewhere, run_child
from ..evaluation.replay.replay_report import ReplayReport
from ..evaluation.replay.replay_report import parse_gates as parse_replay_gates
from ..evaluation.replay.selection import Selected, select_exchanges
from ..evaluation.replay.worktree import check_out, find_repository, resolve_revision, run_git
from ..evaluation.report import EvaluationReport, load_baseline, parse_gates
from ..hosting.store_address import parse_store
from .cli_error import FAILED, USAGE, CliError
from .replay import exit_with_2_on_error, make_row, read_options, read_selection, write_report
from .screen import Screen
from .session_index import existing_store

_EVAL = "eval_"
_DEFAULT_GATES = "failed>0,eval_worse>0"
_HISTORY = ".adk/eval_history"


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    with exit_with_2_on_error():
        return _Comparison(args).run()


class _Comparison:
    """One call of the command."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._screen = Screen(sys.stdout)
        base, dots, head = args.range.partition("..")
        if not dots or not base or head.startswith("."):
            raise CliError(f"{args.range!r} is not BASE..HEAD, such as main..HEAD.", USAGE)
        self._base, self._head = base, head
        self._commits: list[str] = []
        given: str = _DEFAULT_GATES if args.fail_on is None else args.fail_on
        gates = given.split(",")
        self._eval_gates = [one.strip().removeprefix(_EVAL) for one in gates if _is_eval(one)]
        self._replay_gates = [one for one in gates if not _is_eval(one)]
        if self._eval_gates:
            parse_gates(",".join(self._eval_gates))
        if self._replay_gates:
            parse_replay_gates(",".join(self._replay_gates))
        if args.fail_on and self._replay_gates and not args.replay:
            raise CliError(
                f"The gate {self._replay_gates[0]!r} needs --replay; gates of cases begin with "
                f"{_EVAL}, such as eval_worse>0.",
                USAGE,
            )
        self._options = read_options(args)

    def run(self) -> int:
        """Compare, print and write the report; return the exit code."""
        paths = [Path(one).resolve() for one in self._args.agents]
        top = find_repository(paths[0].parent if not paths[0].exists() else paths[0])
        for path in paths:
            if not path.is_relative_to(top):
                raise CliError(f"{path.name} does not lie in the repository of the others.", USAGE)
        # In a worktree, HEAD is another commit than here.
        self._commits = [resolve_revision(top, one) for one in (self._base, self._head) if one]
        with ExitStack() as stack:
            before = stack.enter_context(check_out(top, self._commits[0]))
            after = stack.enter_context(check_out(top, self._commits[1])) if self._head else top
            reports = [self._compare(before, after, path.relative_to(top)) for path in paths]
        text = format_behaviour(self._args.range, reports)
        if self._args.markdown:
            write_report(self._args.markdown, text)
        else:
            print(text, end="")
        broken = [gate for report in reports for gate in self._find_broken_gates(report)]
        for gate in broken:
            self._screen.line(("✗ ", "red"), gate)
        self._check_gone(reports)
        return FAILED if broken else 0

    def _check_gone(self, reports: list[BehaviourReport]) -> None:
        """Raise CliError if eval sets or cases of the base could not run at the head."""
        sets = [f"{report.agent}/{name}" for report in reports for name in report.gone_sets]
        cases = [
            f"{report.agent}: {eval_set_id}: {eval_id}"
            for report in reports
            if report.evaluation is not None
            for eval_set_id, eval_id in report.evaluation.gone
        ]
        if sets:
            what, named = "Eval sets", [*sets, *cases]
        else:
            what, named = "Cases", cases
        if named:
            raise CliError(
                f"{what} of {self._base} are gone, so their cases could not run: "
                f"{', '.join(named)}. Restore them, or compare without cases: --no-eval.",
                USAGE,
            )

    def _compare(self, before: Path, after: Path, agent: Path) -> BehaviourReport:
        old, new = self._render(before, agent), self._render(after, agent)
        if old is None and new is None:
            raise CliError(f"{agent} exists at neither commit.", USAGE)
        none: dict[str, Any] = {"agents": {}}
        report = BehaviourReport(
            str(agent), *compare_rendered((old or none)["agents"], (new or none)["agents"])
        )
        report.touched = self._is_touched(after, agent)
        if report.is_changed and new is not None:
            if not self._args.no_eval:
                kept = _list_sets(after / agent)
                report.gone_sets = [one for one in _list_sets(before / agent) if one not in kept]
                report.evaluation = self._evaluate(before, after, agent, old is not None)
            if self._args.replay and old is not None:
                report.replay = self._replay(before, after, agent, new)
        return report

    def _render(self, folder: Path, agent: Path) -> dict[str, Any] | None:
        """Return the requests of the agents at a commit; None if the app is not there."""
        if not (folder / agent).exists():
            return None
        task = {"work": "render", "agent": str(folder / agent), "options": self._options}
        return run_child(task, folder)

    def _is_touched(self, after: Path, agent: Path) -> bool:
        folder = agent.parent if agent.suffix else agent
        # `after` is a worktree of the head, or the current files.
        changed = run_git(after, "diff", "--name-only", *self._commits, "--", str(folder))
        return bool(changed.strip())

    def _evaluate(
        self, before: Path, after: Path, agent: Path, has_old: bool
    ) -> EvaluationReport | None:
        """Return the eval cases of the new commit, compared with those of the old one."""
        found = self._run_cases(after, agent)
        if found is None:
            return None
        report = EvaluationReport.from_run(found)
        old = self._run_cases(before, agent) if has_old else None
        report.compare(old.results if old is not None else [])
        return report

    def _run_cases(self, folder: Path, agent: Path) -> EvaluationRun | None:
        """Run the eval sets in an agent's folder; None if it has none."""
        home = folder / agent
        if not _list_sets(home):
            return None
        history = home / _HISTORY
        known = set(history.glob("*.json")) if history.is_dir() else set[Path]()
        command = [sys.executable, "-m", "ostinato", "eval", str(home)]
        for name in self._args.allow_code_from:
            command += ["--allow-code-from", name]
        with TemporaryDirectory(prefix="ostinato-diff-") as scratch:
            junit = Path(scratch, "junit.xml")
            done = subprocess.run(
                [*command, "--junit", str(junit)],
                cwd=folder,
                env=_make_environment(folder),
                capture_output=True,
                text=True,
                check=False,
            )
            results = sorted({*history.glob("*.json")} - known)
            if done.returncode not in (0, FAILED) or not results:
                lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
                reason = lines[-1].removeprefix("error: ")
                raise CliError(f"The eval sets of {agent} could not run: {reason}", USAGE)
            run = EvaluationRun(results=load_baseline(results))
            _add_errors(run, junit.read_text(encoding="utf-8"))
        return run

    def _replay(
        self, before: Path, after: Path, agent: Path, rendered: dict[str, Any]
    ) -> ReplayReport:
        selection = read_selection(self._args, rendered["app_name"])

        async def select() -> Selected:
            async with existing_store(parse_store(self._args.db)) as store:
                return await select_exchanges(store, selection)

        selected = asyncio.run(select())
        report = ReplayReport(str(agent), [], dict(selected.skipped))
        exchanges = selected.exchanges
        if not exchanges:
            return report
        old = replay_elsewhere(str(before / agent), before, exchanges, self._options)
        new = replay_elsewhere(str(after / agent), after, exchanges, self._options)
        models = {name: one.get("model", "") for name, one in rendered["agents"].items()}
        settings = make_settings(self._options)
        report.invocations = [
            make_row(exchange, new[number], old[number], settings, models)
            for number, exchange in enumerate(exchanges)
        ]
        return report

    def _find_broken_gates(self, report: BehaviourReport) -> list[str]:
        broken: list[str] = []
        if report.evaluation is not None and self._eval_gates:
            broken += report.evaluation.find_broken_gates(",".join(self._eval_gates))
        if report.replay is not None and report.replay.invocations and self._replay_gates:
            broken += report.replay.find_broken_gates(",".join(self._replay_gates))
        return [f"{report.agent}: {one}" for one in broken]


def _add_errors(run: EvaluationRun, junit: str) -> None:
    """Add why cases have no result of a metric; files of results do not hold that."""
    problems = {
        (case.get("classname"), case.get("name")): one.get("message")
        for case in ElementTree.fromstring(junit).iter("testcase")
        for one in case
    }
    for result in run.results:
        if not result.overall_eval_metric_results:
            result.error_message = problems.get((result.eval_set_id, result.eval_id))


def _list_sets(home: Path) -> list[str]:
    """Return the names of the eval sets in an agent's folder; none for a file."""
    return sorted(one.name for one in home.glob("*.evalset.json")) if home.is_dir() else []


def _make_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a process that prefers the code of a folder."""
    paths = [str(folder), str(folder / "src"), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _is_eval(gate: str) -> bool:
    return gate.strip().startswith(_EVAL)
