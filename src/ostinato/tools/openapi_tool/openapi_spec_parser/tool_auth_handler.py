"""Face of what gets the credential of a call."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.tool_auth_handler import (
        AuthPreparationResult as AuthPreparationResult,
    )
    from ostinato.tools.openapi.tool_auth_handler import (
        AuthPreparationState as AuthPreparationState,
    )
    from ostinato.tools.openapi.tool_auth_handler import ToolAuthHandler as ToolAuthHandler
    from ostinato.tools.openapi.tool_auth_handler import (
        ToolContextCredentialStore as ToolContextCredentialStore,
    )

__getattr__, __dir__, __all__ = attach(__name__)
