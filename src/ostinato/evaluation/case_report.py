"""Texts about the results of a case: failures, and its turns beside the expected ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from .eval_case import Invocation, get_all_tool_calls
from .eval_metrics import EvalMetricResult
from .eval_result import EvalCaseResult
from .evaluator import EvalStatus
from .llm_as_judge_utils import get_text_from_content

_LIMITS = frozenset(
    {
        "tool_call_count_v1", "inference_call_count_v1", "token_usage_v1",
        "invocation_duration_v1", "cost_v1",
    }
)  # fmt: skip
_OVERALL = frozenset({*_LIMITS, "final_session_state_v1"})  # their turns have no verdict to average


def describe_failures(eval_id: str, results: Sequence[EvalCaseResult]) -> list[str]:
    """Return one line for each metric of a case that failed or could not be evaluated.

    The mean score of all turns of all runs counts, as in google-adk's AgentEvaluator.

    Args:
      eval_id: the case.
      results: its runs.
    """
    failures = [
        f"{eval_id}: {_describe_run(one)}"
        for one in results
        if not one.eval_metric_result_per_invocation
    ]
    scores: dict[str, list[EvalMetricResult]] = {}
    overall: dict[str, list[EvalMetricResult]] = {}
    for result in results:
        for one in result.overall_eval_metric_results:
            overall.setdefault(one.metric_name, []).append(one)
        for turn in result.eval_metric_result_per_invocation:
            for one in turn.eval_metric_results:
                scores.setdefault(one.metric_name, []).append(one)
    for name, found in overall.items():
        lacking = [one for one in found if one.lacks_verdict]
        found = [one for one in found if one.score is not None or not one.details.not_applicable]
        if not found:
            continue  # it applies to no run
        turns = found if name in _OVERALL else scores.get(name, [])
        failure = _describe_gap(name, lacking) or _describe_metric(name, turns)
        if failure is not None:
            failures.append(f"{eval_id}: {failure}")
    if not failures and not any(_has_verdict(one) for one in results):
        failures.append(f"{eval_id}: no metric applies to the case")
    return list(dict.fromkeys(failures))


def _describe_run(result: EvalCaseResult) -> str:
    reason = result.error_message or "unknown reason"
    if result.final_eval_status is EvalStatus.FAILED:
        return f"the agent failed: {reason}"
    return f"the case could not be run: {reason}"


def _has_verdict(result: EvalCaseResult) -> bool:
    found = result.overall_eval_metric_results
    return any(one.eval_status is not EvalStatus.NOT_EVALUATED for one in found)


def _describe_gap(name: str, lacking: Sequence[EvalMetricResult]) -> str | None:
    if not lacking:
        return None
    reason = next((one.details.error for one in lacking if one.details.error), None)
    return f"{name} could not be evaluated: {reason or 'there is no score'}"


def _describe_metric(name: str, found: Sequence[EvalMetricResult]) -> str | None:
    known = [one.score for one in found if one.score is not None]
    threshold = found[0].threshold if found else None
    if not known:
        reason = next((one.details.error for one in found if one.details.error), None)
        return f"{name} could not be evaluated: {reason or 'there is no score'}"
    if name in _OVERALL:
        if all(one.eval_status is EvalStatus.PASSED for one in found):
            return None
        worst = max(known) if name in _LIMITS else min(known)
        bound = "at most" if name in _LIMITS else "at least"
        return f"{name}: expected {bound} {threshold:g}, got {worst:g}"
    mean = fmean(known)
    if threshold is None or mean >= threshold:
        return None
    return f"{name}: expected at least {threshold:g}, got {mean:.4g}"


def describe_calls(invocation: Invocation | None) -> str:
    """Return the calls of a turn, one in each line.

    Args:
      invocation: the turn, or None.
    """
    calls = get_all_tool_calls(invocation.intermediate_data) if invocation is not None else []
    return "\n".join(
        f"{call.name}({json.dumps(call.args or {}, ensure_ascii=False, default=str)})"
        for call in calls
    )


def describe_text(invocation: Invocation | None) -> str:
    """Return the final response of a turn.

    Args:
      invocation: the turn, or None.
    """
    found = None if invocation is None else get_text_from_content(invocation.final_response)
    return found or ""


def format_score(result: EvalMetricResult) -> str:
    """Return a metric's score with its threshold, or why there is not one.

    Args:
      result: the result.
    """
    if result.details.not_applicable:
        return f"does not apply: {result.details.not_applicable}"
    if result.score is None and result.eval_status is EvalStatus.FAILED:
        return "failed without a score"
    if result.score is None:
        return f"not evaluated{': ' + result.details.error if result.details.error else ''}"
    gap = f", {result.details.error}" if result.details.error else ""
    if result.threshold is None:
        return f"{result.score:.4g}{gap}"
    own = EvalStatus.PASSED if result.score >= result.threshold else EvalStatus.FAILED
    if result.custom_function_path and result.eval_status not in (own, EvalStatus.NOT_EVALUATED):
        gap += f", {result.eval_status.name} by the metric's own verdict"
    sign = "≤" if result.metric_name in _LIMITS else "≥"
    return f"{result.score:.4g} ({sign} {result.threshold:g}){gap}"


def format_details(eval_id: str, results: Sequence[EvalCaseResult]) -> str:
    """Return the turns of a case with their scores, expected beside actual, as plain text.

    Args:
      eval_id: the case.
      results: its runs.
    """
    lines: list[str] = []
    for number, result in enumerate(results, 1):
        run = f", run {number} of {len(results)}" if len(results) > 1 else ""
        lines.append(f"{eval_id}{run}: {result.final_eval_status.name}")
        if result.error_message:
            lines.append(f"  {result.error_message}")
        for one in result.overall_eval_metric_results:
            lines.append(f"  {one.metric_name}: {one.eval_status.name}, {format_score(one)}")
            lines += [
                f"    {rubric.rubric_id}: {rubric.score} {rubric.rationale or ''}"
                for rubric in one.details.rubric_scores or ()
            ]
        for place, turn in enumerate(result.eval_metric_result_per_invocation, 1):
            lines += _format_turn(place, turn.actual_invocation, turn.expected_invocation)
    return "\n".join(lines)


def _format_turn(number: int, actual: Invocation, expected: Invocation | None) -> list[str]:
    lines = [f"  turn {number}: {get_text_from_content(actual.user_content) or ''}"]
    rows = [
        ("calls", describe_calls(expected), describe_calls(actual)),
        ("answer", describe_text(expected), describe_text(actual)),
    ]
    for title, wanted, found in rows:
        if expected is not None and wanted != found:
            lines.append(f"    expected {title}: {_indent(wanted) or '(none)'}")
        lines.append(f"    {title}: {_indent(found) or '(none)'}")
    return lines


def _indent(text: str) -> str:
    return text.replace("\n", "\n      ")
