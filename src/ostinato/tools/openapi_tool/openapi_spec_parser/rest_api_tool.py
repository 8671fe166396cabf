"""Face of the tool that calls a REST API."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.rest_api_tool import RestApiTool as RestApiTool
    from ostinato.tools.openapi.rest_api_tool import snake_to_lower_camel as snake_to_lower_camel
    from ostinato.tools.openapi.rest_client import HttpxClientFactory as HttpxClientFactory
    from ostinato.tools.openapi.tool_auth_handler import (
        AuthPreparationState as AuthPreparationState,
    )

__getattr__, __dir__, __all__ = attach(__name__)
