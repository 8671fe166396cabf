"""Results of cases and sets; the content of `*.evalset_result.json`."""

from __future__ import annotations

from pydantic import Field

from ..sessions.session import Session
from .eval_base_model import TwoSpellingsModel
from .eval_metrics import EvalMetric, EvalMetricResult, EvalMetricResultPerInvocation
from .evaluator import EvalStatus
from .turn_usage import TurnUsage


class EvalCaseResult(TwoSpellingsModel):
    """The result of one run of a case.

    Attributes:
      eval_set_file: deprecated; the id of the set.
      eval_set_id, eval_id: the set and the case.
      final_eval_status: FAILED if the agent or a metric failed; NOT_EVALUATED if the case could
        not be run, a metric could not be evaluated, or none applies; else PASSED.
      eval_metric_results: deprecated.
      overall_eval_metric_results: one result for each metric.
      eval_metric_result_per_invocation: the results of each invocation.
      session_id, session_details, user_id: the session of the case.
      error_message: the error of the agent, or why the case could not be run; not part of the
        file.
      usage: what the run used; not part of the file.
    """

    eval_set_file: str | None = None
    eval_set_id: str = ""
    eval_id: str = ""
    final_eval_status: EvalStatus
    eval_metric_results: list[tuple[EvalMetric, EvalMetricResult]] | None = None
    overall_eval_metric_results: list[EvalMetricResult]
    eval_metric_result_per_invocation: list[EvalMetricResultPerInvocation]
    session_id: str
    session_details: Session | None = None
    user_id: str | None = None
    error_message: str | None = Field(default=None, exclude=True)
    usage: TurnUsage | None = Field(default=None, exclude=True)


class EvalSetResult(TwoSpellingsModel):
    """The results of one evaluation of a set.

    Attributes:
      eval_set_result_id, eval_set_result_name: its id and the name of its file.
      eval_set_id: the set.
      eval_case_results: one result for each run of a case.
      creation_timestamp: seconds since 1970.
    """

    eval_set_result_id: str
    eval_set_result_name: str | None = None
    eval_set_id: str
    eval_case_results: list[EvalCaseResult] = Field(default_factory=list[EvalCaseResult])
    creation_timestamp: float = 0.0
