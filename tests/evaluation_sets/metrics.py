"""Custom metrics of the eval sets, for google-adk and for Ostinato."""

from __future__ import annotations

import sys
from typing import Any


def _result(invocations: list[Any], scores: list[float], threshold: float) -> Any:
    package = "google.adk" if type(invocations[0]).__module__.startswith("google") else "ostinato"
    found: Any = sys.modules[f"{package}.evaluation.evaluator"]
    mean = sum(scores) / len(scores)
    passed, failed = found.EvalStatus.PASSED, found.EvalStatus.FAILED
    return found.EvaluationResult(
        overall_score=mean,
        overall_eval_status=passed if mean >= threshold else failed,
        per_invocation_results=[
            found.PerInvocationResult(
                actual_invocation=one,
                score=score,
                eval_status=passed if score >= threshold else failed,
            )
            for one, score in zip(invocations, scores, strict=True)
        ],
    )


def ends_with_full_stop(
    eval_metric: Any, actual: list[Any], expected: Any, scenario: Any = None
) -> Any:
    """Score 1 for an answer that ends with a full stop."""
    scores = [float(one.final_response.parts[0].text.endswith(".")) for one in actual]
    return _result(actual, scores, eval_metric.criterion.threshold)


async def is_short(eval_metric: Any, actual: list[Any], expected: Any, scenario: Any = None) -> Any:
    """Score 1 for an answer of at most 30 characters."""
    scores = [float(len(one.final_response.parts[0].text) <= 30) for one in actual]
    return _result(actual, scores, eval_metric.criterion.threshold)
