"""Face of the confirmation record, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.tool_confirmation import ToolConfirmation as ToolConfirmation

__getattr__, __dir__, __all__ = attach(__name__)
