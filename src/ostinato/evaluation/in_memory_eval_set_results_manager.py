"""InMemoryEvalSetResultsManager: results in memory, for tests."""

from __future__ import annotations

from ..errors import NotFoundError
from ._result_file import create_eval_set_result
from .eval_result import EvalCaseResult, EvalSetResult
from .eval_set_results_manager import EvalSetResultsManager


class InMemoryEvalSetResultsManager(EvalSetResultsManager):
    """Results in memory."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, str], EvalSetResult] = {}

    def save_eval_set_result(
        self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
    ) -> None:
        """Keep the results of one evaluation of a set."""
        result = create_eval_set_result(app_name, eval_set_id, eval_case_results)
        self._results[app_name, result.eval_set_result_id] = result

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """Return results.

        Raises:
          NotFoundError: there are none of this id.
        """
        if (app_name, eval_set_result_id) not in self._results:
            raise NotFoundError(f"There is no eval set result {eval_set_result_id!r}.")
        return self._results[app_name, eval_set_result_id]

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """Return the ids of the results of an app, oldest first."""
        return [result_id for app, result_id in self._results if app == app_name]
