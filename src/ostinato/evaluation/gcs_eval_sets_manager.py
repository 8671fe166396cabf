"""GcsEvalSetsManager: eval sets in a bucket of Cloud Storage, where google-adk keeps them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._gcs_bucket import EvalBucket
from ._stored_eval_sets import EVAL_SET_FILE_EXTENSION, StoredEvalSets, check_id
from .eval_base_model import ADK_230
from .eval_set import EvalSet
from .local_eval_sets_manager import format_eval_set, parse_eval_set


class GcsEvalSetsManager(StoredEvalSets):
    """Eval sets in objects `<app>/evals/eval_sets/<eval_set_id>.evalset.json`.

    They are written as google-adk 2.3.0 reads them. Needs the extra `gcs`.

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

    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """Return a set, or None if it does not exist."""
        name = self._name_object(app_name, eval_set_id)
        text = self._bucket.read_text(name)
        return None if text is None else parse_eval_set(text, name, eval_set_id)

    def list_eval_sets(self, app_name: str) -> list[str]:
        """Return the ids of the sets of an app, sorted."""
        check_id("App name", app_name, allow=".-")
        return self._bucket.list_names(f"{app_name}/evals/eval_sets", EVAL_SET_FILE_EXTENSION)

    def save_eval_set(self, app_name: str, eval_set_id: str, eval_set: EvalSet) -> None:
        """Write a set."""
        text = format_eval_set(eval_set, adk=ADK_230)
        self._bucket.write_text(self._name_object(app_name, eval_set_id), text)

    def lock_eval_set(self, app_name: str, eval_set_id: str) -> AbstractContextManager[None]:
        """Return no lock: of two changes of a set at once, the later write replaces the earlier."""
        return nullcontext()

    def _name_object(self, app_name: str, eval_set_id: str) -> str:
        check_id("App name", app_name, allow=".-")
        check_id("Eval Set ID", eval_set_id, allow=".-")
        return f"{app_name}/evals/eval_sets/{eval_set_id}{EVAL_SET_FILE_EXTENSION}"
