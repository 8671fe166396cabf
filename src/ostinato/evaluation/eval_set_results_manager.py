"""EvalSetResultsManager: the port of a store of results."""

from __future__ import annotations

import abc

from .eval_result import EvalCaseResult, EvalSetResult


class EvalSetResultsManager(abc.ABC):
    """A store of the results of evaluations."""

    @abc.abstractmethod
    def save_eval_set_result(
        self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
    ) -> None:
        """Store the results of one evaluation of a set."""
        raise NotImplementedError

    @abc.abstractmethod
    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """Return stored results.

        Raises:
          NotFoundError: there are none of this id.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def list_eval_set_results(self, app_name: str) -> list[str]:
        """Return the ids of the stored results of an app."""
        raise NotImplementedError
