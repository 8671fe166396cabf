"""Face: the key of express mode, at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.sessions.agent_engine.agent_engine_client import (
        get_express_mode_api_key as get_express_mode_api_key,
    )

__getattr__, __dir__, __all__ = attach(__name__)
