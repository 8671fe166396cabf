"""Files of a report: JUnit XML for CI, Markdown for pull requests, one HTML page for people."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from .case_report import describe_calls, describe_text, format_details, format_score
from .eval_metrics import EvalMetricResultPerInvocation
from .evaluator import EvalStatus
from .llm_as_judge_utils import get_text_from_content
from .markup import escape_html, fence, quote, quote_cell
from .report import CaseReport, EvaluationReport, format_summary

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIGNS = {EvalStatus.PASSED: "✅", EvalStatus.FAILED: "❌", EvalStatus.NOT_EVALUATED: "⚠️"}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1d2430; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
th, td { border: 1px solid #d5dae2; padding: .35rem .6rem; text-align: left; vertical-align: top; }
td pre { margin: 0; white-space: pre-wrap; word-break: break-word; font-size: 13px; }
details { border: 1px solid #d5dae2; border-radius: 6px; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; } .PASSED { color: #0b6b2f; } .FAILED { color: #a4161a; }
.NOT_EVALUATED { color: #6b5900; }
"""


def format_junit(report: EvaluationReport) -> str:
    """Return a report as JUnit XML: one suite for each set, one test for each case.

    Args:
      report: the report.
    """
    root = ET.Element("testsuites")
    for eval_set_id in dict.fromkeys(case.eval_set_id for case in report.cases):
        cases = [case for case in report.cases if case.eval_set_id == eval_set_id]
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_clean(eval_set_id),
            tests=str(len(cases)),
            failures=str(sum(case.status is EvalStatus.FAILED for case in cases)),
            errors=str(sum(case.status is EvalStatus.NOT_EVALUATED for case in cases)),
        )
        for case in cases:
            _add_junit_case(suite, case)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_junit_case(suite: ET.Element, case: CaseReport) -> None:
    seconds = sum(one.usage.seconds for one in case.results if one.usage is not None)
    test = ET.SubElement(
        suite,
        "testcase",
        classname=_clean(case.eval_set_id),
        name=_clean(case.eval_id),
        time=f"{seconds:.3f}",
    )
    if case.passed:
        return
    kind = "failure" if case.status is EvalStatus.FAILED else "error"
    problem = ET.SubElement(test, kind, message=_clean(_summarize(case)))
    problem.text = _clean(format_details(case.eval_id, case.results))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _summarize(case: CaseReport) -> str:
    failed = [f"{one.metric_name} {format_score(one)}" for one in case.failed_metrics]
    return (
        "; ".join(dict.fromkeys([*failed, *case.agent_errors, *case.errors]))
        or "no metric was evaluated"
    )


def format_markdown(report: EvaluationReport) -> str:
    """Return a report as Markdown, for a comment or a summary of CI.

    Args:
      report: the report.
    """
    metrics = list(dict.fromkeys(name for case in report.cases for name in case.scores))
    repeated = any(len(case.results) > 1 for case in report.cases)
    compared = any(case.change for case in report.cases)
    names = [quote_cell(name) for name in metrics]
    titles = ["Case", "Passed", *names, *(["Change"] if compared else [])]
    lines = ["# Evaluation", "", format_summary(report), ""]
    lines += [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for case in report.cases:
        runs = case.statistics
        verdict = _SIGNS[case.status] + (f" {runs.passed}/{runs.runs}" if repeated else "")
        scores = [f"{case.scores[name]:.3g}" if name in case.scores else "" for name in metrics]
        cells = [quote_cell(f"{case.eval_set_id}: {case.eval_id}"), verdict, *scores]
        cells += [case.change] if compared else []
        lines.append(f"| {' | '.join(cells)} |")
    for case in report.cases:
        if not case.passed:
            details = format_details(case.eval_id, case.results)
            lines += ["", f"## {quote(case.eval_id)}", "", *fence(details, "text")]
    if report.gone:
        lines += ["", "Cases of the baseline that were not run:", ""]
        lines += [f"- {quote(f'{eval_set}: {eval_id}')}" for eval_set, eval_id in report.gone]
    return "\n".join(lines) + "\n"


def format_html(report: EvaluationReport) -> str:
    """Return a report as one HTML page without scripts and without other files.

    Args:
      report: the report.
    """
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>',
        f"<style>{_STYLE}</style></head><body><h1>Evaluation</h1>",
        f"<p>{escape_html(format_summary(report))}</p>",
    ]
    parts += [_format_case(case) for case in report.cases]
    parts += [
        f"<p>Not run: {escape_html(eval_set)}: {escape_html(eval_id)}</p>"
        for eval_set, eval_id in report.gone
    ]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _format_case(case: CaseReport) -> str:
    runs = case.statistics
    low, high = runs.interval
    status = case.status.name
    title = f"{case.eval_set_id}: {case.eval_id}"
    rate = f", {runs.passed} of {runs.runs} runs ({low:.0%} to {high:.0%})" if runs.runs > 1 else ""
    change = f", {case.change}" if case.change else ""
    parts = [
        f"<details{'' if case.passed else ' open'}><summary><b class={status!r}>{status}</b> "
        f"{escape_html(title + rate + change)}</summary>"
    ]
    parts += [f"<p>{escape_html(error)}</p>" for error in (*case.agent_errors, *case.errors)]
    for result in case.results:
        cells = "".join(
            f"<tr><td>{escape_html(one.metric_name)}</td><td class={one.eval_status.name!r}>"
            f"{one.eval_status.name}</td><td>{escape_html(format_score(one))}</td></tr>"
            for one in result.overall_eval_metric_results
        )
        parts.append(
            f"<table><tr><th>Metric</th><th>Verdict</th><th>Score</th></tr>{cells}</table>"
        )
        rows = "".join(map(_format_turn, result.eval_metric_result_per_invocation))
        parts.append(
            "<table><tr><th>Message</th><th>Expected</th><th>Actual</th><th>Verdicts</th></tr>"
            f"{rows}</table>"
        )
    return "\n".join([*parts, "</details>"])


def _format_turn(turn: EvalMetricResultPerInvocation) -> str:
    actual, expected = turn.actual_invocation, turn.expected_invocation
    message = get_text_from_content(actual.user_content) or ""
    sides = [
        "\n".join(filter(None, [describe_calls(one), describe_text(one)]))
        for one in (expected, actual)
    ]
    verdicts = "\n".join(
        f"{one.metric_name}: {format_score(one)}"
        for one in turn.eval_metric_results
        if one.eval_status is not EvalStatus.NOT_EVALUATED
    )
    cells = (message, *sides, verdicts)
    return f"<tr>{''.join(f'<td><pre>{escape_html(cell)}</pre></td>' for cell in cells)}</tr>"
