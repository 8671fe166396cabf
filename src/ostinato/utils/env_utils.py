"""Face: switches in the environment, at the path programs import them from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.features.environment import (
        is_enterprise_mode_enabled as is_enterprise_mode_enabled,
    )
    from ostinato.features.environment import is_env_enabled as is_env_enabled

__getattr__, __dir__, __all__ = attach(__name__)
