"""EvaluationReport: the results of an evaluation by case, with totals, gates and a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputValidationError
from ._result_file import parse_eval_set_result
from .eval_metrics import EvalMetricResult
from .eval_result import EvalCaseResult
from .evaluation_run import EvaluationRun
from .evaluator import EvalStatus
from .gates import Gate, read_gates
from .json_file import read_text
from .run_statistics import CaseStatistics, count_runs
from .turn_usage import TurnUsage, add_usage

DEFAULT_GATES = "failed>0,errors>0"


@dataclass(slots=True)
class CaseReport:
    """The runs of one case.

    Attributes:
      eval_set_id, eval_id: the case.
      results: its runs.
      change: compared with the baseline: better, worse, flaky, same or new; "" without one.
    """

    eval_set_id: str
    eval_id: str
    results: list[EvalCaseResult]
    change: str = ""

    @property
    def statistics(self) -> CaseStatistics:
        """How often the case passed."""
        return count_runs(self.results)

    @property
    def passed(self) -> bool:
        """Whether the case passed in every run."""
        return self.statistics.passed == self.statistics.runs > 0

    @property
    def agent_errors(self) -> list[str]:
        """The errors with which the agent failed in runs."""
        failed = [one for one in self.results if one.final_eval_status is EvalStatus.FAILED]
        return list(dict.fromkeys(one.error_message for one in failed if one.error_message))

    @property
    def errors(self) -> list[str]:
        """Why runs or metrics could not be evaluated."""
        found: list[str] = []
        for result in self.results:
            is_open = result.final_eval_status is EvalStatus.NOT_EVALUATED
            if is_open and result.error_message:
                found.append(result.error_message)
            gaps = [
                f"{one.metric_name}: {one.details.error or 'the metric gave no verdict'}"
                for one in result.overall_eval_metric_results
                if one.details.error or one.lacks_verdict
            ]
            if is_open and not gaps:
                gaps = [] if result.error_message else ["no metric applies to the case"]
            found += gaps
        return list(dict.fromkeys(found))

    @property
    def failed_metrics(self) -> list[EvalMetricResult]:
        """The results of metrics that failed, in any run."""
        return [
            one
            for result in self.results
            for one in result.overall_eval_metric_results
            if one.eval_status is EvalStatus.FAILED
        ]

    @property
    def status(self) -> EvalStatus:
        """PASSED in every run; FAILED if the agent or a metric failed in one; else
        NOT_EVALUATED."""
        if self.passed:
            return EvalStatus.PASSED
        has_failed = any(one.final_eval_status is EvalStatus.FAILED for one in self.results)
        return EvalStatus.FAILED if has_failed else EvalStatus.NOT_EVALUATED

    @property
    def scores(self) -> dict[str, float]:
        """The mean score of each metric over the runs."""
        known: dict[str, list[float]] = {}
        for result in self.results:
            for one in result.overall_eval_metric_results:
                if one.score is not None:
                    known.setdefault(one.metric_name, []).append(one.score)
        return {name: sum(scores) / len(scores) for name, scores in known.items()}


@dataclass(slots=True)
class EvaluationReport:
    """The results of an evaluation.

    Attributes:
      cases: the cases, by set and in the order of their ids.
      interrupted: whether the evaluation was cancelled before its end.
      gone: cases of the baseline that this evaluation does not have.
    """

    cases: list[CaseReport]
    interrupted: bool = False
    gone: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @classmethod
    def from_run(cls, run: EvaluationRun) -> EvaluationReport:
        """Return the report of an evaluation."""
        cases = [CaseReport(*key, results) for key, results in sorted(run.by_case().items())]
        return cls(cases, run.interrupted)

    @property
    def usage(self) -> TurnUsage:
        """What all runs used."""
        results = [result for case in self.cases for result in case.results]
        return add_usage([one.usage for one in results if one.usage is not None])

    def compare(self, baseline: Sequence[EvalCaseResult]) -> None:
        """Set `change` of each case, and `gone`.

        Args:
          baseline: the results of an earlier evaluation.
        """
        known: dict[tuple[str, str], list[EvalCaseResult]] = {}
        for result in baseline:
            known.setdefault((result.eval_set_id, result.eval_id), []).append(result)
        for case in self.cases:
            before = known.pop((case.eval_set_id, case.eval_id), None)
            case.change = "new" if before is None else _compare_case(before, case)
        self.gone = sorted(known)

    def measure(self, name: str) -> float:
        """Return a number that gates can compare.

        Args:
          name: failed (cases that did not pass), errors (cases with something that could not be
            evaluated), flaky, better, worse, gone (only in the baseline), pass_rate (0 to 1),
            cost, tokens or seconds.

        Raises:
          InputValidationError: there is no such number.
        """
        counts: dict[str, Callable[[CaseReport], bool]] = {
            "failed": lambda case: not case.passed,
            "errors": lambda case: bool(case.errors),
            "flaky": lambda case: case.statistics.is_flaky,
            "better": lambda case: case.change == "better",
            "worse": lambda case: case.change == "worse",
        }
        if name in counts:
            return float(sum(map(counts[name], self.cases)))
        if name == "gone":
            return float(len(self.gone))
        if name == "pass_rate":
            runs = [case.statistics for case in self.cases]
            total = sum(one.runs for one in runs)
            return sum(one.passed for one in runs) / total if total else 0.0
        if name == "cost" and self.usage.cost is None:
            raise InputValidationError(
                f"The gate cost needs the prices of {', '.join(self.usage.unpriced)}; give them in "
                "`budget` of the config."
            )
        if name in ("cost", "tokens", "seconds"):
            return float(getattr(self.usage, name))
        known = ", ".join([*counts, "gone", "pass_rate", "cost", "tokens", "seconds"])
        raise InputValidationError(f"There is no gate {name!r}; known: {known}.")

    def find_broken_gates(self, expression: str) -> list[str]:
        """Return the gates that are broken, with the number that broke each.

        Args:
          expression: gates such as `failed>0,pass_rate<90%`; each says when to fail. A percentage
            of a count is a share of the cases.

        Raises:
          InputValidationError: the expression is not valid.
        """
        broken: list[str] = []
        for gate in parse_gates(expression):
            found = self.measure(gate.name)
            shown = f"{found:g}"
            if gate.is_percentage and gate.name != "pass_rate":
                found /= max(1, len(self.cases))
                shown = f"{shown} of {len(self.cases)}"
            if gate.is_broken(found):
                bound = gate.text if gate.is_percentage else f"{gate.name}{gate.sign}{gate.bound:g}"
                broken.append(f"{gate.name} is {shown} ({bound} fails)")
        return broken


def parse_gates(expression: str) -> list[Gate]:
    """Return the gates of an expression.

    Args:
      expression: gates separated by commas.

    Raises:
      InputValidationError: a gate is not `NAME OPERATOR NUMBER`, or there is no such number.
    """
    gates = read_gates(expression, "failed>0 or pass_rate<90%")
    for gate in gates:
        if gate.is_signed:
            raise InputValidationError(f"The gate {gate.text!r} is no change: leave + or - out.")
        EvaluationReport([]).measure(gate.name)
        if gate.is_percentage and gate.name in ("cost", "tokens", "seconds"):
            raise InputValidationError(f"The gate {gate.text!r} is no share: write a number.")
        if gate.name == "pass_rate" and gate.bound > 1:
            raise InputValidationError(f"The gate {gate.text!r} is out of range: 0 to 1, or 100%.")
    return gates


def _compare_case(before: Sequence[EvalCaseResult], case: CaseReport) -> str:
    past, now = count_runs(before), case.statistics
    if past.pass_rate == now.pass_rate:
        return "flaky" if now.is_flaky else "same"
    if past.pass_rate > now.pass_rate:
        return "worse" if _do_rates_differ(past, now) else "flaky"
    return "better" if _do_rates_differ(now, past) else "flaky"


def _do_rates_differ(higher: CaseStatistics, lower: CaseStatistics) -> bool:
    """Return whether runs show that two pass rates differ; see docs/evaluation.md."""
    passed_always = higher.passed == higher.runs >= lower.runs
    return lower.passed == 0 or passed_always or lower.interval[1] < higher.interval[0]


def format_summary(report: EvaluationReport) -> str:
    """Return one line with the totals.

    Args:
      report: the report.
    """
    passed = sum(case.passed for case in report.cases)
    parts = [f"{passed} of {len(report.cases)} cases passed"]
    open_cases = sum(case.status is EvalStatus.NOT_EVALUATED for case in report.cases)
    if open_cases:
        parts.append(f"{open_cases} could not be evaluated")
    for name in ("flaky", "better", "worse"):
        number = int(report.measure(name))
        if number:
            parts.append(f"{number} {name}")
    usage = report.usage
    if usage.tokens:
        parts.append(f"{usage.tokens:,} tokens")
    if usage.cost:
        parts.append(f"cost {usage.cost:.4g}")
    return ", ".join(parts) + (" (interrupted)" if report.interrupted else "")


def load_baseline(paths: Iterable[Path]) -> list[EvalCaseResult]:
    """Return the results in the files of earlier evaluations.

    Args:
      paths: files `*.evalset_result.json`.

    Raises:
      InputValidationError: a file does not exist, or does not hold results.
    """
    found: list[EvalCaseResult] = []
    for path in paths:
        try:
            text = read_text(path)
        except OSError as error:
            raise InputValidationError(f"The baseline {path} cannot be read: {error}.") from error
        found += parse_eval_set_result(text, str(path)).eval_case_results
    return found
