"""Face of the reader of OpenAPI documents, under the path users know."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset as OpenAPIToolset
    from ostinato.tools.openapi.operation_parser import OperationParser as OperationParser
    from ostinato.tools.openapi.parsed_operation import OperationEndpoint as OperationEndpoint
    from ostinato.tools.openapi.parsed_operation import ParsedOperation as ParsedOperation
    from ostinato.tools.openapi.rest_api_tool import RestApiTool as RestApiTool
    from ostinato.tools.openapi.rest_api_tool import snake_to_lower_camel as snake_to_lower_camel
    from ostinato.tools.openapi.spec_parser import OpenApiSpecParser as OpenApiSpecParser
    from ostinato.tools.openapi.tool_auth_handler import (
        AuthPreparationState as AuthPreparationState,
    )
    from ostinato.tools.openapi.tool_auth_handler import ToolAuthHandler as ToolAuthHandler

__getattr__, __dir__, __all__ = attach(__name__)
