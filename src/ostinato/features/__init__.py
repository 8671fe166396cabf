"""ADK's feature switches, and the decorators that mark what they guard."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.features.feature_decorator import experimental as experimental
    from ostinato.features.feature_decorator import stable as stable
    from ostinato.features.feature_decorator import working_in_progress as working_in_progress
    from ostinato.features.feature_registry import FeatureName as FeatureName
    from ostinato.features.feature_registry import is_feature_enabled as is_feature_enabled
    from ostinato.features.feature_registry import (
        override_feature_enabled as override_feature_enabled,
    )

__getattr__, __dir__, __all__ = attach(__name__)
