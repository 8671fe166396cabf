"""Statistics of runs, gates, the baseline, and the files of a report."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from ostinato.errors import InputValidationError
from ostinato.evaluation.eval_metrics import (
    EvalMetricResult,
    EvalMetricResultPerInvocation,
    EvalStatus,
)
from ostinato.evaluation.eval_result import EvalCaseResult
from ostinato.evaluation.evaluation_run import EvaluationRun
from ostinato.evaluation.report import EvaluationReport, format_summary, parse_gates
from ostinato.evaluation.report_files import format_html, format_junit, format_markdown
from ostinato.evaluation.run_statistics import CaseStatistics
from ostinato.evaluation.turn_usage import TurnUsage

from .builders import turn

PASSED, FAILED = EvalStatus.PASSED, EvalStatus.FAILED
NOT_EVALUATED = EvalStatus.NOT_EVALUATED


def result_of(eval_id: str, status: EvalStatus, error: str | None = None) -> EvalCaseResult:
    score = EvalMetricResult(
        metric_name="response_match_score",
        threshold=0.8,
        score=1.0 if status is PASSED else 0.25,
        eval_status=status,
    )
    turns = EvalMetricResultPerInvocation(
        actual_invocation=turn("<hi> | \x07", "a <b>"),
        expected_invocation=turn("hi", "c"),
        eval_metric_results=[score],
    )
    return EvalCaseResult(
        eval_set_id="set",
        eval_id=eval_id,
        final_eval_status=status,
        overall_eval_metric_results=[] if error else [score],
        eval_metric_result_per_invocation=[] if error else [turns],
        session_id="s",
        error_message=error,
        usage=TurnUsage(tokens=10, cost=0.5, seconds=1.0),
    )


def report_of(*results: EvalCaseResult) -> EvaluationReport:
    return EvaluationReport.from_run(EvaluationRun(list(results)))


MIXED = [
    result_of("good", PASSED),
    result_of("good", PASSED),
    result_of("flaky", PASSED),
    result_of("flaky", FAILED),
    result_of("bad", FAILED),
    result_of("bad", FAILED),
    result_of("broken", FAILED, "RuntimeError: <no>"),
    result_of("open", NOT_EVALUATED, "The simulated user: <gone>"),
]


def test_pass_at_k_and_pass_all_k() -> None:
    runs = CaseStatistics(runs=5, passed=3)
    assert runs.get_pass_at(1) == pytest.approx(0.6)
    assert runs.get_pass_at(2) == pytest.approx(1 - 1 / 10)
    assert runs.get_pass_at(3) == 1.0
    assert runs.get_pass_all(1) == pytest.approx(0.6)
    assert runs.get_pass_all(2) == pytest.approx(3 / 10)
    assert runs.get_pass_all(4) == 0.0
    with pytest.raises(ValueError, match="from 1 to the number of runs, 5"):
        runs.get_pass_at(6)


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(passed: int, runs: int, low: float, high: float) -> None:
    found = CaseStatistics(runs=runs, passed=passed).interval
    assert found == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_a_report_counts() -> None:
    report = report_of(*MIXED)
    numbers = {name: report.measure(name) for name in ("failed", "errors", "flaky", "tokens")}
    assert numbers == {"failed": 4, "errors": 1, "flaky": 1, "tokens": 80}
    assert report.measure("pass_rate") == pytest.approx(3 / 8)
    assert format_summary(report) == (
        "1 of 5 cases passed, 1 could not be evaluated, 1 flaky, 80 tokens, cost 4"
    )


@pytest.mark.parametrize(
    ("gates", "broken"),
    [
        ("failed>0", ["failed"]),
        ("failed>4, errors>=1", ["errors"]),
        ("pass_rate<50%", ["pass_rate"]),
        ("pass_rate<0.3,flaky>1", []),
        ("cost>3,seconds==8", ["cost", "seconds"]),
        ("failed>80%,flaky>=20%", ["flaky"]),
    ],
)
def test_gates_are_checked(gates: str, broken: list[str]) -> None:
    found = report_of(*MIXED).find_broken_gates(gates)
    assert [one.split()[0] for one in found] == broken


@pytest.mark.parametrize(
    "gates",
    [
        "failed",
        "",
        "failed>x",
        "nothing>1",
        "failed=>1",
        "pass_rate<190%",
        "pass_rate<90",
        "cost>5%",
        "worse>101%",
    ],
)
def test_a_wrong_gate_is_refused(gates: str) -> None:
    with pytest.raises(InputValidationError, match="gate"):
        parse_gates(gates)


def test_a_baseline_shows_what_changed() -> None:
    now = report_of(
        result_of("better", PASSED),
        result_of("worse", FAILED),
        result_of("same", FAILED),
        result_of("new", PASSED),
        result_of("wobbly", PASSED),
        result_of("wobbly", FAILED),
    )
    before = [
        result_of("better", FAILED),
        result_of("worse", PASSED),
        result_of("same", FAILED),
        result_of("wobbly", PASSED),
        result_of("gone", PASSED),
    ]
    now.compare(before)
    changes = {one.eval_id: one.change for one in now.cases}
    assert changes == {
        "better": "better",
        "worse": "worse",
        "same": "same",
        "new": "new",
        "wobbly": "flaky",
    }
    assert now.gone == [("set", "gone")]
    assert (now.measure("worse"), now.measure("better")) == (1, 1)


@pytest.mark.parametrize(
    ("higher", "lower", "tells"),
    [
        ((1, 1), (0, 1), True),  # passed, and never does now
        ((19, 20), (0, 20), True),
        ((1, 20), (0, 20), True),
        ((1, 20), (0, 1), True),
        ((4, 4), (3, 4), True),  # passed each time, in at least as many runs
        ((20, 20), (3, 4), True),
        ((3, 3), (3, 4), False),
        ((1, 1), (1, 2), False),
        ((18, 20), (9, 20), True),  # the intervals do not overlap
        ((18, 20), (10, 20), False),
        ((19, 20), (18, 20), False),
        ((1, 2), (1, 3), False),
    ],
)
def test_a_change_is_better_or_worse_if_the_runs_tell(
    higher: tuple[int, int], lower: tuple[int, int], tells: bool
) -> None:
    assert _find_change(higher, lower) == ("worse" if tells else "flaky")
    assert _find_change(lower, higher) == ("better" if tells else "flaky")


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        ((1, 3), (2, 6), "flaky"),
        ((1, 1), (5, 5), "same"),
        ((0, 4), (0, 1), "same"),
    ],
)
def test_an_equal_rate_is_the_same_or_flaky(
    before: tuple[int, int], now: tuple[int, int], change: str
) -> None:
    assert _find_change(before, now) == change


def _find_change(before: tuple[int, int], now: tuple[int, int]) -> str:
    report = report_of(*_runs_of(*now))
    report.compare(_runs_of(*before))
    return report.cases[0].change


def _runs_of(passed: int, runs: int) -> list[EvalCaseResult]:
    return [result_of("case", PASSED if number < passed else FAILED) for number in range(runs)]


def test_junit_tells_failures_from_errors() -> None:
    root = ET.fromstring(format_junit(report_of(*MIXED)))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "3", "1")
    kinds = {case.get("name"): [child.tag for child in case] for case in suite}
    assert kinds == {
        "good": [],
        "flaky": ["failure"],
        "bad": ["failure"],
        "broken": ["failure"],
        "open": ["error"],
    }
    broken = suite.find("testcase[@name='broken']/failure")
    assert broken is not None and broken.get("message") == "RuntimeError: <no>"
    failure = suite.find("testcase[@name='bad']/failure")
    assert failure is not None and "0.25" in (failure.get("message") or "")
    assert "expected answer: c" in (failure.text or "")


def test_markdown_has_a_row_for_each_case() -> None:
    report = report_of(*MIXED)
    report.compare([result_of("good", PASSED), result_of("left | out", PASSED)])
    text = format_markdown(report)
    assert "| `set: good` | ✅ 2/2 | 1 | same |" in text
    assert "| `set: flaky` | ❌ 1/2 | 0.625 | new |" in text
    assert "- `set: left | out`" in text


def test_html_is_one_page_and_escapes() -> None:
    text = format_html(report_of(*MIXED))
    assert text.count("<details") == 5
    assert "a &lt;b&gt;" in text and "<b>" not in text.replace("<b class", "")
    assert "RuntimeError: &lt;no&gt;" in text
    for outside in ("<script", "http://", "https://", "<link", "src="):
        assert outside not in text


def test_names_of_others_are_no_markup() -> None:
    name = "![x](http://e/x.png) \u202e|\n```\n# h @admin"
    report = report_of(result_of(name, FAILED))
    report.compare([result_of(f"{name}2", PASSED)])
    text, shown = format_markdown(report), "![x](http://e/x.png) \\u202e| ``` # h @admin"
    assert "| ````set: {}```` | ❌ |".format(shown.replace("|", "\\|")) in text
    assert f"\n## ````{shown}````\n\n````text\n" in text and text.count("\n````\n") == 1
    assert f"\n- ````set: {shown}2````\n" in text
    assert "\u202e" not in text + format_html(report)
