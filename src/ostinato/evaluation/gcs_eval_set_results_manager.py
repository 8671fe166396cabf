"""GcsEvalSetResultsManager: results in a bucket of Cloud Storage, where google-adk keeps them."""

from __future__ import annotations

from typing import Any

from ..errors import NotFoundError
from ._gcs_bucket import EvalBucket
from ._result_file import (
    RESULT_FILE_EXTENSION,
    create_eval_set_result,
    format_eval_set_result,
    parse_eval_set_result,
)
from ._stored_eval_sets import check_id
from .eval_result import EvalCaseResult, EvalSetResult
from .eval_set_results_manager import EvalSetResultsManager


class GcsEvalSetResultsManager(EvalSetResultsManager):
    """Results in objects `<app>/evals/eval_history/*.evalset_result.json`. Needs the extra `gcs`.

    Args:
      bucket_name: the bucket, which must exist.
      kwargs: what `google.cloud.storage.Client` takes.

    Raises:
      InputValidationError: the bucket does not exist.
      MissingExtraError: google-cloud-storage is not installed.
    """

    def __init__(self, bucket_name: str, **kwargs: Any) -> None:
        self.bucket_name = bucket_name
        self._bucket = EvalBucket(bucket_name, kwargs)

    def save_eval_set_result(
        self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]
    ) -> None:
        """Write the results of one evaluation of a set."""
        result = create_eval_set_result(app_name, eval_set_id, eval_case_results)
        name = f"{self._name_folder(app_name)}/{result.eval_set_result_id}{RESULT_FILE_EXTENSION}"
        self._bucket.write_text(name, format_eval_set_result(result))

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """Return results.

        Raises:
          NotFoundError: there are none of this id.
        """
        name = f"{self._name_folder(app_name)}/{eval_set_result_id}{RESULT_FILE_EXTENSION}"
        text = self._bucket.read_text(name)
        if text is None:
            raise NotFoundError(f"There is no eval set result {eval_set_result_id!r}.")
        return parse_eval_set_result(text, name)

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """Return the ids of the results of an app, sorted."""
        return self._bucket.list_names(self._name_folder(app_name), RESULT_FILE_EXTENSION)

    def _name_folder(self, app_name: str) -> str:
        check_id("app name", app_name, allow=".-")
        return f"{app_name}/evals/eval_history"
