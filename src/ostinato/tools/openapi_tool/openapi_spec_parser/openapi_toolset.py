"""Face of the toolset of OpenAPI documents."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.openapi.openapi_toolset import OpenAPIToolset as OpenAPIToolset

__getattr__, __dir__, __all__ = attach(__name__)
