"""`final_session_state_v1`: the session's state at the end holds what the case expects."""

from __future__ import annotations

from .arg_matchers import ArgMatch
from .eval_metrics import EvalMetric
from .evaluator import (
    CaseEvaluator,
    CaseOutcome,
    EvaluationResult,
    PerInvocationResult,
    compare_score,
)

FINAL_STATE_METRIC = "final_session_state_v1"


class FinalStateEvaluator(CaseEvaluator):
    """The share of expected keys with the expected values; values may be matchers.

    Args:
      eval_metric: the metric with its threshold; by default, all keys must fit.
    """

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._threshold = 1.0 if eval_metric.threshold is None else eval_metric.threshold

    def evaluate_case(self, outcome: CaseOutcome) -> EvaluationResult:
        """Return the share of keys that fit; NOT_EVALUATED if the case expects none.

        Raises:
          InputValidationError: a matcher is wrong.
          ValueError: the final state is not known, or a value needs a judge.
        """
        expected = outcome.eval_case.final_session_state or {}
        turns = [PerInvocationResult(actual_invocation=one) for one in outcome.invocations]
        if not expected:
            reason = "The case expects no final state."
            return EvaluationResult(per_invocation_results=turns, not_applicable=reason)
        state = outcome.final_state
        if state is None:
            raise ValueError(f"{FINAL_STATE_METRIC} needs the final state, which is not recorded.")
        match = ArgMatch()
        fits = [
            key in state and match.matches(state[key], value) for key, value in expected.items()
        ]
        if match.questions:
            raise ValueError("The matcher '$judge' is not supported in final_session_state.")
        score = sum(fits) / len(fits)
        status = compare_score(score, self._threshold)
        if turns:
            turns[-1] = turns[-1].model_copy(update={"score": score, "eval_status": status})
        return EvaluationResult(
            overall_score=score,
            overall_eval_status=status,
            per_invocation_results=turns,
        )
