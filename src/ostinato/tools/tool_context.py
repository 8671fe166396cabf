"""Face of the context that tools get, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.auth.auth_handler import AuthHandler as AuthHandler
    from ostinato.auth.auth_tool import AuthConfig as AuthConfig
    from ostinato.auth.tool_confirmation import ToolConfirmation as ToolConfirmation
    from ostinato.context.context import ToolContext as ToolContext

__getattr__, __dir__, __all__ = attach(__name__)
