"""The command `ostinato eval`: runs eval sets with an agent, prints a report and checks gates."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from ..context.budget import Budget
from ..errors import AgentConfigError, InputValidationError, NotFoundError, OstinatoError
from ..evaluation.case_report import format_details, format_score
from ..evaluation.case_runner import RunSettings
from ..evaluation.eval_case import EvalCase
from ..evaluation.eval_config import (
    EvalConfig,
    ToolMockConfig,
    get_eval_metrics_from_config,
    get_evaluation_criteria_or_default,
)
from ..evaluation.eval_metrics import EvalMetric
from ..evaluation.eval_result import EvalCaseResult
from ..evaluation.eval_sets_manager import EvalSetsManager
from ..evaluation.evaluation_run import EvaluationPlan, EvaluationRun, run_evaluation
from ..evaluation.evaluator import EvalStatus
from ..evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from ..evaluation.local_eval_service import LocalEvalService
from ..evaluation.local_eval_sets_manager import load_eval_set_from_file
from ..evaluation.metric_evaluator_registry import MetricEvaluatorRegistry, make_registry
from ..evaluation.report import (
    DEFAULT_GATES,
    EvaluationReport,
    format_summary,
    load_baseline,
    parse_gates,
)
from ..evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from ..evaluation.storage import open_results_manager, open_sets_manager
from ..features.feature_registry import FeatureName, override_feature_enabled
from ..hosting.loader import LoadedAgent, load_agent
from ..hosting.log_setup import log_to_stderr
from ..hosting.setup_error import SetupError
from .cli_error import FAILED, INTERRUPTED, USAGE, CliError
from .eval_sets import locate_agent, parse_and_get_evals_to_run
from .interrupts import run_interruptibly
from .screen import ClosedOutputError, Screen
from .shorten import one_line

_CONFIG = "test_config.json"
_COMPARING = ("better", "worse", "gone")  # gates that need a baseline
_SIGNS = {EvalStatus.PASSED: "✓", EvalStatus.FAILED: "✗", EvalStatus.NOT_EVALUATED: "?"}
_STYLES = {EvalStatus.PASSED: "green", EvalStatus.FAILED: "red", EvalStatus.NOT_EVALUATED: "yellow"}


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.agent == "add" and not Path(args.agent).is_dir():
        return import_module("ostinato.cli.eval_session").add_session_case(args)
    if args.to or args.case_id or args.invocation:
        raise CliError("--to, --id and --invocation belong to `eval add SESSION`.", USAGE)
    try:
        _set_features(args)
        with log_to_stderr(args.log_level, "text"):
            return _Evaluation(args).run()
    except (NotFoundError, AgentConfigError, InputValidationError) as error:
        raise CliError(str(error), USAGE) from error
    except SetupError as error:  # 1 would say that a gate is broken
        raise CliError(error.message, USAGE) from error


def _set_features(args: argparse.Namespace) -> None:
    """Switch features on and off as google-adk's options do."""
    for text, enabled in ((args.enable_features, True), (args.disable_features, False)):
        for name in (text or "").split(","):
            if name.strip():
                override_feature_enabled(_feature_of(name.strip()), enabled)


def _feature_of(name: str) -> FeatureName:
    for feature in FeatureName:
        if name.upper() in (feature.name, feature.value):
            return feature
    known = ", ".join(feature.name for feature in FeatureName)
    raise CliError(f"There is no feature {name!r}; known: {known}.", USAGE)


