"""Face of the reader of OpenAPI documents."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.parsed_operation import OperationEndpoint as OperationEndpoint
    from ostinato.tools.openapi.parsed_operation import ParsedOperation as ParsedOperation
    from ostinato.tools.openapi.spec_parser import OpenApiSpecParser as OpenApiSpecParser

__getattr__, __dir__, __all__ = attach(__name__)
