"""Stores of eval sets and results by URI: files beside the agents, or a bucket."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from .. import _lazy
from ..errors import InputValidationError
from ..features.environment import find_variable
from ..sessions.session import Session
from .eval_case import Invocation
from .eval_set_results_manager import EvalSetResultsManager
from .eval_sets_manager import EvalSetsManager
from .event_conversion import convert_events, visible_events
from .local_eval_set_results_manager import LocalEvalSetResultsManager
from .local_eval_sets_manager import LocalEvalSetsManager

_GCS = "gs://"
_SETS = "ostinato.evaluation.gcs_eval_sets_manager:GcsEvalSetsManager"
_RESULTS = "ostinato.evaluation.gcs_eval_set_results_manager:GcsEvalSetResultsManager"


class GcsEvalManagers(BaseModel):
    """The stores in one bucket.

    Attributes:
      eval_sets_manager: the eval sets.
      eval_set_results_manager: the results.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, arbitrary_types_allowed=True
    )

    eval_sets_manager: EvalSetsManager
    eval_set_results_manager: EvalSetResultsManager


def create_gcs_eval_managers_from_uri(eval_storage_uri: str) -> GcsEvalManagers:
    """Return the stores in a bucket.

    Args:
      eval_storage_uri: `gs://BUCKET`.

    Raises:
      InputValidationError: the URI is another one, or the bucket does not exist.
      MissingExtraError: google-cloud-storage is not installed.
    """
    bucket = eval_storage_uri.removeprefix(_GCS).strip("/").partition("/")[0]
    if not eval_storage_uri.startswith(_GCS) or not bucket:
        raise InputValidationError(
            f"{eval_storage_uri!r} is not a store of evaluations; write gs://BUCKET."
        )
    project = find_variable("GOOGLE_CLOUD_PROJECT")[1]
    options: dict[str, Any] = {"project": project} if project else {}
    return GcsEvalManagers(
        eval_sets_manager=_lazy.load(_SETS)(bucket_name=bucket, **options),
        eval_set_results_manager=_lazy.load(_RESULTS)(bucket_name=bucket, **options),
    )


def open_sets_manager(eval_storage_uri: str | None, agents_dir: str) -> EvalSetsManager:
    """Return the store of eval sets: a bucket if a URI is given, else files.

    Args:
      eval_storage_uri: `gs://BUCKET`, or None.
      agents_dir: the folder of the agents.
    """
    if eval_storage_uri:
        return create_gcs_eval_managers_from_uri(eval_storage_uri).eval_sets_manager
    return LocalEvalSetsManager(agents_dir=agents_dir)


def open_results_manager(eval_storage_uri: str | None, agents_dir: str) -> EvalSetResultsManager:
    """Return the store of results: a bucket if a URI is given, else files.

    Args:
      eval_storage_uri: `gs://BUCKET`, or None.
      agents_dir: the folder of the agents.
    """
    if eval_storage_uri:
        return create_gcs_eval_managers_from_uri(eval_storage_uri).eval_set_results_manager
    return LocalEvalSetResultsManager(agents_dir=agents_dir)


def convert_session_to_eval_invocations(session: Session) -> list[Invocation]:
    """Return the invocations of a session that no rewind hides.

    Args:
      session: the session.
    """
    return convert_events(visible_events(session))
