"""Face: stores of evaluations at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.evaluation.storage import GcsEvalManagers as GcsEvalManagers
    from ostinato.evaluation.storage import (
        convert_session_to_eval_invocations as convert_session_to_eval_invocations,
    )
    from ostinato.evaluation.storage import (
        create_gcs_eval_managers_from_uri as create_gcs_eval_managers_from_uri,
    )

__getattr__, __dir__, __all__ = attach(__name__)
