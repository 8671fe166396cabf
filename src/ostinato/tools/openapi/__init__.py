"""OpenAPI: documents read, operations offered as tools, requests sent."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.api_parameter import ApiParameter as ApiParameter
    from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset as OpenAPIToolset
    from ostinato.tools.openapi.operation_parser import OperationParser as OperationParser
    from ostinato.tools.openapi.parsed_operation import OperationEndpoint as OperationEndpoint
    from ostinato.tools.openapi.parsed_operation import ParsedOperation as ParsedOperation
    from ostinato.tools.openapi.rest_api_tool import RestApiTool as RestApiTool
    from ostinato.tools.openapi.spec_document import SpecError as SpecError
    from ostinato.tools.openapi.spec_parser import OpenApiSpecParser as OpenApiSpecParser

__getattr__, __dir__, __all__ = attach(__name__)