class _Evaluation:
    """One call of the command."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._screen = Screen(sys.stdout)
        self._gates: str = args.fail_on or DEFAULT_GATES
        self._compares = [gate.text for gate in parse_gates(self._gates) if gate.name in _COMPARING]
        if self._compares and not args.baseline:
            raise CliError(
                f"The gate {self._compares[0]} compares with an earlier evaluation: name one with "
                "--baseline.",
                USAGE,
            )
        self._limits = _read_limits(args)
        for option in ("num_runs", "parallelism"):
            if getattr(args, option) < 1:
                raise CliError(f"--{option.replace('_', '-')} has to be 1 or more.", USAGE)
        self._baseline = load_baseline(map(Path, args.baseline))
        self._folder = locate_agent(args.agent)
        self._app_name = self._folder.name

    def run(self) -> int:
        """Evaluate, print and write the reports; return the exit code."""
        sets, chosen, files = self._choose_sets()
        config = self._load_config(files)
        loaded = load_agent(str(self._folder), self._args.allow_code_from)
        metrics = get_eval_metrics_from_config(config)
        registry = make_registry(config)
        _check_metrics(metrics, registry)
        cases = _list_cases(sets, self._app_name, chosen)
        self._check_baseline(sets, chosen)
        self._warn_of_other_apps(cases, loaded)
        total = len(cases) * self._args.num_runs
        progress = _Progress(self._screen, total)
        plan = EvaluationPlan(
            self._app_name, chosen, metrics, self._args.num_runs, self._args.parallelism
        )
        service = self._make_service(loaded, sets, config, registry)
        run, closed = EvaluationRun(), None
        try:
            run_interruptibly(run_evaluation(service, plan, progress.show, run))
        except KeyboardInterrupt:
            run.interrupted = True
        except ClosedOutputError as error:
            run.interrupted, closed = True, error
        try:
            self._save_results(run)
            progress.end()
        finally:  # what cannot be stored is shown anyway
            code = self._finish(EvaluationReport.from_run(run))
        if closed is not None:
            raise closed
        return code

    def _check_baseline(self, sets: EvalSetsManager, chosen: dict[str, list[str]]) -> None:
        """Refuse gates that compare with a baseline that has none of the cases."""
        known = {(one.eval_set_id, one.eval_id) for one in self._baseline}
        wanted = {
            (eval_set_id, case.eval_id)
            for eval_set_id, cases in chosen.items()
            for case in _list_cases(sets, self._app_name, {eval_set_id: cases})
        }
        if self._compares and not known & wanted:
            raise CliError(
                f"The gate {self._compares[0]} has nothing to compare: --baseline has none of the "
                "cases.",
                USAGE,
            )

    def _warn_of_other_apps(self, cases: list[EvalCase], loaded: LoadedAgent) -> None:
        """Say which cases are for another app; they run as if they were for this one."""
        names = ("", self._app_name, loaded.app_name)
        other = [
            case
            for case in cases
            if case.session_input and case.session_input.app_name not in names
        ]
        if other and other[0].session_input is not None:
            self._screen.line(
                (
                    f"{len(other)} of {len(cases)} cases name another app than "
                    f"{loaded.app_name!r}, such as {other[0].session_input.app_name!r}.",
                    "yellow",
                )
            )

    def _choose_sets(self) -> tuple[EvalSetsManager, dict[str, list[str]], list[Path]]:
        """Return the sets, the cases to run of each, and the files they come from."""
        wanted = parse_and_get_evals_to_run(self._args.sets)
        stored = open_sets_manager(self._args.eval_storage_uri, str(self._folder.parent))
        are_files = [Path(name).is_file() for name in wanted]
        if any(are_files) and not all(are_files):
            missing = next(name for name, found in zip(wanted, are_files, strict=True) if not found)
            raise CliError(
                f"{missing!r} is not a file, and the others are: name either files or ids of eval "
                "sets.",
                USAGE,
            )
        if not wanted:
            wanted = {name: list[str]() for name in stored.list_eval_sets(self._app_name)}
            if not wanted:
                raise CliError(
                    f"{self._args.agent} has no eval sets (*.evalset.json): name a file.", USAGE
                )
        if any(are_files):
            return self._read_files(wanted)
        for eval_set_id, cases in wanted.items():
            if stored.get_eval_set(self._app_name, eval_set_id) is None:
                raise CliError(
                    f"There is no file and no eval set {eval_set_id!r} in {self._args.agent}.",
                    USAGE,
                )
            for case in cases:
                if stored.get_eval_case(self._app_name, eval_set_id, case) is None:
                    raise CliError(f"The eval set {eval_set_id!r} has no case {case!r}.", USAGE)
        return stored, wanted, []

    def _read_files(
        self, wanted: dict[str, list[str]]
    ) -> tuple[EvalSetsManager, dict[str, list[str]], list[Path]]:
        sets, chosen = InMemoryEvalSetsManager(), dict[str, list[str]]()
        for name, cases in wanted.items():
            eval_set = load_eval_set_from_file(name, name)
            eval_set_id = eval_set.eval_set_id
            try:
                sets.create_eval_set(self._app_name, eval_set_id)
                for case in eval_set.eval_cases:
                    sets.add_eval_case(self._app_name, eval_set_id, case)
            except ValueError as error:
                raise CliError(f"{name}: {error}", USAGE) from error
            known = [case.eval_id for case in eval_set.eval_cases]
            unknown = [case for case in cases if case not in known]
            if unknown:
                raise CliError(f"{name} has no case {unknown[0]!r}.", USAGE)
            chosen[eval_set_id] = cases
        return sets, chosen, [Path(name) for name in wanted]

    def _load_config(self, files: list[Path]) -> EvalConfig:
        given = self._args.config_file_path
        if given is not None and not Path(given).is_file():
            raise CliError(f"There is no config file {given!r}.", USAGE)
        folders = {file.resolve().parent for file in files} or {self._folder}
        beside = next(iter(folders)) / _CONFIG if len(folders) == 1 else None
        config = get_evaluation_criteria_or_default(given or (str(beside) if beside else None))
        if not config.criteria:
            raise CliError("The config has no criteria, so nothing would be evaluated.", USAGE)
        return config

    def _make_service(
        self,
        loaded: LoadedAgent,
        sets: EvalSetsManager,
        config: EvalConfig,
        registry: MetricEvaluatorRegistry,
    ) -> LocalEvalService:
        args = self._args
        budget = config.budget
        if self._limits is not None:
            budget = self._limits.over(budget)
        mocks = config.tool_mocks or (ToolMockConfig() if args.mock_tools else None)
        seed = config.seed if args.seed is None else args.seed
        return LocalEvalService(
            root_agent=loaded.app or loaded.root,
            eval_sets_manager=sets,
            metric_evaluator_registry=registry,
            user_simulator_provider=UserSimulatorProvider(config.user_simulator_config),
            settings=RunSettings(mocks, seed, budget),
        )

    def _save_results(self, run: EvaluationRun) -> None:
        manager = open_results_manager(self._args.eval_storage_uri, str(self._folder.parent))
        for eval_set_id, results in run.by_set().items():
            try:
                manager.save_eval_set_result(self._app_name, eval_set_id, results)
            except (OSError, ValueError) as error:  # ValueError: a name that no file can have
                place = self._args.eval_storage_uri or f"{self._args.agent}/.adk"
                reason = error.strerror if isinstance(error, OSError) else error
                raise CliError(
                    f"The results of {eval_set_id[:60]!r} cannot be stored in {place}: {reason}.",
                    USAGE,
                ) from error

    def _finish(self, report: EvaluationReport) -> int:
        """Print and write the report; return the exit code."""
        if self._baseline:
            report.compare(self._baseline)
        try:
            self._print_report(report)
        finally:  # also if the reader of the output has exited
            self._write_reports(report)
        if report.interrupted:
            return INTERRUPTED
        if all(case.status is EvalStatus.NOT_EVALUATED for case in report.cases):
            # Whatever the gates: they say nothing of an agent that was not evaluated.
            reason = next((one for case in report.cases for one in case.errors), "")
            print(f"error: no case could be evaluated: {one_line(reason)}", file=sys.stderr)
            return USAGE
        broken = report.find_broken_gates(self._gates)
        for gate in broken:
            self._screen.line(("✗ ", "red"), gate)
        return FAILED if broken else 0

    def _write_reports(self, report: EvaluationReport) -> None:
        for option in ("junit", "markdown", "html"):
            path = getattr(self._args, option)
            if path is not None:
                files = import_module("ostinato.evaluation.report_files")
                _write_file(path, getattr(files, f"format_{option}")(report))

    def _print_report(self, report: EvaluationReport) -> None:
        screen, repeated = self._screen, self._args.num_runs > 1
        screen.line()
        for case in report.cases:
            if case.passed and not (self._args.print_detailed_results or case.change == "better"):
                continue
            change = f" ({case.change})" if case.change else ""
            screen.line((f"{case.eval_set_id}: {case.eval_id}{change}", "bold"))
            for line in format_details(case.eval_id, case.results).splitlines()[1:]:
                screen.line(line)
        if repeated:
            self._print_statistics(report)
        for eval_set_id, eval_id in report.gone:
            screen.line((f"not run, but in the baseline: {eval_set_id}: {eval_id}", "yellow"))
        screen.line((format_summary(report), "bold"))

    def _print_statistics(self, report: EvaluationReport) -> None:
        k = self._args.num_runs
        for case in report.cases:
            runs = case.statistics
            low, high = runs.interval
            at, every = (
                (runs.get_pass_at(min(k, runs.runs)), runs.get_pass_all(min(k, runs.runs)))
                if runs.runs
                else (0.0, 0.0)
            )
            self._screen.line(
                f"{case.eval_id}: {runs.passed} of {runs.runs} passed "
                f"(95 % interval {low:.0%} to {high:.0%}), pass@{k} {at:.2f}, pass^{k} {every:.2f}"
            )


class _Progress:
    """One line for each result as it comes."""

    def __init__(self, screen: Screen, total: int) -> None:
        self._screen, self._total, self._done = screen, total, 0

    def show(self, result: EvalCaseResult) -> None:
        """Show a result."""
        self._done += 1
        status = result.final_eval_status
        sign = _SIGNS[status]
        scores = "  ".join(
            f"{one.metric_name} {format_score(one)}" for one in result.overall_eval_metric_results
        )
        width = len(str(self._total))
        self._screen.line(
            (f"[{self._done:>{width}}/{self._total}] ", "dim"),
            (f"{sign} ", _STYLES[status]),
            result.eval_id,
            (f"  {scores or result.error_message or ''}", "dim"),
        )

    def end(self) -> None:
        """Say how many runs are missing, if any."""
        if self._done < self._total:
            missing = self._total - self._done
            self._screen.line((f"{missing} of {self._total} runs did not end.", "yellow"))


def _read_limits(args: argparse.Namespace) -> Budget | None:
    """Return the limits of the command line, or None without any."""
    given = {"max_tokens": args.max_tokens, "max_cost": args.max_cost}
    limits = {name: value for name, value in given.items() if value is not None}
    if args.max_tokens is not None and args.max_tokens < 1:
        raise CliError(f"--max-tokens has to be 1 or more, not {args.max_tokens}.", USAGE)
    if args.max_cost is not None and not 0 < args.max_cost < float("inf"):
        raise CliError(f"--max-cost has to be a number above 0, not {args.max_cost:g}.", USAGE)
    return Budget.model_validate(limits) if limits else None


def _check_metrics(metrics: list[EvalMetric], registry: MetricEvaluatorRegistry) -> None:
    """Refuse metrics that do not exist or cannot be set up, before anything runs."""
    for metric in metrics:
        try:
            registry.get_evaluator(metric)
        except (OstinatoError, ValueError, ImportError, TypeError, AssertionError) as error:
            raise CliError(f"The metric {metric.metric_name!r}: {error}", USAGE) from error


def _list_cases(
    sets: EvalSetsManager, app_name: str, chosen: dict[str, list[str]]
) -> list[EvalCase]:
    found: list[EvalCase] = []
    for eval_set_id, cases in chosen.items():
        eval_set = sets.get_eval_set(app_name, eval_set_id)
        known = eval_set.eval_cases if eval_set is not None else []
        found += [case for case in known if not cases or case.eval_id in cases]
    if not found:
        raise CliError("The eval sets have no cases.", USAGE)
    return found


def _write_file(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.", USAGE) from error
