"""Face: inject_session_state at the path programs import it from."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.template import inject_session_state as inject_session_state

__getattr__, __dir__, __all__ = attach(__name__)
