"""Face: CallbackContext is the Context."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.context.context import CallbackContext as CallbackContext

__getattr__, __dir__, __all__ = attach(__name__)
