"""Face of the OpenAPI tools, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset as OpenAPIToolset
    from ostinato.tools.openapi.rest_api_tool import RestApiTool as RestApiTool

__getattr__, __dir__, __all__ = attach(__name__)
